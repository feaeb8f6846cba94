"""Values that registers surely hold: constants, work-item ids, and what the launch put into SGPRs.

A forward data-flow analysis over all paths. A register is known only where every path agrees on one value, so an answer
is never a guess. A vector register is known only while it holds for every lane that may be active: a write under a
narrowed EXEC is forgotten where EXEC widens again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from asmevo_gate.analysis.exec_mask import ExecChange, exec_change
from asmevo_gate.analysis.initial_state import initial_state
from asmevo_gate.analysis.vgpr_msb import MNEMONIC as RENAMES
from asmevo_gate.isa.instruction import VMEM, Decoded, Op, Operand, Role
from asmevo_gate.isa.registers import EXEC, SGPR, SPECIAL, VECTOR, VGPR, indices
from asmevo_gate.program.model import Function, Instruction

PACKED_IDS = "packed work-item ids"
LOADED = "loaded from "
"""Prefix of the origin of a dword that a scalar load brought from a known address; ``add`` is its byte offset there."""
_POINTERS = {
    "dispatch packet address": 2, "queue address": 2, "kernarg segment address": 2, "flat scratch initialiser": 2,
    "dispatch id": 2, "private segment buffer": 4,
}  # fmt: skip
"""Initial values of more than one SGPR, with their number."""
_WORD = (1 << 32) - 1
_EXEC_LO = SPECIAL["exec_lo"]


class Value(NamedTuple):
    """``scale * origin + add`` modulo 2**32.

    ``origin`` is ``""`` for a constant, ``x``, ``y`` or ``z`` for a work-item id, :data:`PACKED_IDS`, :data:`LOADED`
    with a name, or the name of an initial SGPR value
    (:class:`~asmevo_gate.analysis.initial_state.InitialRegisters`), of which ``part`` is the dword.
    """

    origin: str
    scale: int = 1
    add: int = 0
    part: int = 0

    @property
    def constant(self) -> int | None:
        """The number, when it is one."""
        return self.add if not self.origin else None


_ALL_STARTED = Value("EXEC at the entry")
"""What the low half of EXEC holds at the entry: every lane that the launch started."""


def constant(number: int) -> Value:
    """A constant as a value."""
    return Value("", 0, number & _WORD)


_Made = list[tuple[int, Value]]
"""Registers with the value that they get."""

KnownOperands = dict[int, tuple[tuple[Value | None, ...], ...]]
"""Instruction index -> for each operand the values of its registers (of up to four), or of its literal."""


class _State(msgspec.Struct):
    """``values`` by register; ``local`` are the vector registers whose value holds only under the present EXEC."""

    values: dict[int, Value] = {}
    known: int = 0
    local: int = 0

    @property
    def masked(self) -> bool:
        """Lanes that the launch started may be switched off."""
        return self.values.get(_EXEC_LO) != _ALL_STARTED

    def copy(self) -> _State:
        return _State(dict(self.values), self.known, self.local)

    def forget(self, registers: int) -> None:
        gone = registers & self.known
        if gone:
            for register in indices(gone):
                del self.values[register]
            self.known &= ~gone
            self.local &= ~gone

    def learn(self, register: int, value: Value) -> None:
        self.values[register] = value
        self.known |= 1 << register
        if self.masked and (1 << register) & VECTOR:
            self.local |= 1 << register

    def meet(self, other: _State) -> bool:
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


def known_operands(function: Function) -> KnownOperands:
    """What is known of the operands of memory and lane accesses and of scalar and index arithmetic, by instruction."""
    found: KnownOperands = {}
    if not function.blocks or not function.is_kernel:
        return found
    vectors = not any(one.statement.name == RENAMES for one in function.instructions)
    steps = _steps(function)
    for of_block, entering in zip(steps, _solve(function, steps, vectors), strict=True):
        if entering is None:
            continue
        state = entering.copy()
        for step in of_block:
            if isinstance(step, int):
                state.forget(step)
                continue
            decoded = step.decoded
            if decoded is not None and _is_watched(decoded):
                values = tuple(_values(operand, state) for operand in decoded.operands)
                if state.masked:
                    values = tuple(tuple(map(_without_lanes, value)) for value in values)
                if any(value is not None for operand in values for value in operand):
                    found[step.index] = values
            _step(decoded, state, vectors)
    return found


_WATCHED = VMEM | Op.SMEM | Op.DS
_WATCHED_BASES = frozenset(
    (
        "v_readlane_b32", "v_writelane_b32", "v_bfe_u32", "v_lshrrev_b32", "v_lshlrev_b32", "v_lshl_add_u32",
        "v_lshl_or_b32", "v_mul_u32_u24", "v_mul_lo_u32", "v_mad_u32_u24", "s_lshl_b32", "s_mul_i32", "s_mul_hi_u32",
    )
)  # fmt: skip


def _is_watched(decoded: Decoded) -> bool:
    return decoded.of(_WATCHED) or decoded.base in _WATCHED_BASES


_Step = int | Instruction
"""The registers that a run of instructions overwrites, none of which makes or needs a known value; or an instruction
that may do so."""


def _steps(function: Function) -> list[list[_Step]]:
    """Each block in steps."""
    counts = [False] * len(function.instructions)
    for _, decoded, places in function.spellings:
        if decoded is None or not _only_overwrites(decoded):
            for index in places:
                counts[index] = True
    found: list[list[_Step]] = []
    for block in function.blocks:
        steps: list[_Step] = []
        overwritten = 0
        for instruction in function.instructions[block.first : block.end]:
            if not counts[instruction.index]:
                assert instruction.decoded is not None
                overwritten |= instruction.decoded.writes
                continue
            if overwritten:
                steps.append(overwritten)
                overwritten = 0
            steps.append(instruction)
        found.append([*steps, overwritten])
    return found


def _only_overwrites(decoded: Decoded) -> bool:
    """True when nothing is asked about the instruction's operands, and what it writes is not known afterwards."""
    if _is_watched(decoded) or decoded.is_call or decoded.has_indexed or decoded.writes & EXEC:
        return False
    return decoded.base not in _ARITHMETIC


