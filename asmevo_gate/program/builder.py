"""Statements of one file -> program: functions with decoded instructions, labels, blocks, descriptor and metadata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePath

from asmevo_gate.isa.decoder import Isa, isa_for
from asmevo_gate.isa.instruction import NotDecoded, Op
from asmevo_gate.isa.targets import Target
from asmevo_gate.program.control_flow import build_blocks
from asmevo_gate.program.descriptor import Descriptor, parse_descriptors
from asmevo_gate.program.metadata import KernelMetadata, Metadata, parse_metadata
from asmevo_gate.program.model import Function, Instruction, Program
from asmevo_gate.source.statement import Kind, Source, Statement

_DATA_SECTIONS = (
    ".rodata",
    ".data",
    ".bss",
    ".note",
    ".debug",
    ".comment",
    ".AMDGPU",
    ".amdgpu",
    ".llvm",
    ".eh_frame",
)
PADDING = frozenset((".fill", ".space", ".zero", ".skip"))
"""Directives that repeat one value."""


@dataclass
class _Body:
    """One function while it is collected."""

    name: str
    entry: Statement | None
    statements: list[Statement] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)


def build_program(source: Source, target: Target, wave_size: int | None = None) -> Program:
    """The program of a parsed file for one target.

    ``wave_size`` is what the user or the target features ask for; a descriptor or metadata of the kernel wins over
    it, the target's default holds otherwise.
    """
    descriptors = parse_descriptors(source, target)
    metadata = parse_metadata(source)
    kernel_metadata = {kernel.name: kernel for kernel in metadata.kernels} if metadata else {}
    bodies = _split_functions(source, set(descriptors) | set(kernel_metadata))
    wave_size = _module_wave_size(target, wave_size, descriptors, kernel_metadata)
    functions = tuple(
        _build_function(body, target, wave_size, descriptors.get(body.name), kernel_metadata.get(body.name))
        for body in bodies
    )
    return Program(source.path, source, target, functions, metadata, _orphans(functions, descriptors, metadata))


def _orphans(
    functions: tuple[Function, ...], descriptors: dict[str, Descriptor], metadata: Metadata | None
) -> tuple[tuple[Statement, str], ...]:
    """Descriptors and metadata of kernels whose code is not in the file: nothing of them is checked."""
    names = {function.name for function in functions}
    found = [
        (descriptor.opening, f"kernel descriptor of '{name}', but the file has no code with that label")
        for name, descriptor in descriptors.items()
        if name not in names and descriptor.opening is not None
    ]
    if metadata and metadata.opening:
        found += [
            (
                metadata.opening,
                f"metadata of kernel '{kernel.name}', but the file has no code with that label",
            )
            for kernel in metadata.kernels
            if kernel.name not in names and kernel.name not in descriptors
        ]
    return tuple(found)


def _split_functions(source: Source, kernel_names: set[str]) -> list[_Body]:
    """Cut the code of each section at the labels that start a function.

    A label starts a function when it is declared ``.type NAME,@function`` or a descriptor or metadata names it. Code
    before the first such label (or all of it, in a file that declares none) is a function named after its first
    label or after the file.
    """
    starts = kernel_names | _declared_functions(source)
    bodies: list[_Body] = []
    open_in: dict[str, _Body] = {}
    waiting: dict[str, list[Statement]] = {}
    sections = {statement.section for statement in source.statements}
    without_code = {section for section in sections if section.startswith(_DATA_SECTIONS)}
    for statement in source.statements:
        kind = statement.kind
        if kind is Kind.INSTRUCTION or kind is Kind.DATA:
            if statement.section in without_code:
                continue
            body = open_in.get(statement.section)
            if body is None:
                labels = waiting.get(statement.section, [])
                name = labels[0].name if labels else PurePath(source.path).stem
                body = _Body(name, labels[0] if labels else None, labels={label.name: 0 for label in labels})
                open_in[statement.section] = body
                bodies.append(body)
            body.statements.append(statement)
        elif kind is Kind.LABEL and statement.section not in without_code:
            if statement.name in starts:
                body = _Body(statement.name, statement, labels={statement.name: 0})
                open_in[statement.section] = body
                bodies.append(body)
            elif statement.section in open_in:
                body = open_in[statement.section]
                body.labels.setdefault(statement.name, len(body.statements))
            else:
                waiting.setdefault(statement.section, []).append(statement)
    return [body for body in bodies if body.name in kernel_names or not _is_padding(body)]


def _is_padding(body: _Body) -> bool:
    """No label, and nothing but fill: compilers pad ``.text`` behind kernels that have sections of their own."""
    return not body.labels and all(one.kind is Kind.DATA and one.name in PADDING for one in body.statements)


def _declared_functions(source: Source) -> set[str]:
    declared = set()
    for statement in source.besides_instructions:
        if statement.kind is Kind.DIRECTIVE and statement.name == ".type":
            name, _, kind = statement.rest.partition(",")
            if kind.strip().lstrip("@%").strip('"') in ("function", "STT_FUNC"):
                declared.add(name.strip().strip('"'))
        elif statement.kind is Kind.DIRECTIVE and statement.name == ".amdgpu_hsa_kernel":
            declared.add(statement.rest.strip())
    return declared


def _build_function(
    body: _Body,
    target: Target,
    wave_size: int | None,
    descriptor: Descriptor | None,
    metadata: KernelMetadata | None,
) -> Function:
    wave = _wave_size(target, wave_size, descriptor, metadata)
    isa = isa_for(target, wave)
    instructions = _without_padding(tuple(_instructions(body.statements, isa)))
    blocks = build_blocks(instructions, body.labels)
    return Function(body.name, target, wave, instructions, body.labels, blocks, body.entry, descriptor, metadata)


def _without_padding(instructions: tuple[Instruction, ...]) -> tuple[Instruction, ...]:
    """Drop the words behind the last instruction when that one ends the wave or jumps: nothing runs into them.

    Assemblers and compilers pad code there (``s_code_end``, for the instruction prefetcher).
    """
    end = len(instructions)
    while end and instructions[end - 1].statement.kind is Kind.DATA:
        end -= 1
    last = instructions[end - 1].decoded if end else None
    return instructions[:end] if last is not None and last.classes & Op.TERMINATOR else instructions


def _instructions(statements: Iterable[Statement], isa: Isa) -> Iterator[Instruction]:
    decode, data = isa.decode, Kind.DATA
    for index, statement in enumerate(statements):
        meaning = _machine_words(statement) if statement.kind is data else decode(statement.text)
        if isinstance(meaning, NotDecoded):
            yield Instruction(index, statement, None, meaning)
        else:
            yield Instruction(index, statement, meaning)


def _machine_words(statement: Statement) -> NotDecoded:
    reason = "machine words in code; only an assembler and a disassembler can tell what they do"
    return NotDecoded(statement.text, statement.name, "machine_words", reason)


def _module_wave_size(
    target: Target,
    asked: int | None,
    descriptors: dict[str, Descriptor],
    metadata: dict[str, KernelMetadata],
) -> int | None:
    """The wave size of code that has no descriptor of its own: that of the file's kernels, when they agree."""
    kernels = descriptors.keys() | metadata.keys()
    sizes = {_wave_size(target, asked, descriptors.get(name), metadata.get(name)) for name in kernels}
    return sizes.pop() if len(sizes) == 1 else asked


def _wave_size(
    target: Target, asked: int | None, descriptor: Descriptor | None, metadata: KernelMetadata | None
) -> int:
    """Wave size of a kernel: descriptor, then metadata, then what was asked for, then the target's default.

    ``.amdhsa_wavefront_size32`` (AMDGPUUsage, code object V3 directives) is absent on targets with one size.
    """
    if descriptor is not None and "wavefront_size32" in descriptor.values:
        return 32 if descriptor.values["wavefront_size32"] else 64
    if metadata is not None and metadata.values.get(".wavefront_size") in target.wave_sizes:
        return int(metadata.values[".wavefront_size"])
    if asked in target.wave_sizes:
        return int(asked)
    return target.wave_sizes[0]
