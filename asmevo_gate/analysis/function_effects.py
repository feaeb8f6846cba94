"""What the instructions of one function do to the memory counters, and which of them matter for what is in flight."""

from __future__ import annotations

from typing import NamedTuple

from asmevo_gate.analysis.counters import NO_EFFECT, CounterModel, Effect
from asmevo_gate.analysis.vgpr_msb import renamed_instructions
from asmevo_gate.isa.registers import VGPRS
from asmevo_gate.program.model import Function


class FunctionEffects(NamedTuple):
    """The effect of each instruction; ``moves`` are the instructions, in program order, that may change what is in
    flight or touch a register that some event of the function holds or locks."""

    effects: list[Effect]
    moves: list[int]


def function_effects(function: Function, model: CounterModel) -> FunctionEffects:
    """The effects of a function: those of its texts, and what depends on the instructions around."""
    effects = [NO_EFFECT] * len(function.instructions)
    texts = [(model.effect(function.instructions[one.indices[0]]), one.indices) for one in function.spellings]
    for effect, indices in texts:
        for index in indices:
            effects[index] = effect
    for index in renamed_instructions(function):
        effects[index] = _without_vgprs(effects[index])
    _add_skipped_waits(function, model, effects)
    _follow_calls(function, effects)
    return FunctionEffects(effects, _moves(texts))


def _moves(texts: list[tuple[Effect, list[int]]]) -> list[int]:
    holds = locks = 0
    for effect, _ in texts:
        for event in effect.events:
            holds |= event.holds
            locks |= event.locks
    found: list[int] = []
    for effect, indices in texts:
        if effect.active or effect.touches & holds or effect.writes & locks:
            found += indices
    found.sort()
    return found


def _without_vgprs(effect: Effect) -> Effect:
    """An effect whose vector registers are not the ones written."""
    touches = effect.touches & ~VGPRS
    held = any((event.holds | event.locks) & VGPRS for event in effect.events)
    if touches == effect.touches and not held:
        return effect
    return effect._replace(
        reads=effect.reads & ~VGPRS,
        writes=effect.writes & ~VGPRS,
        touches=touches,
        events=tuple(event._replace(holds=event.holds & ~VGPRS, locks=event.locks & ~VGPRS) for event in effect.events),
        not_modelled="s_set_vgpr_msb may give its VGPRs other numbers than the ones written",
    )


def _add_skipped_waits(function: Function, model: CounterModel, effects: list[Effect]) -> None:
    """Add the waits that the compiler leaves out and yet relies on; see ``vmem_result_over_address``."""
    track = model.skipped_track
    if track is None:
        return
    for block in function.blocks:
        issued: list[tuple[int, int]] = []
        for index in range(block.first, block.end):
            effect = effects[index]
            event = next((one for one in effect.events if one.track == track), None)
            if event is None:
                continue
            order = event.order
            same = [locks for one, locks in issued if one == order]
            for later, locks in enumerate(reversed(same)):
                if locks & effect.writes:
                    effects[index] = effect._replace(waits=(*effect.waits, (track, later)))
                    break
            issued.append((order, event.locks))
            del issued[: -model.capacity[track]]


def _follow_calls(function: Function, effects: list[Effect]) -> None:
    """Take from the calls of subroutines that nothing is known behind them: these are followed."""
    for block in function.blocks:
        if block.entries:
            call = effects[block.end - 1]
            effects[block.end - 1] = call._replace(active=bool(call.waits or call.events), unknown="", special=False)
