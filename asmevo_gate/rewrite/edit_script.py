"""Edit scripts: what a proposer may do to one region, and how that becomes edits of the file's text.

A script names instructions by their number in the region (0 is the first) and operands by their place in the
written list. It cannot touch labels, directives, memory operations or control flow, because a region holds none.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

import msgspec

from asmevo_gate.analysis.regions import Region
from asmevo_gate.isa.operand_text import split
from asmevo_gate.source.edits import TextEdit


class Move(msgspec.Struct, frozen=True, tag="move"):
    """Put instruction ``number`` in front of instruction ``before`` (the region's length: behind the last)."""

    number: int
    before: int


class Delete(msgspec.Struct, frozen=True, tag="delete"):
    """Remove an instruction with the comment on its line."""

    number: int


class ReplaceOperand(msgspec.Struct, frozen=True, tag="replace_operand"):
    """Write ``text`` in place of one operand."""

    number: int
    operand: int
    text: str


class InsertMove(msgspec.Struct, frozen=True, tag="insert_move"):
    """Put a register move in front of instruction ``before``: ``mnemonic`` is a move such as ``v_mov_b32_e32``."""

    before: int
    mnemonic: str
    destination: str
    source: str


class Replace(msgspec.Struct, frozen=True, tag="replace"):
    """Write another instruction, which computes the same, in place of one; the comment on its line stays."""

    number: int
    text: str


Edit = Move | Delete | ReplaceOperand | InsertMove | Replace
EditScript = tuple[Edit, ...]

MOVES = frozenset(
    ("v_mov_b32", "v_mov_b32_e32", "v_mov_b32_e64", "v_mov_b64", "v_accvgpr_mov_b32", "s_mov_b32", "s_mov_b64")
)
MOST_EDITS = 4096
_MNEMONIC = re.compile(r"\S+\s*")
_SINGLE_LINE = re.compile(r"[^\n\r;]{1,400}")


class ScriptError(ValueError):
    """A script that does not fit its region: the reason in words."""


def order_script(order: Sequence[int]) -> EditScript:
    """The moves that bring instructions ``0..n-1`` into the given order."""
    return tuple(Move(number, len(order)) for number in order) if list(order) != sorted(order) else ()


def result_texts(region: Region, script: EditScript) -> list[str]:
    """The statements of the region after the script, in order.

    Raises:
        ScriptError: the script does not fit the region.
    """
    return [text for text, _ in _result(region, script)]


def text_edits(region: Region, script: EditScript, text: str) -> list[TextEdit]:
    """The script as edits of the file's text.

    A moved instruction takes its line with it, so that the comment behind it stays with it. As many instructions as
    possible keep their line; comment lines of their own stay where they are.

    Raises:
        ScriptError: the script does not fit the region.
    """
    rows = list(_result(region, script))
    instructions = region.instructions
    lines = [line_of(text, one.statement.place.start, one.statement.place.end) for one in instructions]
    staying = _longest_ascending([number for _, number in rows])
    edits: list[TextEdit] = []
    carried: list[str] = []
    behind_last = lines[0][0]
    for row, (new, number) in enumerate(rows):
        if row not in staying:
            carried.append(_carried_line(text, lines, region, new, number))
            continue
        start, behind_last = lines[number]
        edits += [TextEdit(start, start, line) for line in carried]
        carried = []
        place = instructions[number].statement.place
        if new != instructions[number].statement.text:
            edits.append(TextEdit(place.start, place.end, new))
    edits += [TextEdit(behind_last, behind_last, line) for line in carried]
    kept = {rows[row][1] for row in staying}
    edits += [TextEdit(*lines[number], "") for number in range(len(lines)) if number not in kept]
    return edits


def _longest_ascending(origins: Sequence[int]) -> set[int]:
    """The rows that keep their place: a longest run of instructions in their old order."""
    best: list[int] = []
    tails: list[int] = []
    before: dict[int, int] = {}
    for row, origin in enumerate(origins):
        if origin < 0:
            continue
        at = bisect_left(tails, origin)
        if at:
            before[row] = best[at - 1]
        tails[at : at + 1] = [origin]
        best[at : at + 1] = [row]
    kept: set[int] = set()
    last = best[-1] if best else None
    while last is not None:
        kept.add(last)
        last = before.get(last)
    return kept


def _result(region: Region, script: EditScript) -> Iterator[tuple[str, int]]:
    """Statements after the script with the number of the instruction each comes from; -1 for an inserted move."""
    instructions = region.instructions
    if len(script) > MOST_EDITS:
        raise ScriptError(f"{len(script)} edits are more than {MOST_EDITS}")
    texts = [instruction.statement.text for instruction in instructions]
    rows: list[tuple[str, int]] = [("", number) for number in range(len(texts))]
    gone: set[int] = set()
    for edit in script:
        if isinstance(edit, Move):
            row = _find(rows, edit.number)
            target = _slot(rows, edit.before)
            moved = rows.pop(row)
            rows.insert(target - (row < target), moved)
        elif isinstance(edit, Delete):
            _find(rows, edit.number)
            gone.add(edit.number)
        elif isinstance(edit, ReplaceOperand):
            _find(rows, edit.number)
            texts[edit.number] = with_operand(texts[edit.number], edit.operand, edit.text)
        elif isinstance(edit, Replace):
            _find(rows, edit.number)
            texts[edit.number] = _one_line(edit.text)
        else:
            if edit.mnemonic not in MOVES:
                raise ScriptError(f"'{edit.mnemonic}' is no move")
            move = _one_line(f"{edit.mnemonic} {edit.destination}, {edit.source}")
            rows.insert(_slot(rows, edit.before), (move, -1))
    for inserted, number in rows:
        if number not in gone:
            yield (inserted if number < 0 else texts[number]), number


def with_operand(text: str, operand: int, new: str) -> str:
    """An instruction's text with another operand.

    Raises:
        ScriptError: there is no such operand.
    """
    written_mnemonic = _MNEMONIC.match(text)
    mnemonic = written_mnemonic[0] if written_mnemonic else ""
    rest = text[len(mnemonic) :]
    operands = split(text).operands
    if not 0 <= operand < len(operands):
        raise ScriptError(f"'{text}' has no operand {operand}")
    position = 0
    for at, written in enumerate(operands):
        found = rest.find(written, position)
        if found < 0:
            raise ScriptError(f"operand {operand} of '{text}' cannot be told apart")
        if at == operand:
            return f"{mnemonic}{rest[:found]}{_one_line(new)}{rest[found + len(written) :]}"
        position = found + len(written)
    raise ScriptError(f"'{text}' has no operand {operand}")


def _one_line(text: str) -> str:
    text = text.strip()
    if not _SINGLE_LINE.fullmatch(text) or "//" in text or "/*" in text:
        raise ScriptError(f"{text[:60]!r} is not one instruction")
    return text


def _find(rows: Sequence[tuple[str, int]], number: int) -> int:
    for row, (_, origin) in enumerate(rows):
        if origin == number and number >= 0:
            return row
    raise ScriptError(f"the region has no instruction {number}")


def _slot(rows: Sequence[tuple[str, int]], before: int) -> int:
    length = sum(1 for _, origin in rows if origin >= 0)
    return len(rows) if before == length else _find(rows, before)


def line_of(text: str, start: int, end: int) -> tuple[int, int]:
    """The line around the characters ``[start, end)``, with its line feed."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    return first, len(text) if last < 0 else last + 1


def _carried_line(text: str, lines: Sequence[tuple[int, int]], region: Region, new: str, number: int) -> str:
    """The line of a moved or inserted instruction."""
    if number < 0:
        first = text[lines[0][0] : lines[0][1]]
        indent = first[: len(first) - len(first.lstrip())]
        return f"{indent}{new}" + ("\r\n" if first.endswith("\r\n") else "\n")
    start, end = lines[number]
    statement = region.instructions[number].statement
    written = text[statement.place.start : statement.place.end] if new == statement.text else new
    return text[start : statement.place.start] + written + text[statement.place.end : end]
