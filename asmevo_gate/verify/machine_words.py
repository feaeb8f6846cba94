"""Machine words in source text (``.long 0xbf800000``) -> the instructions that they are, each at its source line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from asmevo_gate.isa.targets import Target
from asmevo_gate.program.destinations import MachineInstruction, destinations, with_label
from asmevo_gate.source.statement import Kind, Source, SourceProblem, Statement
from asmevo_gate.verify.disassembler import NotDisassembled, disassemble, find_disassembler
from asmevo_gate.verify.discovery import Tool

_WIDTHS = {
    ".byte": 1, ".1byte": 1, ".short": 2, ".2byte": 2, ".hword": 2, ".value": 2, ".long": 4, ".int": 4, ".4byte": 4,
    ".quad": 8, ".8byte": 8, ".octa": 16,
}  # fmt: skip
_PADDING = frozenset((".fill", ".space", ".zero", ".skip"))
_MAX_BYTES = 16 << 20
_MAX_RUNS = 100


@dataclass
class _Run:
    """Consecutive data statements of one section with the labels among them; positions in ``Source.statements``."""

    first: int
    statements: list[Statement] = field(default_factory=list)


def has_machine_words(source: Source) -> bool:
    """Whether code holds data that is more than padding."""
    return any(one.kind is Kind.DATA and one.name not in _PADDING for one in source.statements)


def expand_machine_words(source: Source, target: Target, wave_size: int | None) -> Source:
    """The source with words in code replaced by instruction statements.

    A word that starts an instruction keeps its place; words that belong to the one before disappear. A branch inside a
    run of words goes to a label made for its target. What cannot be disassembled stays as it is, with a problem of
    severity ``unknown`` that says why.
    """
    tool = find_disassembler()
    if isinstance(tool, NotDisassembled):
        first = next(one for one in source.statements if one.kind is Kind.DATA and one.name not in _PADDING)
        return _with_problem(source, first, tool.reason, tool.repair)
    statements: list[Statement] = []
    position = 0
    problems = list(source.problems)
    for number, run in enumerate(_runs(source.statements)):
        statements += source.statements[position : run.first]
        position = run.first + len(run.statements)
        made = _expand(run, target, wave_size, tool) if number < _MAX_RUNS else f"more than {_MAX_RUNS} runs of words"
        if isinstance(made, str):
            statements += run.statements
            problems.append(SourceProblem("unknown", made, "", run.statements[0].place))
        else:
            statements += made
    statements += source.statements[position:]
    return msgspec.structs.replace(source, statements=tuple(statements), problems=tuple(problems))


def _with_problem(source: Source, statement: Statement, reason: str, repair: str) -> Source:
    problem = SourceProblem("unknown", f"machine words in code: {reason}", repair, statement.place)
    return msgspec.structs.replace(source, problems=(*source.problems, problem))


def _runs(statements: tuple[Statement, ...]) -> Iterator[_Run]:
    """Runs that hold more than padding, each from its first to its last data statement."""
    run: _Run | None = None
    for position, statement in enumerate(statements):
        in_run = run is not None and statement.section == run.statements[0].section
        if statement.kind is Kind.DATA:
            if run is not None and in_run:
                run.statements += statements[run.first + len(run.statements) : position + 1]
            else:
                yield from _finished(run)
                run = _Run(position, [statement])
        elif not (in_run and statement.kind in (Kind.LABEL, Kind.ASSIGNMENT)):
            yield from _finished(run)
            run = None
    yield from _finished(run)


def _finished(run: _Run | None) -> Iterator[_Run]:
    if run is not None and any(one.kind is Kind.DATA and one.name not in _PADDING for one in run.statements):
        yield run


def _expand(run: _Run, target: Target, wave_size: int | None, tool: Tool) -> list[Statement] | str:
    """The statements of a run, or why there are none."""
    code = bytearray()
    owners: list[tuple[int, Statement]] = []
    others: dict[int, list[Statement]] = {}
    for statement in run.statements:
        if statement.kind is not Kind.DATA:
            others.setdefault(len(code), []).append(statement)
            continue
        encoded = _encode(statement)
        if encoded is None:
            return f"'{statement.text}' is not a plain number, so these machine words cannot be disassembled"
        owners.append((len(code), statement))
        code += encoded
        if len(code) > _MAX_BYTES:
            return f"more than {_MAX_BYTES >> 20} MiB of machine words"
    code += bytes(-len(code) % 4)
    done = disassemble(bytes(code), target, tool, wave_size)
    if isinstance(done, NotDisassembled):
        return f"machine words in code: {done.reason}"
    return list(_statements(done.instructions, owners, others))


def _statements(
    instructions: tuple[MachineInstruction, ...],
    owners: list[tuple[int, Statement]],
    others: dict[int, list[Statement]],
) -> Iterator[Statement]:
    starts = {instruction.offset for instruction in instructions}
    prefix = f".Lwords_{owners[0][1].place.line}"
    leads = destinations(instructions)
    targets = set(leads.values()) & starts
    current = 0
    for instruction in instructions:
        while current + 1 < len(owners) and owners[current + 1][0] <= instruction.offset:
            current += 1
        owner = owners[current][1]
        for at in sorted(at for at in others if at <= instruction.offset):
            yield from others.pop(at)
        if instruction.offset in targets:
            label = f"{prefix}_{instruction.offset}"
            yield Statement(Kind.LABEL, label, "", f"{label}:", owner.place, owner.frames, owner.section)
        target = leads.get(instruction.offset)
        text = with_label(instruction, f"{prefix}_{target}") if target in starts else instruction.text
        name, _, rest = text.partition(" ")
        yield Statement(Kind.INSTRUCTION, name, rest.strip(), text, owner.place, owner.frames, owner.section)
    for at in sorted(others):
        yield from others[at]


def _encode(statement: Statement) -> bytes | None:
    """The bytes of a data statement, little endian; ``None`` when a value is no number."""
    try:
        values = [int(item, 0) for item in statement.rest.split(",")]
    except ValueError:
        return None
    name = statement.name.lower()
    if name == ".fill":
        count, size, value = [*values, 1, 0][:3] if len(values) == 1 else [*values, 0][:3]
        return _value(value, min(size, 8)) * count if 0 <= count * size <= _MAX_BYTES else None
    if name in _PADDING:
        return bytes([[*values, 0][1] & 0xFF]) * values[0] if 0 <= values[0] <= _MAX_BYTES else None
    width = _WIDTHS.get(name)
    return None if width is None else b"".join(_value(value, width) for value in values)


def _value(value: int, width: int) -> bytes:
    return (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
