"""Running two versions of a block on random wavefronts: the check that stands beside every proof.

With llvmlite the blocks are compiled and run on thousands of wavefronts; without it numpy evaluates fewer of them.
Both run the semantics as they are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from asmevo_gate.isa.registers import indices, register_name
from asmevo_gate.isa.targets import Target
from asmevo_gate.proof import lift
from asmevo_gate.proof.equivalence import Code, meaning_of
from asmevo_gate.proof.state import PlainState
from asmevo_gate.proof.step import step_of
from asmevo_gate.proof.terms import Term, Terms

if TYPE_CHECKING:
    from asmevo_gate.proof.evaluate import Wavefronts


@dataclass(frozen=True)
class Execution:
    """``different``: the first register found that differs, ``""`` when none does. ``engine`` is ``llvm`` or
    ``numpy``."""

    different: str
    lane: int | None
    waves: int
    engine: str


def run_both(
    old: Code,
    new: Code,
    live_out: int,
    *,
    target: Target,
    wave_size: int,
    waves: int = 1000,
    seed: int = 7,
    lane_active: bool = False,
) -> Execution:
    """Run both versions on the same random and edge-case wavefronts and compare the live registers.

    Raises:
        OutOfScope: an instruction cannot be executed.
        ImportError: numpy is not installed.
    """
    terms = Terms()
    states = [_execute(code, terms, target, wave_size) for code in (old, new)]
    registers = [register for register in indices(live_out) if any(register in state.values for state in states)]
    pairs = [(states[0].whole(register), states[1].whole(register)) for register in registers]
    names = [register_name(register) for register in registers]
    if not pairs:
        return Execution("", None, 0, "none")
    from asmevo_gate.proof.evaluate import Wavefronts

    compiled = lift.available()
    wavefronts = Wavefronts(waves if compiled else min(waves, 16), wave_size, seed, lane_active=lane_active)
    return _compiled(pairs, names, wavefronts) if compiled else _evaluated(pairs, names, wavefronts)


def _execute(code: Code, terms: Terms, target: Target, wave_size: int) -> PlainState:
    state = PlainState(terms, wave_size)
    for item in code:
        step_of(meaning_of(item), target, wave_size)(state)
    return state


def _compiled(pairs: Sequence[tuple[Term, Term]], names: list[str], wavefronts: Wavefronts) -> Execution:
    import numpy as np

    waves = wavefronts.waves
    block = lift.LiftedBlock([term for pair in pairs for term in pair], wavefronts.lanes)
    values = block.run(lambda register: wavefronts.value(register, 32), waves)
    different = np.argwhere(values[:, 0::2] != values[:, 1::2])
    if not len(different):
        return Execution("", None, waves, "llvm")
    _, place, lane = different[0]
    return Execution(names[int(place)], int(lane), waves, "llvm")


def _evaluated(pairs: Sequence[tuple[Term, Term]], names: list[str], wavefronts: Wavefronts) -> Execution:
    import numpy as np

    from asmevo_gate.proof.evaluate import Evaluation

    evaluation, waves = Evaluation(wavefronts), wavefronts.waves
    for (old, new), name in zip(pairs, names, strict=True):
        different = np.argwhere(evaluation.value(old) != evaluation.value(new))
        if len(different):
            return Execution(name, int(different[0][1]), waves, "numpy")
    return Execution("", None, waves, "numpy")
