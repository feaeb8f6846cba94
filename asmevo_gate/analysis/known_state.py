"""What is known of registers at one place of a kernel, and what an instruction does to it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from asmevo_gate.analysis.exec_mask import ExecChange, exec_change
from asmevo_gate.analysis.symbolic_values import ARITHMETIC, LOADED, PAIRS, Value, constant
from asmevo_gate.isa.instruction import Decoded, Op, Operand, Role
from asmevo_gate.isa.registers import EXEC, SPECIAL, VECTOR, indices

EXEC_LO = SPECIAL["exec_lo"]
ALL_STARTED = Value("EXEC at the entry")
"""What the low half of EXEC holds at the entry: every lane that the launch started."""

Operands = tuple[tuple[Value | None, ...], ...]
"""For each operand the values of its registers (of up to four), or of its literal."""

_Made = list[tuple[int, Value]]
"""Registers with the value that they get."""


class State(msgspec.Struct):
    """``values`` by register; ``local`` are the vector registers whose value holds only under the present EXEC."""

    values: dict[int, Value] = {}
    known: int = 0
    local: int = 0

    @property
    def masked(self) -> bool:
        """Lanes that the launch started may be switched off."""
        return self.values.get(EXEC_LO) != ALL_STARTED

    def copy(self) -> State:
        """A state of its own with the same knowledge."""
        return State(dict(self.values), self.known, self.local)

    def forget(self, registers: int) -> None:
        """Nothing is known of some registers any more."""
        gone = registers & self.known
        if gone:
            for register in indices(gone):
                del self.values[register]
            self.known &= ~gone
            self.local &= ~gone

    def learn(self, register: int, value: Value) -> None:
        """A register was written, with this value."""
        self.values[register] = value
        self.known |= 1 << register
        if self.masked and (1 << register) & VECTOR:
            self.local |= 1 << register

    def meet(self, other: State) -> bool:
        """Keep what both know; True when that changed this state."""
        lost = 0
        for register, value in self.values.items():
            if other.values.get(register) != value:
                lost |= 1 << register
        local = (self.local | other.local) & self.known & ~lost
        changed = bool(lost) or local != self.local
        self.forget(lost)
        self.local = local
        return changed

    def values_of(self, operand: Operand) -> tuple[Value | None, ...]:
        """The values of the registers of an operand (of up to four), or of its literal."""
        length = operand.length
        if not length:
            return (constant(operand.value),) if isinstance(operand.value, int) else (None,)
        if operand.indexed or operand.text.startswith(_MODIFIED):
            return (None,)
        first = operand.start
        if length == 1:
            return (self.values.get(first),)
        return tuple(map(self.values.get, range(first, first + min(length, 4))))


_MODIFIED = ("-", "|", "neg", "abs", "sext")
"""How the text of an operand begins that is not the register's value as it is."""


class Effect(msgspec.Struct, frozen=True, gc=False):
    """What an instruction text does to the state besides forgetting what it writes: ``rule`` makes the results from the
    ``inputs``, without one it is a scalar load or writes EXEC."""

    decoded: Decoded
    rule: Callable[..., Value | None] | None
    inputs: tuple[Operand, ...]


def effect(decoded: Decoded) -> Effect | None:
    """The effect of a text; ``None`` when what it writes is forgotten and that is all."""
    rule = _rule(decoded) if decoded.base in ARITHMETIC else None
    if rule is None and not (decoded.classes & Op.SMEM or decoded.writes & EXEC):
        return None
    return Effect(decoded, rule, tuple([one for one in decoded.operands[1:] if not one.role & Role.WRITE]))


def _rule(decoded: Decoded) -> Callable[..., Value | None] | None:
    """How what the instruction writes follows from its sources, where that has a known form."""
    if decoded.variant in ("dpp", "e64_dpp", "sdwa", "vopd") or "clamp" in decoded.modifiers:
        return None
    destination = decoded.operands[0]
    if not destination.length or destination.half is not None:
        return None
    return ARITHMETIC[decoded.base] if destination.length == 1 or decoded.base in PAIRS else None