def _solve(function: Function, steps: list[list[_Step]], vectors: bool) -> list[_State | None]:
    """States at the starts of the blocks. They only lose entries, so this ends."""
    entering: list[_State | None] = [None] * len(function.blocks)
    entering[0] = _initial(function, vectors)
    pending = [0]
    waiting = {0}
    while pending:
        block = function.blocks[pending.pop()]
        waiting.discard(block.number)
        state = entering[block.number]
        assert state is not None
        state = state.copy()
        for step in steps[block.number]:
            if isinstance(step, int):
                state.forget(step)
            else:
                _step(step.decoded, state, vectors)
        for successor in block.successors:
            old = entering[successor]
            if old is None:
                entering[successor] = state.copy()
            elif not old.meet(state):
                continue
            if successor not in waiting:
                waiting.add(successor)
                pending.append(successor)
    return entering


def _initial(function: Function, vectors: bool) -> _State:
    state = _State()
    state.learn(_EXEC_LO, _ALL_STARTED)
    if function.descriptor is None:
        return state
    for register, name in initial_state(function).names.items():
        if SGPR.start <= register < SGPR.start + SGPR.count:
            for part in range(_POINTERS.get(name, 1)):
                state.learn(register + part, Value(name, part=part))
        elif register < VGPR.count and vectors:
            axis = PACKED_IDS if function.target.facts["packed_tid"] else name[-1]
            state.learn(register, Value(axis))
    return state


def _values(operand: Operand, state: _State) -> tuple[Value | None, ...]:
    if operand.length and not operand.indexed and not operand.text.startswith(("-", "|", "neg", "abs", "sext")):
        return tuple(state.values.get(operand.start + part) for part in range(min(operand.length, 4)))
    if not operand.length and isinstance(operand.value, int):
        return (constant(operand.value),)
    return (None,)


