"""Statements of one file -> program: functions with decoded instructions, labels, blocks, descriptor and metadata."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, repeat
from pathlib import PurePath

import msgspec

from asmevo_gate.isa.decoder import Isa, isa_for
from asmevo_gate.isa.instruction import Decoded, NotDecoded, Op
from asmevo_gate.isa.targets import Target
from asmevo_gate.program.control_flow import build_blocks, is_abort
from asmevo_gate.program.descriptor import Descriptor, parse_descriptors
from asmevo_gate.program.metadata import KernelMetadata, Metadata, parse_metadata
from asmevo_gate.program.model import Function, Instruction, Program, Spelling
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


class _Body(msgspec.Struct):
    """One function while it is collected."""

    name: str
    entry: Statement | None
    statements: list[Statement] = []
    labels: dict[str, int] = {}


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
    sections = _Sections(PurePath(source.path).stem, kernel_names | _declared_functions(source))
    end = 0
    for place in source.places_besides_instructions:
        sections.add_code(source.statements[end:place])
        end = place + 1
        statement = source.statements[place]
        if statement.kind is Kind.DATA:
            sections.add_code((statement,))
        elif statement.kind is Kind.LABEL:
            sections.add_label(statement)
    sections.add_code(source.statements[end:])
    return [body for body in sections.bodies if body.name in kernel_names or not _is_padding(body)]


class _Sections:
    """The functions of a file while its statements are gone through, each in the section that it is in."""

    def __init__(self, stem: str, starts: set[str]) -> None:
        self.bodies: list[_Body] = []
        self._stem = stem
        self._starts = starts
        self._open: dict[str, _Body] = {}
        self._waiting: dict[str, list[Statement]] = {}

    def add_code(self, run: Sequence[Statement]) -> None:
        """Instructions or data that follow each other in one section."""
        if not run or run[0].section.startswith(_DATA_SECTIONS):
            return
        section = run[0].section
        body = self._open.get(section)
        if body is None:
            labels = self._waiting.get(section, [])
            name = labels[0].name if labels else self._stem
            body = _Body(name, labels[0] if labels else None, labels={label.name: 0 for label in labels})
            self._open[section] = body
            self.bodies.append(body)
        body.statements += run

    def add_label(self, label: Statement) -> None:
        """A label, which may start a function."""
        if label.section.startswith(_DATA_SECTIONS):
            return
        if label.name in self._starts:
            body = _Body(label.name, label, labels={label.name: 0})
            self._open[label.section] = body
            self.bodies.append(body)
        elif label.section in self._open:
            body = self._open[label.section]
            body.labels.setdefault(label.name, len(body.statements))
        else:
            self._waiting.setdefault(label.section, []).append(label)


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
    instructions, spellings = _decoded(_without_padding(body.statements, isa), isa)
    is_kernel = descriptor is not None or metadata is not None
    blocks = build_blocks(instructions, body.labels, spellings, is_kernel=is_kernel)
    function = Function(body.name, target, wave, instructions, body.labels, blocks, body.entry, descriptor, metadata)
    vars(function)["spellings"] = spellings  # what the cached property would make again
    return function


def _without_padding(statements: list[Statement], isa: Isa) -> list[Statement]:
    """Drop the words behind the last instruction when that one ends the wave, jumps or aborts: nothing runs into them.

    Assemblers and compilers pad code there (``s_code_end``, for the instruction prefetcher).
    """
    end = len(statements)
    while end and statements[end - 1].kind is Kind.DATA:
        end -= 1
    last = isa.decode(statements[end - 1].text) if end else None
    if not isinstance(last, Decoded):
        return statements
    return statements[:end] if last.classes & Op.TERMINATOR or is_abort(last) else statements


def _decoded(statements: list[Statement], isa: Isa) -> tuple[tuple[Instruction, ...], tuple[Spelling, ...]]:
    """The instructions of a function, and their distinct texts; each text is decoded once."""
    texts = [statement.text for statement in statements]
    indices: dict[str, list[int]] = {text: [] for text in texts}
    for index, text in enumerate(texts):
        indices[text].append(index)
    meanings: dict[str, Decoded | None] = {}
    unknown: dict[str, NotDecoded] = {}
    data = Kind.DATA
    for text, places in indices.items():
        statement = statements[places[0]]
        meaning = _machine_words(statement) if statement.kind is data else isa.decode(text)
        if isinstance(meaning, NotDecoded):
            unknown[text], meanings[text] = meaning, None
        else:
            meanings[text] = meaning
    reasons = map(unknown.get, texts) if unknown else repeat(None)
    instructions = map(Instruction, count(), statements, map(meanings.__getitem__, texts), reasons)
    return tuple(instructions), tuple(map(Spelling, indices, meanings.values(), indices.values()))


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
