"""Machine words in source text (``.long 0xbf800000``) -> the instructions that they are, each at its source line.

Few files have any: what disassembles them is imported only then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from asmevo_gate.isa.targets import Target
from asmevo_gate.source.statement import Kind, Source, SourceProblem, Statement

if TYPE_CHECKING:
    from asmevo_gate.program.destinations import MachineInstruction
    from asmevo_gate.verify.discovery import Tool

_WIDTHS = {
    ".byte": 1, ".1byte": 1, ".short": 2, ".2byte": 2, ".hword": 2, ".value": 2, ".long": 4, ".int": 4, ".4byte": 4,
    ".quad": 8, ".8byte": 8, ".octa": 16,
}  # fmt: skip
_PADDING = frozenset((".fill", ".space", ".zero", ".skip"))
_MAX_BYTES = 16 << 20
_UNKNOWN_WORDS = ".long"
"""What a disassembler writes for words that it does not know."""
_BETWEEN = bytes.fromhex("000080bf") * 5
"""s_nop, more than the longest instruction has dwords, so that a run that is cut off does not reach the next one."""


class _Run(msgspec.Struct):
    """Consecutive data statements of one section with the labels among them; positions in ``Source.statements``."""

    first: int
    statements: list[Statement] = []


class _Code(msgspec.Struct):
    """The bytes of a run, the statement that each offset comes from, and labels and assignments by offset."""

    code: bytearray = msgspec.field(default_factory=bytearray)
    owners: list[tuple[int, Statement]] = []
    others: dict[int, list[Statement]] = {}


def has_machine_words(source: Source) -> bool:
    """Whether code holds data that is more than padding."""
    return any(one.kind is Kind.DATA and one.name not in _PADDING for one in source.besides_instructions)


def expand_machine_words(source: Source, target: Target, wave_size: int | None) -> Source:
    """The source with words in code replaced by instruction statements.

    A word that starts an instruction keeps its place; words that belong to the one before disappear. A branch inside a
    run of words goes to a label made for its target. What cannot be disassembled stays as it is, with a problem of
    severity ``unknown`` that says why.
    """
    from asmevo_gate.verify.disassembler import NotDisassembled, find_disassembler

    tool = find_disassembler()
    if isinstance(tool, NotDisassembled):
        first = next(one for one in source.statements if one.kind is Kind.DATA and one.name not in _PADDING)
        return _with_problem(source, first, tool.reason, tool.repair)
    runs = list(_runs(source.statements))
    encoded = [_encoded(run) for run in runs]
    decoded = _disassembled([one for one in encoded if isinstance(one, _Code)], target, wave_size, tool)
    statements: list[Statement] = []
    position = 0
    problems = list(source.problems)
    for run, code in zip(runs, encoded, strict=True):
        statements += source.statements[position : run.first]
        position = run.first + len(run.statements)
        made = code if isinstance(code, str) else next(decoded)
        if isinstance(made, str):
            statements += run.statements
            problems.append(SourceProblem("unknown", made, "", run.statements[0].place))
        elif isinstance(code, _Code):
            statements += _statements(made, code.owners, code.others)
            if any(item.text.startswith(_UNKNOWN_WORDS) for item in made):
                reason = f"{tool} does not know some of the machine words of {target.name} from here on"
                problems.append(SourceProblem("unknown", reason, "use a newer LLVM", run.statements[0].place))
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


def _encoded(run: _Run) -> _Code | str:
    """The bytes of a run, or why they are not known."""
    made = _Code()
    for statement in run.statements:
        if statement.kind is not Kind.DATA:
            made.others.setdefault(len(made.code), []).append(statement)
            continue
        encoded = _encode(statement)
        if encoded is None:
            return f"'{statement.text}' is not a plain number, so these machine words cannot be disassembled"
        made.owners.append((len(made.code), statement))
        made.code += encoded
        if len(made.code) > _MAX_BYTES:
            return f"more than {_MAX_BYTES >> 20} MiB of machine words"
    made.code += bytes(-len(made.code) % 4)
    return made


def _disassembled(
    runs: Sequence[_Code], target: Target, wave_size: int | None, tool: Tool
) -> Iterator[tuple[MachineInstruction, ...] | str]:
    """The instructions of each run, or why there are none; all runs go through one disassembly, with no-ops between."""
    from asmevo_gate.verify.disassembler import NotDisassembled, disassemble

    done = disassemble(b"".join(bytes(one.code) + _BETWEEN for one in runs), target, tool, wave_size)
    start = 0
    for one in runs:
        end = start + len(one.code)
        if isinstance(done, NotDisassembled):
            yield f"machine words in code: {done.reason}"
        else:
            inside = [item for item in done.instructions if start <= item.offset < end]
            if inside and inside[-1].offset + inside[-1].size > end:
                yield "machine words in code: the last instruction is cut off"
            else:
                yield tuple(item._replace(offset=item.offset - start) for item in inside)
        start = end + len(_BETWEEN)


def _statements(
    instructions: tuple[MachineInstruction, ...],
    owners: list[tuple[int, Statement]],
    others: dict[int, list[Statement]],
) -> Iterator[Statement]:
    from asmevo_gate.program.destinations import destinations, with_label

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
        kind = Kind.DATA if name == _UNKNOWN_WORDS else Kind.INSTRUCTION
        yield Statement(kind, name, rest.strip(), text, owner.place, owner.frames, owner.section)
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
