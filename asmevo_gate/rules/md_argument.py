"""The rule ``md.argument``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.metadata_place import metadata_place
from asmevo_gate.rules.rule import Example, Rule, Severity, Violation

_POINTERS = frozenset(("global_buffer", "dynamic_shared_pointer", "image", "sampler", "pipe", "queue"))


def _arguments(*arguments: tuple[int, int, str], size: int = 24, align: int = 8) -> str:
    rows = "".join(
        f"      - {{ .offset: {at}, .size: {bytes_}, .value_kind: {kind} }}\n" for at, bytes_, kind in arguments
    )
    return f"    .kernarg_segment_size: {size}\n    .kernarg_segment_align: {align}\n    .args:\n{rows}"


class ArgumentLayout(Rule):
    """Kernel arguments in the metadata that overlap, are out of place or lie beyond the kernarg segment.

    What it does:
        Checks the arguments of a kernel's metadata against each other and against .kernarg_segment_size: an argument
        that overlaps the one before it or begins at or behind the end of the segment is an error. An argument that
        reaches over the end is reported by md.descriptor. A 64-bit pointer that is not at a multiple of 8 and a
        .kernarg_segment_align that is no power of two are warnings.
    Why it matters:
        The runtime copies each argument to its offset. Of two that overlap one is destroyed; one beyond the segment
        is written into memory of the next dispatch.
    Repair:
        Lay the arguments out in order, each at a multiple of its alignment, and size the segment for all of them.
    Sources:
        AMDGPUUsage, "Code Object V3 Kernel Argument Metadata Map" and "Kernarg Segment" (alignment of arguments).
    """

    id = "md.argument"
    title = "kernel arguments overlap or are out of place"
    family = "abi"
    severity = "error"
    bad = (
        Example(
            "gfx900",
            kernel_text("  s_nop 0\n", metadata=_arguments((0, 8, "global_buffer"), (4, 4, "by_value"))),
            line=21,
        ),
        Example("gfx1100", kernel_text("  s_nop 0\n", metadata=_arguments((24, 4, "by_value"))), line=20),
        Example("gfx942", kernel_text("  s_nop 0\n", metadata=_arguments((4, 8, "global_buffer"))), line=20),
        Example("gfx942", kernel_text("  s_nop 0\n", metadata=_arguments((0, 8, "global_buffer"), align=6)), line=18),
    )
    good = (
        Example(
            "gfx900",
            kernel_text(
                "  s_nop 0\n", metadata=_arguments((0, 8, "global_buffer"), (8, 4, "by_value"), (12, 4, "by_value"))
            ),
        ),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Each argument that is out of place, at its line."""
        metadata = facts.kernel.metadata
        if metadata is None:
            return
        for key, message, repair, severity in _misplaced(metadata.values):
            yield Violation(
                place=metadata_place(facts, metadata, key + ".offset", key + ".size", key, ".args"),
                message=message,
                repair=repair,
                severity=severity,
                context=message,
            )


class _Argument(msgspec.Struct, frozen=True):
    key: str
    name: str
    offset: int
    size: int
    kind: str


_Misplaced = tuple[str, str, str, Severity | None]


def _misplaced(values: dict[str, Any]) -> Iterator[_Misplaced]:
    arguments = list(_arguments_of(values))
    segment = values.get(".kernarg_segment_size")
    end, last = 0, None
    for argument in sorted(arguments, key=lambda one: one.offset):
        if last is not None and argument.offset < end and argument.size:
            yield (
                argument.key,
                f"{argument.name} at byte {argument.offset} overlaps {last.name}, which ends at byte {end}",
                "give each argument bytes of its own",
                None,
            )
        if isinstance(segment, int) and argument.size and argument.offset >= segment:
            yield (
                argument.key,
                f"{argument.name} is at byte {argument.offset}, but the kernarg segment has {segment} bytes",
                "raise .kernarg_segment_size (and .amdhsa_kernarg_size)",
                None,
            )
        if argument.kind in _POINTERS and argument.size == 8 and argument.offset % 8:
            yield (
                argument.key,
                f"{argument.name} is a 64-bit pointer at byte {argument.offset}, which is not a multiple of 8",
                "put it at a multiple of 8, in the code as well",
                "warning",
            )
        if argument.offset + argument.size > end:
            end, last = argument.offset + argument.size, argument
    align = values.get(".kernarg_segment_align")
    if isinstance(align, int) and (align < 1 or align & (align - 1)):
        yield ".kernarg_segment_align", f".kernarg_segment_align {align} is no power of two", "write 8", "warning"


def _arguments_of(values: dict[str, Any]) -> Iterator[_Argument]:
    arguments = values.get(".args")
    for number, argument in enumerate(arguments if isinstance(arguments, list) else ()):
        if not isinstance(argument, dict):
            continue
        offset, size = argument.get(".offset"), argument.get(".size")
        if isinstance(offset, int) and isinstance(size, int):
            name = f"'{argument['.name']}'" if ".name" in argument else f"argument {number}"
            yield _Argument(f".args[{number}]", name, offset, size, str(argument.get(".value_kind", "")))
