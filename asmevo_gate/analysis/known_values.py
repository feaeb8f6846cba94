"""Values that registers surely hold: constants, work-item ids, and what the launch put into SGPRs.

A forward data-flow analysis over all paths. A register is known only where every path agrees on one value, so an answer
is never a guess. A vector register is known only while it holds for every lane that may be active: a write under a
narrowed EXEC is forgotten where EXEC widens again. Only registers are followed that something asks for and something
gives a value.
"""

from __future__ import annotations

import msgspec

from asmevo_gate.analysis.definitions import EVERYTHING
from asmevo_gate.analysis.initial_state import initial_state
from asmevo_gate.analysis.known_state import ALL_STARTED, EXEC_LO, Effect, Operands, State, apply, effect
from asmevo_gate.analysis.symbolic_values import PACKED_IDS, Value
from asmevo_gate.analysis.vgpr_msb import MNEMONIC as RENAMES
from asmevo_gate.isa.instruction import VMEM, Decoded, Op
from asmevo_gate.isa.registers import EXEC, SGPR, VECTOR, VGPR
from asmevo_gate.program.model import Block, Function

_POINTERS = {
    "dispatch packet address": 2, "queue address": 2, "kernarg segment address": 2, "flat scratch initialiser": 2,
    "dispatch id": 2, "private segment buffer": 4,
}  # fmt: skip
"""Initial values of more than one SGPR, with their number."""

KnownOperands = dict[int, Operands]
"""Instruction index -> what is known of its operands, in program order."""


def known_operands(function: Function) -> KnownOperands:
    """What is known of the operands of memory and lane accesses and of scalar and index arithmetic, by instruction."""
    if not function.blocks or not function.is_kernel:
        return {}
    found: KnownOperands = {}
    for in_block in _solve(function, _flow(function)):
        found.update(in_block)
    return found


_WATCHED = VMEM | Op.SMEM | Op.DS
_WATCHED_BASES = frozenset(
    (
        "v_readlane_b32", "v_writelane_b32", "v_bfe_u32", "v_lshrrev_b32", "v_lshlrev_b32", "v_lshl_add_u32",
        "v_lshl_or_b32", "v_mul_u32_u24", "v_mul_lo_u32", "v_mad_u32_u24", "s_lshl_b32", "s_mul_i32", "s_mul_hi_u32",
    )
)  # fmt: skip


def _answer(decoded: Decoded, state: State) -> Operands | None:
    """What is known of the operands; ``None`` when nothing is."""
    operands = tuple([state.values_of(operand) for operand in decoded.operands])
    if state.masked:
        operands = tuple(tuple(map(_without_lanes, values)) for values in operands)
    for values in operands:
        for value in values:
            if value is not None:
                return operands
    return None


def _without_lanes(value: Value | None) -> Value | None:
    """A value under a mask: which work-items are left is not known."""
    return None if value is not None and value.origin in ("x", "y", "z") else value


class _Text(msgspec.Struct, frozen=True, gc=False):
    """One instruction text of the function: whether its operands are asked for, what it does besides overwriting
    registers, and which those are."""

    asked: Decoded | None
    effect: Effect | None
    overwrites: int


class _Flow(msgspec.Struct, frozen=True, gc=False):
    """The data-flow problem. ``tracked`` are the registers whose values may be known and are asked for; ``steps`` has,
    for each block, what instructions do with them, each with the index of its instruction."""

    tracked: int
    steps: list[list[tuple[int, _Text]]]
    entry: State


def _flow(function: Function) -> _Flow:
    entry = _initial(function)
    asked, given, renames = 0, entry.known, False
    texts: list[tuple[_Text, list[int]]] = []
    for written, decoded, indices in function.spellings:
        text = _text(decoded)
        texts.append((text, indices))
        if text.asked is not None:
            asked |= text.asked.reads | text.asked.writes
        if text.effect is not None:
            asked |= text.effect.decoded.reads
            given |= text.overwrites
        renames = renames or written.startswith(RENAMES)
    tracked = asked & given | EXEC
    if renames:
        tracked &= ~VECTOR
    entry.forget(~tracked)
    at: list[_Text | None] = [None] * len(function.instructions)
    for text, indices in texts:
        if text.asked is not None or text.overwrites & tracked:
            for index in indices:
                at[index] = text
    return _Flow(tracked, [_steps(at, block, tracked) for block in function.blocks], entry)


def _steps(at: list[_Text | None], block: Block, tracked: int) -> list[tuple[int, _Text]]:
    """The instructions of a block that have to do with tracked registers; those that only overwrite some are one step
    with their neighbours."""
    steps: list[tuple[int, _Text]] = []
    overwritten = 0
    for index in range(block.first, block.end):
        text = at[index]
        if text is None:
            continue
        if text.asked is None and text.effect is None:
            overwritten |= text.overwrites
            continue
        if overwritten:
            steps.append((index, _Text(None, None, overwritten & tracked)))
            overwritten = 0
        steps.append((index, text))
    if overwritten:
        steps.append((block.end, _Text(None, None, overwritten & tracked)))
    return steps


def _text(decoded: Decoded | None) -> _Text:
    if decoded is None:
        return _Text(None, None, EVERYTHING)
    asked = decoded if decoded.classes & _WATCHED or decoded.base in _WATCHED_BASES else None
    if decoded.is_call or (decoded.has_indexed and decoded.writes):
        return _Text(asked, None, EVERYTHING)
    return _Text(asked, effect(decoded), decoded.writes)


def _through(steps: list[tuple[int, _Text]], state: State, tracked: int) -> KnownOperands:
    """Make the state at the start of a block that at its end; what is asked for on the way."""
    found: KnownOperands = {}
    for index, text in steps:
        if text.asked is not None:
            operands = _answer(text.asked, state)
            if operands is not None:
                found[index] = operands
        _pass(text, state, tracked)
    return found


def _pass(text: _Text, state: State, tracked: int) -> None:
    if text.effect is None:
        state.forget(text.overwrites)
    else:
        apply(text.effect, state, tracked)


def _solve(function: Function, flow: _Flow) -> list[KnownOperands]:
    """What is asked for in each block. The states at the starts of the blocks only lose entries, so this ends; what the
    last way through a block finds rests on all that enters it."""
    found: list[KnownOperands] = [{} for _ in function.blocks]
    entering: list[State | None] = [None] * len(function.blocks)
    entering[0] = flow.entry
    pending = [0]
    waiting = {0}
    while pending:
        block = function.blocks[pending.pop()]
        waiting.discard(block.number)
        state = entering[block.number]
        assert state is not None
        state = state.copy()
        found[block.number] = _through(flow.steps[block.number], state, flow.tracked)
        for successor in block.successors:
            old = entering[successor]
            if old is None:
                entering[successor] = state.copy()
            elif not old.meet(state):
                continue
            if successor not in waiting:
                waiting.add(successor)
                pending.append(successor)
    return found


def _initial(function: Function) -> State:
    state = State()
    state.learn(EXEC_LO, ALL_STARTED)
    if function.descriptor is None:
        return state
    for register, name in initial_state(function).names.items():
        if SGPR.start <= register < SGPR.start + SGPR.count:
            for part in range(_POINTERS.get(name, 1)):
                state.learn(register + part, Value(name, part=part))
        elif register < VGPR.count:
            axis = PACKED_IDS if function.target.facts["packed_tid"] else name[-1]
            state.learn(register, Value(axis))
    return state
