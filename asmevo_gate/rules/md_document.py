"""The rule ``md.document``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from asmevo_gate.program.metadata import KernelMetadata, Metadata
from asmevo_gate.program.model import Program
from asmevo_gate.rules.facts import FileFacts
from asmevo_gate.rules.metadata_place import line_place
from asmevo_gate.rules.rule import Example, Rule, Severity, Violation
from asmevo_gate.source.statement import Place

_REQUIRED = (
    ".symbol", ".kernarg_segment_size", ".kernarg_segment_align", ".group_segment_fixed_size",
    ".private_segment_fixed_size", ".wavefront_size", ".sgpr_count", ".vgpr_count", ".max_flat_workgroup_size",
)  # fmt: skip
"""Keys of a kernel, beside ``.name``, that LLVM's V3::MetadataVerifier::verifyKernel requires."""

_ARGUMENT_KEYS = (".size", ".offset", ".value_kind")
_ACCESS = frozenset(("read_only", "write_only", "read_write"))
_VALUES = {
    ".value_kind": frozenset(
        (
            "by_value", "global_buffer", "dynamic_shared_pointer", "sampler", "image", "pipe", "queue",
            "hidden_block_count_x", "hidden_block_count_y", "hidden_block_count_z", "hidden_group_size_x",
            "hidden_group_size_y", "hidden_group_size_z", "hidden_remainder_x", "hidden_remainder_y",
            "hidden_remainder_z", "hidden_global_offset_x", "hidden_global_offset_y", "hidden_global_offset_z",
            "hidden_grid_dims", "hidden_none", "hidden_printf_buffer", "hidden_hostcall_buffer", "hidden_heap_v1",
            "hidden_default_queue", "hidden_completion_action", "hidden_multigrid_sync_arg",
            "hidden_dynamic_lds_size", "hidden_private_base", "hidden_shared_base", "hidden_queue_ptr",
        )
    ),
    ".address_space": frozenset(("private", "global", "constant", "local", "generic", "region")),
    ".access": _ACCESS,
    ".actual_access": _ACCESS,
}  # fmt: skip
"""Values that LLVM's V3::MetadataVerifier::verifyKernelArgs accepts."""

_LINE = r"line (\d+): "


def _document(kernel: str, head: str = "amdhsa.version: [ 1, 2 ]\n") -> str:
    return (
        f".text\nkernel:\n  s_endpgm\n.amdgpu_metadata\n---\n{head}amdhsa.kernels:\n{kernel}...\n.end_amdgpu_metadata\n"
    )


_WHOLE = (
    "  - .name: kernel\n    .symbol: kernel.kd\n    .kernarg_segment_size: 8\n    .kernarg_segment_align: 8\n"
    "    .group_segment_fixed_size: 0\n    .private_segment_fixed_size: 0\n    .wavefront_size: 64\n"
    "    .sgpr_count: 8\n    .vgpr_count: 8\n    .max_flat_workgroup_size: 64\n"
)


class MetadataDocument(Rule):
    """A metadata document that the assembler or the loader rejects.

    What it does:
        Reports text that is no YAML, keys that stand twice, a missing amdhsa.version, kernels and arguments without
        a required key, values that are no number where one is needed, and unknown value kinds, address spaces and
        accesses. A second .amdgpu_metadata block is a warning.
    Why it matters:
        The assembler says "invalid HSA metadata" at the end of the block and nothing more: not which kernel, not
        which key.
    Repair:
        Add or correct the key that the finding names.
    Sources:
        AMDGPUUsage, "Code Object V3 Metadata" (required keys); LLVM AMDGPUMetadataVerifier (V3::MetadataVerifier).
    """

    id = "md.document"
    title = "metadata document is malformed or incomplete"
    family = "abi"
    severity = "error"
    bad = (
        Example("gfx900", _document(_WHOLE.replace("    .sgpr_count: 8\n", "")), line=8),
        Example("gfx900", _document(_WHOLE + "    .vgpr_count: 9\n"), line=18),
        Example(
            "gfx1100",
            _document(_WHOLE + "    .args:\n      - { .size: 8, .offset: 0, .value_kind: buffer }\n"),
            line=19,
        ),
        Example("gfx900", _document(_WHOLE, head=""), line=4),
    )
    good = (
        Example("gfx900", _document(_WHOLE)),
        Example(
            "gfx1100",
            _document(_WHOLE + "    .args:\n      - { .size: 8, .offset: 0, .value_kind: global_buffer }\n"),
        ),
    )

    def check_file(self, facts: FileFacts) -> Iterable[Violation]:
        """Problems of reading, then of each kernel."""
        program = facts.program
        metadata = program.metadata
        if metadata is None or metadata.opening is None:
            return
        opening = metadata.opening.place
        for line, message, severity in _problems(metadata):
            place = line_place(program, line) if _in_file(program, line, opening) else opening
            yield Violation(
                place=place,
                message=message,
                repair="see AMDGPUUsage, Code Object V3 Metadata",
                severity=severity,
                context=message,
            )


