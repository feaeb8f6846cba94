"""Mutants against the prover: what it accepts must not differ when it is executed.

The execution that judges runs the semantics as they are written (no normal form, no stripping by rules of the
prover's terms) on random and edge-case wavefronts.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from asmevo_gate.isa.decoder import isa_for
from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.isa.registers import EXEC, MODE, indices, register_name
from asmevo_gate.proof.equivalence import ProofOptions, Prover
from asmevo_gate.proof.evaluate import Evaluation, Wavefronts
from asmevo_gate.proof.state import PlainState, State
from asmevo_gate.proof.step import OutOfScope, step_of
from asmevo_gate.proof.terms import Terms
from tests.proof.mutants import Mutant, mutate
from tests.proof.region_sources import Slice

FORGET_AFTER = 100


@dataclass
class Tally:
    """Counts over mutants; ``unsound`` describes accepted ones that execution tells apart, ``kinds`` counts mutants by
    kind and answer."""

    mutants: int = 0
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    unsound: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Sum up."""
        self.mutants += other.mutants
        self.kinds.update(other.kinds)
        self.answers.update(other.answers)
        self.unsound += other.unsound


class _Replay:
    """The states of a region, and of mutants of it: an instruction that sees what it saw before does what it did."""

    def __init__(self, region: Slice, state: State) -> None:
        self._region = region
        self.states = _prefixes(region, state)
        self._places = {id(decoded): place for place, decoded in enumerate(region.code)}
        self._touched = [one.reads | one.writes | one.implicit_reads | EXEC | MODE for one in region.code]
        self._written = [tuple(indices(decoded.writes)) for decoded in region.code]

    def run(self, mutant: Mutant) -> tuple[State, int]:
        """The state after a mutant, and the registers that may differ from the region's."""
        state = self.states[mutant.first].copy()
        at, other = mutant.first, 0
        for decoded in mutant.code:
            place = self._places.get(id(decoded))
            if place is None:
                step_of(decoded, self._region.target, self._region.wave_size)(state)
                place = at
            else:
                if place != at:
                    other = self._different(state, place)
                if not self._touched[place] & other:
                    self._copy(state, place)
                    at = place + 1
                    continue
                step_of(decoded, self._region.target, self._region.wave_size)(state)
            at = place + 1
            other = self._different(state, at)
        if at != len(self._region.code):
            other = self._different(state, len(self._region.code))
        return state, other

    def _different(self, state: State, place: int) -> int:
        values, expected = state.values, self.states[place].values
        found = 0
        for register in values.keys() | expected.keys():
            if values.get(register) is not expected.get(register):
                found |= 1 << register
        return found

    def _copy(self, state: State, place: int) -> None:
        after = self.states[place + 1].values
        for register in self._written[place]:
            if EXEC >> register & 1:
                state.write_scalar(register, after[register])
            elif register in after:
                state.values[register] = after[register]


class _Execution:
    """The region and its mutants as written, on wavefronts that the prover has not seen."""

    def __init__(self, region: Slice, seed: int, waves: int) -> None:
        self._region = region
        self._terms = Terms()
        self._evaluation = Evaluation(Wavefronts(waves, region.wave_size, seed))
        self._replay = _Replay(region, PlainState(self._terms, region.wave_size))
        self._base = len(self._terms)

    def difference(self, mutant: Mutant) -> str:
        """A register that gets another value in some lane; ``""`` when none does."""
        old = self._replay.states[-1]
        new, different = self._replay.run(mutant)
        for register in indices(self._region.live_out & different):
            one, two = old.whole(register), new.whole(register)
            if one is two:
                continue
            if (self._evaluation.value(one) != self._evaluation.value(two)).any():
                return register_name(register)
        return ""

    def forget(self) -> None:
        """Drop the values of what only mutants needed."""
        self._evaluation.forget(self._base)


def _prefixes(region: Slice, state: State) -> list[State]:
    """The states before each instruction, and after the last."""
    states = [state.copy()]
    for decoded in region.code:
        step_of(decoded, region.target, region.wave_size)(state)
        states.append(state.copy())
    return states


def judge(
    region: Slice, count: int, seed: int, milliseconds: int = 50, check: Callable[[Mutant], str] | None = None
) -> Tally:
    """The answers for ``count`` mutants of a region. ``check`` is a further judge of what was accepted."""
    rng = random.Random(seed)
    tally = Tally()
    isa = isa_for(region.target, region.wave_size)
    prover = Prover(region.target, region.wave_size, ProofOptions(solver_milliseconds=milliseconds, waves=5))
    try:
        replay = _Replay(region, prover.start())
    except OutOfScope:
        return tally
    base = len(prover.terms)
    execution = _Execution(region, seed + 1, waves=10)
    misses = 0
    while tally.mutants < count and misses < 20 * count:
        mutant = mutate(region.code, isa, rng)
        if mutant is None:
            misses += 1
            continue
        tally.mutants += 1
        answer = _answer(prover, replay, mutant, region.live_out)
        tally.kinds[mutant.kind, answer] += 1
        tally.answers[answer] += 1
        if answer == "accepted":
            different = execution.difference(mutant) or (check(mutant) if check is not None else "")
            if different:
                tally.unsound.append(_report(region, mutant, different))
        if tally.mutants % FORGET_AFTER == 0:
            execution.forget()
            for evaluation in prover.evaluations():
                evaluation.forget(base)
    return tally


def _answer(prover: Prover, replay: _Replay, mutant: Mutant, live_out: int) -> str:
    try:
        state, different = replay.run(mutant)
    except OutOfScope:
        return "out of scope"
    return "accepted" if prover.accepts(replay.states[-1], state, live_out & different) else "rejected"


def _report(region: Slice, mutant: Mutant, register: str) -> str:
    def lines(code: tuple[Decoded, ...]) -> str:
        return "\n".join(f"    {decoded.text}" for decoded in code)

    return (
        f"{region.gpu} {region.name}: {mutant.kind}, {register} differs\n  region\n{lines(region.code)}\n"
        f"  from instruction {mutant.first} on\n{lines(mutant.code)}"
    )