def _step(decoded: Decoded | None, state: _State, vectors: bool) -> None:
    if decoded is None or decoded.is_call:
        state.forget(state.known)
        return
    if not decoded.writes:
        return
    made = _made(decoded, state)
    if decoded.writes & EXEC:
        made += _change_lanes(decoded, state)
    state.forget(decoded.writes)
    if decoded.has_indexed:
        state.forget(state.known)
        return
    for register, value in made:
        if vectors or not (1 << register) & VECTOR:
            state.learn(register, value)


def _change_lanes(decoded: Decoded, state: _State) -> _Made:
    """Forget the vector values that a write of EXEC makes doubtful; give EXEC back its first value where the code
    restores it, and what a ``saveexec`` saves its old value."""
    made: _Made = []
    sources = [operand for operand in decoded.operands if operand.role & Role.READ and not operand.role & Role.WRITE]
    restores = any(_values(operand, state)[0] == _ALL_STARTED for operand in sources)
    change = exec_change(decoded)
    if restores and decoded.base.startswith(("s_mov_b", "s_or_b")):
        state.forget(state.local)
        return [(_EXEC_LO, _ALL_STARTED)]
    if "saveexec" in decoded.base and not state.masked:
        made.append((decoded.operands[0].start, _ALL_STARTED))
    if change is ExecChange.WIDENS and not any(operand.value == -1 for operand in decoded.operands):
        state.forget(state.local)
    elif change is not ExecChange.NARROWS:
        state.forget(state.known & VECTOR)
    return made


def _without_lanes(value: Value | None) -> Value | None:
    """A value under a mask: which work-items are left is not known."""
    return None if value is not None and value.origin in ("x", "y", "z") else value


def _made(decoded: Decoded, state: _State) -> _Made:
    """What the written registers hold afterwards, where that is known."""
    if decoded.of(Op.SMEM):
        return _loaded(decoded, state) if decoded.of(Op.LOAD) else []
    rule = _ARITHMETIC.get(decoded.base)
    if rule is None or decoded.variant in ("dpp", "e64_dpp", "sdwa", "vopd") or "clamp" in decoded.modifiers:
        return []
    destination = decoded.operands[0]
    sources = [operand for operand in decoded.operands[1:] if not operand.role & Role.WRITE]
    if not destination.length or destination.half is not None:
        return []
    made: _Made = []
    if decoded.base in _PAIRS:
        values = [_pair(operand, state) for operand in sources]
        for part in range(destination.length):
            halves = [value[part] for value in values]
            known = _apply(rule, halves)
            if known is not None:
                made.append((destination.start + part, known))
        return made
    known = _apply(rule, [_values(operand, state)[0] for operand in sources])
    return [(destination.start, known)] if known is not None and destination.length == 1 else []


def _pair(operand: Operand, state: _State) -> tuple[Value | None, Value | None]:
    """Both dwords of a 64-bit source; an inline constant is sign-extended."""
    found = _values(operand, state)
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


def _loaded(decoded: Decoded, state: _State) -> _Made:
    destination, base = decoded.operands[0], decoded.operands[1]
    at = address(decoded, tuple(_values(operand, state) for operand in decoded.operands))
    if at is None or base.length != 2:
        return []
    origin, offset = at
    return [
        (destination.start + part, Value(LOADED + origin, 1, offset + 4 * part)) for part in range(destination.length)
    ]


def address(decoded: Decoded, values: tuple[tuple[Value | None, ...], ...]) -> tuple[str, int] | None:
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


def _mov(value: Value) -> Value:
    return value


def _add(one: Value, other: Value) -> Value | None:
    if one.constant is None:
        one, other = other, one
    if one.constant is None:
        return None
    return other._replace(add=(other.add + one.constant) & _WORD)


def _sub(one: Value, other: Value) -> Value | None:
    return None if other.constant is None else _add(one, constant(-other.constant))


def _mul(one: Value, other: Value) -> Value | None:
    if one.constant is None:
        one, other = other, one
    if one.constant is None or (other.origin and other.origin not in "xyz"):
        return None
    factor = one.constant
    return Value(other.origin, other.scale * factor & _WORD, other.add * factor & _WORD)