def apply(effect: Effect, state: State, tracked: int) -> None:
    """Make the state before an instruction that behind it; only of ``tracked`` registers something is learned."""
    decoded = effect.decoded
    made = _made(effect, state)
    if decoded.writes & EXEC:
        made += _change_lanes(decoded, state)
    state.forget(decoded.writes)
    for register, value in made:
        if tracked >> register & 1:
            state.learn(register, value)


def _change_lanes(decoded: Decoded, state: State) -> _Made:
    """Forget the vector values that a write of EXEC makes doubtful; give EXEC back its first value where the code
    restores it, and what a ``saveexec`` saves its old value."""
    made: _Made = []
    sources = [operand for operand in decoded.operands if operand.role & Role.READ and not operand.role & Role.WRITE]
    restores = any(state.values_of(operand)[0] == ALL_STARTED for operand in sources)
    change = exec_change(decoded)
    if restores and decoded.base.startswith(("s_mov_b", "s_or_b")):
        state.forget(state.local)
        return [(EXEC_LO, ALL_STARTED)]
    if "saveexec" in decoded.base and not state.masked:
        made.append((decoded.operands[0].start, ALL_STARTED))
    if change is ExecChange.WIDENS and not any(operand.value == -1 for operand in decoded.operands):
        state.forget(state.local)
    elif change is not ExecChange.NARROWS:
        state.forget(state.known & VECTOR)
    return made


def _made(effect: Effect, state: State) -> _Made:
    """What the written registers hold afterwards, where that is known."""
    decoded, rule = effect.decoded, effect.rule
    if rule is None:
        return _loaded(decoded, state) if decoded.of(Op.SMEM) and decoded.of(Op.LOAD) else []
    destination = decoded.operands[0]
    if decoded.base not in PAIRS:
        known = _apply(rule, [state.values_of(operand)[0] for operand in effect.inputs])
        return [] if known is None else [(destination.start, known)]
    made: _Made = []
    values = [_pair(operand, state) for operand in effect.inputs]
    for part in range(destination.length):
        known = _apply(rule, [value[part] for value in values])
        if known is not None:
            made.append((destination.start + part, known))
    return made


def _pair(operand: Operand, state: State) -> tuple[Value | None, Value | None]:
    """Both dwords of a 64-bit source; an inline constant is sign-extended."""
    found = state.values_of(operand)
    if len(found) == 2:
        return found[0], found[1]
    number = operand.value
    if not operand.length and isinstance(number, int):
        return constant(number), constant(-1 if number < 0 else number >> 32)
    return None, None


def _apply(rule: Callable[..., Value | None], sources: list[Value | None]) -> Value | None:
    if any(value is None for value in sources):
        return None
    try:
        return rule(*sources)
    except TypeError:
        # Another form of the mnemonic, with more or fewer sources than the rule is for.
        return None


def _loaded(decoded: Decoded, state: State) -> _Made:
    destination, base = decoded.operands[0], decoded.operands[1]
    at = address(decoded, tuple(map(state.values_of, decoded.operands)))
    if at is None or base.length != 2:
        return []
    origin, offset = at
    return [
        (destination.start + part, Value(LOADED + origin, 1, offset + 4 * part)) for part in range(destination.length)
    ]


def address(decoded: Decoded, values: Operands) -> tuple[str, int] | None:
    """Origin and byte offset of a scalar load: the base pair is an initial pointer, the offsets are constants."""
    if len(values) < 2 or len(values[1]) != 2:
        return None
    low, high = values[1]
    if low is None or high is None or low.origin != high.origin or low.scale != 1 or (low.part, high.part) != (0, 1):
        return None
    total = low.add - (1 << 32 if low.add >> 31 else 0)
    for operand, found in zip(decoded.operands[2:], values[2:], strict=True):
        if operand.text in ("null", "off"):
            continue
        value = found[0]
        if value is None or value.constant is None:
            return None
        total += value.constant
    extra = immediate_offset(decoded)
    return None if extra is None else (low.origin, total + extra)


def immediate_offset(decoded: Decoded, name: str = "offset") -> int | None:
    """The value of an ``offset:`` modifier, 0 without one, ``None`` when it is no plain number."""
    text = decoded.modifiers.get(name, "0")
    try:
        return int(text, 0)
    except ValueError:
        return None