def _in_file(program: Program, line: int | None, opening: Place) -> bool:
    return line is not None and opening.file == program.path and line <= program.source.text.count("\n") + 1


_Problem = tuple[int, str, Severity | None]


def _problems(metadata: Metadata) -> Iterator[_Problem]:
    assert metadata.opening is not None
    first = metadata.opening.place.line
    for problem in metadata.problems:
        match = re.match(_LINE, problem)
        text = problem[match.end() :] if match else problem
        yield int(match[1]) if match else first, text, "warning" if "second" in text else None
    if metadata.problems:
        return
    if not metadata.version:
        yield first, "the metadata has no amdhsa.version", None
    for kernel in metadata.kernels:
        yield from _kernel_problems(kernel, first)


def _kernel_problems(kernel: KernelMetadata, first: int) -> Iterator[_Problem]:
    at = kernel.lines.get(".name", first)
    missing = [key for key in _REQUIRED if key not in kernel.values]
    if missing:
        yield at, f"the metadata of '{kernel.name}' lacks {', '.join(missing)}", None
    for key in _REQUIRED[1:]:
        value = kernel.values.get(key, 0)
        if not isinstance(value, int) or isinstance(value, bool):
            yield kernel.lines.get(key, at), f"{key} of '{kernel.name}' is '{value}', not an integer", None
    for key in (".reqd_workgroup_size", ".workgroup_size_hint"):
        value = kernel.values.get(key)
        if value is not None and not _three_integers(value):
            yield kernel.lines.get(key, at), f"{key} of '{kernel.name}' is not a list of three integers", None
    arguments = kernel.values.get(".args", [])
    if not isinstance(arguments, list):
        yield kernel.lines.get(".args", at), f".args of '{kernel.name}' is no list", None
        return
    for number, argument in enumerate(arguments):
        line = _argument_line(kernel, number, at)
        if not isinstance(argument, dict):
            yield line, f"argument {number} of '{kernel.name}' is no map of keys to values", None
            continue
        yield from ((line, f"argument {number} of '{kernel.name}' {what}", None) for what in _argument(argument))


def _argument(argument: dict[str, Any]) -> Iterator[str]:
    missing = [key for key in _ARGUMENT_KEYS if key not in argument]
    if missing:
        yield f"lacks {', '.join(missing)}"
    for key in (".size", ".offset"):
        if not isinstance(argument.get(key, 0), int):
            yield f"has {key} '{argument[key]}', not an integer"
    for key, allowed in _VALUES.items():
        if key in argument and argument[key] not in allowed:
            yield f"has {key} '{argument[key]}', which is none of the known values"


def _argument_line(kernel: KernelMetadata, number: int, otherwise: int) -> int:
    """The argument's first line: some key of it has one, whether it is written in one line or in several."""
    prefix = f".args[{number}]."
    lines = [line for key, line in kernel.lines.items() if key.startswith(prefix)]
    return min(lines, default=kernel.lines.get(".args", otherwise))


def _three_integers(value: object) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(isinstance(one, int) for one in value)