def _shl(value: Value, amount: Value) -> Value | None:
    if amount.constant is None:
        return None
    return _mul(value, constant(1 << (amount.constant & 31)))


def _shr(value: Value, amount: Value) -> Value | None:
    if value.constant is not None and amount.constant is not None:
        return constant(value.constant >> (amount.constant & 31))
    if value == Value(PACKED_IDS) and amount.constant == 20:
        return Value("z")
    return None


def _and(one: Value, other: Value) -> Value | None:
    if one.constant is None:
        one, other = other, one
    if one.constant is None:
        return None
    if other.constant is not None:
        return constant(one.constant & other.constant)
    if one.constant == 0x3FF and other.scale == 1 and not other.add:
        return Value("x") if other.origin == PACKED_IDS else other if other.origin in ("x", "y", "z") else None
    return None


def _or(one: Value, other: Value) -> Value | None:
    if one.constant is None:
        one, other = other, one
    if one.constant is None:
        return None
    if other.constant is not None:
        return constant(one.constant | other.constant)
    step = other.scale & -other.scale
    return _add(one, other) if other.origin in ("x", "y", "z") and not other.add and one.constant < step else None


def _bfe(value: Value, first: Value, width: Value) -> Value | None:
    if first.constant is None or width.constant is None:
        return None
    if value.constant is not None:
        return constant(value.constant >> (first.constant & 31) & ((1 << (width.constant & 31)) - 1))
    axis = {(0, 10): "x", (10, 10): "y", (20, 10): "z"}.get((first.constant, width.constant))
    return Value(axis) if value == Value(PACKED_IDS) and axis else None


def _then(first: Callable[..., Value | None], second: Callable[..., Value | None]) -> Callable[..., Value | None]:
    def both(one: Value, other: Value, third: Value) -> Value | None:
        made = first(one, other)
        return None if made is None else second(made, third)

    return both


def _reversed(rule: Callable[..., Value | None]) -> Callable[..., Value | None]:
    return lambda amount, value: rule(value, amount)


def _carry(high: Value, zero: Value) -> Value | None:
    """The upper half of a pointer to which a constant is added: still the upper half of an address in the segment."""
    if high.constant is None and zero.constant in (0, _WORD):
        return high
    return None


_ARITHMETIC: dict[str, Callable[..., Value | None]] = {
    **dict.fromkeys(("s_mov_b32", "s_movk_i32", "v_mov_b32", "s_mov_b64", "v_mov_b64", "v_readfirstlane_b32"), _mov),
    **dict.fromkeys(("s_add_u32", "s_add_i32", "s_addk_i32", "v_add_u32", "v_add_nc_u32", "v_add_co_u32"), _add),
    **dict.fromkeys(("s_add_co_u32", "s_add_co_i32"), _add),
    **dict.fromkeys(("s_sub_u32", "s_sub_i32", "v_sub_u32", "v_sub_nc_u32"), _sub),
    **dict.fromkeys(("s_addc_u32", "s_add_co_ci_u32"), _carry),
    **dict.fromkeys(("s_mul_i32", "v_mul_u32_u24", "v_mul_lo_u32"), _mul),
    **dict.fromkeys(("s_and_b32", "v_and_b32"), _and),
    **dict.fromkeys(("s_or_b32", "v_or_b32"), _or),
    "s_lshl_b32": _shl,
    "v_lshlrev_b32": _reversed(_shl),
    "s_lshr_b32": _shr,
    "v_lshrrev_b32": _reversed(_shr),
    "v_bfe_u32": _bfe,
    "v_lshl_add_u32": _then(_shl, _add),
    "v_add_lshl_u32": _then(_add, _shl),
    "v_lshl_or_b32": _then(_shl, _or),
    "v_and_or_b32": _then(_and, _or),
    "v_mad_u32_u24": _then(_mul, _add),
    "v_add3_u32": _then(_add, _add),
}
_PAIRS = frozenset(("s_mov_b64", "v_mov_b64"))
