"""Instructions made ready for the simulation: what depends on a text is asked once a text, what depends on the steps
and their waits once a sequence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from asmevo_gate.cost.dependence import edges_of
from asmevo_gate.cost.sequence import StepSequence
from asmevo_gate.cost.timing import Timed, Timing
from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.program.model import Instruction

_MAX_REMEMBERED = 1_000_000
"""Instructions in the runs that a :class:`~asmevo_gate.cost.timing.Timing` remembers at most."""


class Body(msgspec.Struct, frozen=True):
    """Instructions made ready for the simulation: those that have a meaning, with their positions in the function and
    the sequence that they make. ``not_modelled`` are texts that cost nothing here, or nothing that anyone published."""

    timed: Sequence[Timed]
    indices: Sequence[int]
    sequence: StepSequence
    not_modelled: tuple[str, ...] = ()


def body_of(instructions: Iterable[Instruction | Decoded], timing: Timing, loop: bool) -> Body:
    """A run of instructions made ready; ``loop``: its end goes on with its start."""
    timed: list[Timed] = []
    indices: list[int] = []
    unknown: dict[str, None] = {}
    for index, item in enumerate(instructions):
        if isinstance(item, Decoded):
            timed.append(timing.timed(item))
            indices.append(index)
        elif item.decoded is not None:
            timed.append(timing.timed(item.decoded))
            indices.append(item.index)
        else:
            unknown[item.unknown.text if item.unknown else ""] = None
    return timed_body(timed, indices, timing, loop, tuple(unknown))


def timed_body(
    timed: Sequence[Timed], indices: Sequence[int], timing: Timing, loop: bool, unknown: tuple[str, ...] = ()
) -> Body:
    """The same for instructions whose steps are known; ``unknown`` are texts between them that have no meaning."""
    sequence = sequence_of(timed, timing, loop)
    if not sequence.timed:
        unknown += tuple(dict.fromkeys(one.decoded.text for one in timed if not one.step.timed))
    return Body(timed, indices, sequence, unknown)


def sequence_of(timed: Sequence[Timed], timing: Timing, loop: bool, taken: tuple[int, ...] = ()) -> StepSequence:
    """The sequence that instructions make; see :class:`~asmevo_gate.cost.sequence.StepSequence` for ``taken``.

    Remembered by the texts, and by the steps with their waits: unrolled code repeats both.
    """
    remembered = timing.sequences
    texts = (loop, taken, tuple(timed))
    known = remembered.get(texts)
    if known is None:
        steps = [one.step for one in timed]
        edges = edges_of(timed, timing, loop)
        waits = (loop, taken, tuple(map(id, steps)), edges)
        known = remembered.get(waits)
        if known is None:
            known = remembered[waits] = StepSequence(steps, edges, timing, loop, taken)
        if timing.remembered > _MAX_REMEMBERED:
            remembered.clear()
            timing.remembered = 0
        timing.remembered += len(steps)
        remembered[texts] = known
    return known
