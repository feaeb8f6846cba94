"""Proposer: instructions that are not needed, because their result is dead or stands in a register already."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from asmevo_gate.analysis.side_effects import is_timing
from asmevo_gate.isa.instruction import MATRIX, Decoded, NotDecoded, Op, Operand, Role
from asmevo_gate.isa.registers import EXEC, MODE, indices, interval_name
from asmevo_gate.rewrite.edit_script import Delete, Edit, EditScript, ReplaceOperand, ScriptError, with_operand
from asmevo_gate.rewrite.proposal import Proposal, Situation

_COPIES = frozenset(("v_mov_b32", "s_mov_b32", "s_mov_b64", "v_mov_b64", "v_accvgpr_mov_b32"))
_PLAIN_REGISTER = re.compile(r"(?:v|s|a|ttmp)(?:\d+|\[[^\]]*\])$|vcc(?:_lo|_hi)?$|m0$")


class Peephole:
    """Dead code, copies and repeated computations."""

    name = "peephole"

    def propose(self, situation: Situation) -> Iterator[Proposal]:
        """All of them at once, then each alone."""
        found = [*_dead(situation), *_Values(situation).repeated()]
        together = _compatible(found)
        if len(together) > 1:
            script = tuple(edit for one in together for edit in one.script)
            yield Proposal(script, self.name, f"remove {len(together)} instructions that are not needed")
        for one in found:
            yield Proposal(one.script, self.name, one.title)


@dataclass(frozen=True)
class Removal:
    """One instruction that can go, and the instructions that its script touches."""

    script: EditScript
    title: str
    touched: frozenset[int]


def is_pure(decoded: Decoded) -> bool:
    """True when the instruction does nothing but compute registers from registers."""
    return not is_timing(decoded) and not decoded.classes & Op.UNMODELLED


def _dead(situation: Situation) -> Iterator[Removal]:
    for number, (decoded, live) in enumerate(zip(situation.decoded, situation.live_after, strict=True)):
        if is_pure(decoded) and decoded.writes and not decoded.writes & live:
            title = f"remove '{decoded.text}', whose result nothing reads"
            yield Removal((Delete(number),), title, frozenset((number,)))


def _compatible(found: list[Removal]) -> list[Removal]:
    chosen: list[Removal] = []
    taken: set[int] = set()
    for one in found:
        if not taken & one.touched:
            chosen.append(one)
            taken |= one.touched
    return chosen


@dataclass
class _Values:
    """Local value numbering: which registers hold the same value in the active lanes."""

    situation: Situation
    of: dict[int, object] = field(default_factory=dict)
    """Register -> the value that it holds; a register that was not written holds its own start value."""
    known: dict[object, list[tuple[int, int]]] = field(default_factory=dict)
    """Value -> intervals that were given it, which may have changed since."""

    def repeated(self) -> Iterator[Removal]:
        """Instructions whose result stands in a register already."""
        for number, decoded in enumerate(self.situation.decoded):
            value = self._value(decoded, number)
            destination = _destination(decoded)
            if value is not None and destination is not None and not self._implicit_needed(decoded, number):
                removal = self._removal(number, decoded, destination, value)
                if removal is not None:
                    yield removal
            self._write(decoded, destination, value, number)

    def _implicit_needed(self, decoded: Decoded, number: int) -> bool:
        return bool(decoded.implicit_writes & self.situation.live_after[number])

    def _held(self, start: int, length: int) -> object:
        return tuple(self.of.get(register, ("start", register)) for register in range(start, start + length))

    def _value(self, decoded: Decoded, number: int) -> object | None:
        """A key that is equal for two instructions that compute the same; ``None`` for what is not looked at."""
        if not is_pure(decoded) or decoded.keeps or decoded.classes & (MATRIX | Op.VOPD) or decoded.has_indexed:
            return None
        sources = decoded.operands[1:]
        if decoded.base in _COPIES and not decoded.modifiers and decoded.variant in ("", "e32", "e64"):
            source = sources[0]
            if source.length and _PLAIN_REGISTER.match(source.text):
                return self._held(source.start, source.length)
        if any(operand.role & Role.WRITE for operand in sources):
            return None
        parts: list[object] = [decoded.base, tuple(sorted(decoded.modifiers.items())), decoded.variant == "sdwa"]
        for operand in sources:
            shape = re.sub(r"\d+|\[[^\]]*\]", "", operand.text) if operand.length else operand.text
            parts.append((shape, operand.half, self._held(operand.start, operand.length)))
        implicit = decoded.implicit_reads & ~(EXEC | MODE)
        for register in indices(implicit):
            parts.append(("implicit", self._held(register, 1)))
        length = _destination_length(decoded)
        return tuple((tuple(parts), piece) for piece in range(length))

    def _removal(self, number: int, decoded: Decoded, destination: Operand, value: object) -> Removal | None:
        start, length = destination.start, destination.length
        if self._held(start, length) == value:
            title = f"remove '{decoded.text}': {destination.text} holds that value already"
            return Removal((Delete(number),), title, frozenset((number,)))
        for other, other_length in self._holders(decoded, value):
            if other_length == length and not set(range(other, other + length)) & set(range(start, start + length)):
                made = self._forward(number, decoded, destination, other)
                if made is not None:
                    return made
        return None

    def _holders(self, decoded: Decoded, value: object) -> Iterator[tuple[int, int]]:
        if decoded.base in _COPIES and decoded.operands[1].length and _PLAIN_REGISTER.match(decoded.operands[1].text):
            yield decoded.operands[1].start, decoded.operands[1].length
        for start, length in self.known.get(value, []):
            if self._held(start, length) == value:
                yield start, length

    def _forward(self, number: int, decoded: Decoded, destination: Operand, other: int) -> Removal | None:
        """Let the readers of a result read the register that holds it already."""
        start, length = destination.start, destination.length
        mask, source = destination.mask, destination.mask >> start << other
        name = interval_name(other, length)
        edits: list[Edit] = []
        touched = {number}
        changed = False
        for later in range(number + 1, len(self.situation.decoded)):
            reader = self.situation.decoded[later]
            if reader.reads & mask:
                if changed:
                    return None
                made = self._read_elsewhere(later, reader, start, length, mask, name)
                if made is None:
                    return None
                edits += made
                touched.add(later)
            if reader.writes & source:
                changed = True
            if reader.writes & mask:
                if reader.writes & ~reader.keeps & mask != mask:
                    return None
                break
        else:
            if mask & self.situation.region.live_out:
                return None
        title = f"remove '{decoded.text}': {name} holds that value already"
        return Removal((*edits, Delete(number)), title, frozenset(touched))

    def _read_elsewhere(
        self, later: int, reader: Decoded, start: int, length: int, mask: int, name: str
    ) -> list[Edit] | None:
        if (reader.implicit_reads | reader.keeps) & mask or reader.classes & Op.VOPD:
            return None
        edits: list[Edit] = []
        text = reader.text
        for place, operand in enumerate(reader.operands):
            if not operand.mask & mask or operand.role == Role.WRITE:
                continue
            if operand.start != start or operand.length != length or operand.role & Role.WRITE:
                return None
            written = re.sub(r"(?:v|s|a|ttmp)(?:\d+|\[[^\]]*\])|vcc(?:_lo|_hi)?|m0", name, operand.text, count=1)
            try:
                text = with_operand(text, place, written)
            except ScriptError:
                return None
            edits.append(ReplaceOperand(later, place, written))
        if isinstance(self.situation.isa.decode(text), NotDecoded):
            return None
        return edits

    def _write(self, decoded: Decoded, destination: Operand | None, value: object | None, number: int) -> None:
        for register in indices(decoded.writes):
            self.of[register] = ("written", number, register)
        if value is None or destination is None:
            return
        assert isinstance(value, tuple)
        for piece, register in enumerate(range(destination.start, destination.start + destination.length)):
            if piece < len(value):
                self.of[register] = value[piece]
        self.known.setdefault(value, []).append((destination.start, destination.length))


def _destination(decoded: Decoded) -> Operand | None:
    """The only operand that is written, when it is a whole register."""
    written = [operand for operand in decoded.operands if operand.role & Role.WRITE]
    if len(written) != 1 or written[0] is not decoded.operands[0]:
        return None
    operand = written[0]
    if operand.role != Role.WRITE or operand.half is not None or not operand.length or operand.indexed:
        return None
    return operand


def _destination_length(decoded: Decoded) -> int:
    operand = _destination(decoded)
    return operand.length if operand is not None else 1
