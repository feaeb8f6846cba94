"""Which part of a file a rewrite may touch: regions whose lines can be edited, and the reason for the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from asmevo_gate.analysis.liveness import Liveness
from asmevo_gate.analysis.regions import Excluded, Region, exclusion, find_regions
from asmevo_gate.analysis.side_effects import is_timing, renames_registers
from asmevo_gate.isa.instruction import Op, Role
from asmevo_gate.isa.registers import TTMP
from asmevo_gate.program.model import Function, Instruction, Program
from asmevo_gate.rewrite.edit_script import line_of
from asmevo_gate.source.statement import Kind, Statement

_READS_PC = re.compile(r"s_getpc|s_[a-z]+_pc_i64")
_KEEPS_DESTINATION = re.compile(r"s_cmov|s_bitset")
_RELOCATION = re.compile(r"@(?:rel32|gotpcrel32|abs32|rel64|abs64)")
_NOTHING = ("null", "off")
_DEBUG = (".loc", ".cfi_", ".file")
_MOST = 4000
"""Instructions of the longest region that is looked at as a whole."""


@dataclass(frozen=True)
class Scope:
    """The regions of a function that may be edited, and the instructions that may not, each with its reason."""

    regions: tuple[Region, ...]
    excluded: tuple[Excluded, ...]


def editable_regions(program: Program, function: Function, liveness: Liveness) -> Scope:
    """The regions of a function cut down to lines that can be edited without touching anything else."""
    slices = find_regions(function, liveness)
    excluded = list(slices.excluded)
    numbers = {id(statement): number for number, statement in enumerate(program.source.statements)}
    regions: list[Region] = []
    if computes_code_addresses(function):
        reason = "the function computes addresses of its own code: any change of size could break them"
        return Scope((), tuple(Excluded(instruction, reason) for instruction in function.instructions))
    always_live = (_written(function) if _may_read_anything(function) else 0) | _conditionally_written(function)
    for region in slices.regions:
        for piece in _pieces(program, region, numbers, excluded):
            cut = _cut(region, *piece, liveness, always_live)
            if cut is not None:
                regions.append(cut)
    for region in _timing_runs(function, liveness):
        for piece in _pieces(program, region, numbers, []):
            cut = _cut(region, *piece, liveness, always_live, timing_only=True)
            if cut is not None:
                regions.append(cut)
    regions.sort(key=lambda one: one.first)
    excluded.sort(key=lambda one: one.instruction.index)
    return Scope(tuple(regions), tuple(excluded))


def _timing_runs(function: Function, liveness: Liveness) -> Iterator[Region]:
    """Waits and padding with no computation around them: nothing to compute, but they may be stronger than needed."""
    for block in function.blocks:
        first = block.first
        computes = False
        for index in range(block.first, block.end + 1):
            instruction = function.instructions[index] if index < block.end else None
            if instruction is not None and not exclusion(instruction):
                assert instruction.decoded is not None
                computes = computes or not is_timing(instruction.decoded)
                continue
            if index > first and not computes:
                timing = tuple(range(first, index))
                live = liveness.before[first], liveness.after[index - 1]
                yield Region(function, block.number, first, index, *live, 0, 0, timing)
            first, computes = index + 1, False


def _pieces(
    program: Program, region: Region, numbers: dict[int, int], excluded: list[Excluded]
) -> Iterator[tuple[int, int]]:
    first = region.first
    frozen = _last_position_dependent(region)
    for index in range(region.first, region.end):
        instruction = region.function.instructions[index]
        reason = (
            "code whose distance to the program counter matters comes behind it or is it"
            if index <= frozen
            else _line_reason(program, instruction)
        )
        if not reason and index > first and _stands_between(program, region.function, index, numbers):
            yield first, index
            first = index
        if index - first >= _MOST:
            yield first, index
            first = index
        if reason:
            excluded.append(Excluded(instruction, reason))
            if index > first:
                yield first, index
            first = index + 1
    if region.end > first:
        yield first, region.end


def _line_reason(program: Program, instruction: Instruction) -> str:
    statement = instruction.statement
    if statement.frames:
        return f"comes from an expansion of '{statement.frames[0].name}'"
    decoded = instruction.decoded
    if decoded is not None and (decoded.reads | decoded.writes) & TTMP.mask:
        return "touches registers of the trap handler"
    place, text = statement.place, program.source.text
    if place.file != program.source.path:
        return f"stands in the included file {place.file}"
    start, end = line_of(text, place.start, place.end)
    if "".join(text[place.start : place.end].split()) != "".join(statement.text.split()):
        return "its text holds a comment or a substitution"
    if text[start : place.start].strip():
        return "shares its line with something else"
    behind = text[place.end : end].strip()
    if behind and not behind.startswith((";", "//", "#")) and not _closed_comment(behind):
        return "shares its line with something else"
    if not text[start:end].endswith("\n"):
        return "stands on the last line of the file, which has no line feed"
    return ""


def _closed_comment(text: str) -> bool:
    return text.startswith("/*") and text.endswith("*/") and text.count("/*") == 1


def _stands_between(program: Program, function: Function, index: int, numbers: dict[int, int]) -> bool:
    """True when a directive, symbol or data stands between an instruction and the one before it."""
    before, here = (numbers.get(id(function.instructions[at].statement), -1) for at in (index - 1, index))
    if before < 0 or here < 0:
        return True
    return any(_counts(statement) for statement in program.source.statements[before + 1 : here])


def _counts(statement: Statement) -> bool:
    return not (statement.kind is Kind.DIRECTIVE and statement.name.startswith(_DEBUG))


def _last_position_dependent(region: Region) -> int:
    """The last instruction with an operand that is relative to its own address, or with a symbol; the distance to an
    s_getpc_b64 before it is part of what it computes."""
    function = region.function
    last = -1
    for index in range(region.first, region.end):
        decoded = function.instructions[index].decoded
        assert decoded is not None
        if is_timing(decoded):
            continue
        if _RELOCATION.search(decoded.text) or any(
            not operand.length and operand.value is None and operand.role & Role.READ and operand.text not in _NOTHING
            for operand in decoded.operands
        ):
            last = index
    return last


def computes_code_addresses(function: Function) -> bool:
    """True when the program counter is read for more than a relocated symbol: any change of size could move what the
    computed address means."""
    instructions = function.instructions
    for index, instruction in enumerate(instructions):
        decoded = instruction.decoded
        if decoded is not None and _READS_PC.match(decoded.base):
            behind = [one.statement.text for one in instructions[index + 1 : index + 4]]
            if not any(_RELOCATION.search(text) for text in behind):
                return True
    return False


def _may_read_anything(function: Function) -> bool:
    """True when liveness is a lower bound: calls, instructions that are not understood, registers not named."""
    return any(
        decoded is None or decoded.classes & Op.CALL or renames_registers(decoded)
        for decoded in (instruction.decoded for instruction in function.instructions)
    )


def _conditionally_written(function: Function) -> int:
    """Destinations of scalar instructions that may leave them as they were, which no operand says: they are needed."""
    kept = 0
    for instruction in function.instructions:
        if instruction.decoded is not None and _KEEPS_DESTINATION.match(instruction.decoded.base):
            kept |= instruction.decoded.writes
    return kept


def _written(function: Function) -> int:
    written = 0
    for instruction in function.instructions:
        if instruction.decoded is not None:
            written |= instruction.decoded.writes
    return written


def _cut(
    region: Region, first: int, end: int, liveness: Liveness, always_live: int, timing_only: bool = False
) -> Region | None:
    reads = writes = 0
    timing: list[int] = []
    for index in range(first, end):
        decoded = region.function.instructions[index].decoded
        assert decoded is not None
        reads |= decoded.reads & ~writes
        writes |= decoded.writes
        if is_timing(decoded):
            timing.append(index)
    if len(timing) == end - first and not timing_only:
        return None
    return replace(
        region,
        first=first,
        end=end,
        live_in=liveness.before[first] | reads,
        live_out=liveness.after[end - 1] | always_live,
        reads=reads,
        writes=writes,
        timing=tuple(timing),
    )
