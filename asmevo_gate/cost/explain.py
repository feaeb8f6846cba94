"""Why a run of instructions takes as long as it does: a time line of one wave, and the limit in words."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from asmevo_gate.cost.body import Body
from asmevo_gate.cost.interval import high_of, low_of
from asmevo_gate.cost.load import Shared
from asmevo_gate.cost.pipeline import Event, Wave
from asmevo_gate.cost.sequence import StepSequence
from asmevo_gate.cost.timing import Kind, Step, Timing

_SAME = 1e-6
PIPE_WORDS = {
    "valu": "VALU",
    "complex": "transcendental, FP64 and multiply unit",
    "matrix": "matrix core",
    "salu": "scalar ALU",
    "lds": "LDS port",
    "smem": "scalar memory path",
    "vmem": "vector memory path",
    "branch": "branch unit",
    "internal": "issue of waits and nops",
}


class TimelineEntry(msgspec.Struct, frozen=True):
    """One instruction on the time line of a single wave, with memory at its best.

    The wave had arrived at ``arrived``, the instruction started at ``start``; ``end`` is when the wave could go on.
    ``waits_for`` says in words what delayed it, ``""`` when nothing did.
    """

    index: int
    text: str
    unit: str
    arrived: float
    start: float
    end: float
    waits_for: str
    waited: float = 0.0
    """For how long the wave itself stood still: less than ``start - arrived`` where the instruction left the wave and
    waited in the vector pipe."""


def _events(sequence: StepSequence) -> list[Event]:
    """One pass of one wave; of a loop one that follows on others."""
    wave = Wave(sequence.timing, len(sequence.steps))
    operations = sequence.operations
    if sequence.loop:
        wave.run(operations)
        wave.run(operations)
    return wave.trace(operations)


def time_line(body: Body) -> Iterator[TimelineEntry]:
    """The instructions of one pass of one wave in time."""
    events = _events(body.sequence)
    first = events[0].arrived if events else 0.0
    for event, one in zip(events, body.timed, strict=True):
        yield TimelineEntry(
            body.indices[event.position], one.decoded.text, one.step.name, event.arrived - first,
            event.start - first, event.end - first, _cause(event, body), _stood_still(event, one.step),
        )  # fmt: skip


def _cause(event: Event, body: Body) -> str:
    timing = body.sequence.timing
    if event.cause == "result":
        return f"the result of '{body.timed[event.producer].decoded.text}'"
    if event.cause == "pipe":
        return f"the {PIPE_WORDS.get(timing.pipe_names[event.detail], 'pipe')}"
    if event.cause == "queue":
        return "room in the vector queue"
    if event.cause == "memory":
        return f"memory ({timing.counter_names[event.detail]})"
    if event.cause == "full":
        return f"room in {timing.counter_names[event.detail]}"
    return ""


def limited_by(sequence: StepSequence, shared: Shared, waves: int) -> str:
    """What decides the cycles of a sequence, in words."""
    if not sequence.steps:
        return "nothing: no instruction"
    worst = worst_case(shared)
    best = throughput_words(shared, sequence.timing, waves) or _own_words(sequence)
    return f"{worst} at worst; {best} at best" if worst else best


def _own_words(sequence: StepSequence) -> str:
    """What one wave spends most of its time on."""
    words, share = max(_shares(sequence).items(), key=lambda item: item[1])
    return f"{words} ({share:.0%} of one wave's time)"


def _shares(sequence: StepSequence) -> dict[str, float]:
    """What one wave spends its time on, as shares of the whole."""
    spent: dict[str, float] = {}
    for event, step in zip(_events(sequence), sequence.steps, strict=True):
        stalled = _stood_still(event, step)
        if stalled > 0:
            cause = _stall(event, sequence)
            spent[cause] = spent.get(cause, 0.0) + stalled
        issue = _HOLDS.get(step.name, "issue, one instruction at a time")
        spent[issue] = spent.get(issue, 0.0) + (event.end - event.arrived - stalled)
    total = sum(spent.values()) or 1.0
    return {words: clk / total for words, clk in spent.items()}


def _stall(event: Event, sequence: StepSequence) -> str:
    names = sequence.timing.pipe_names
    if event.cause == "result":
        pipe = names[sequence.steps[event.producer].pipe]
        return f"waiting for results of the {PIPE_WORDS.get(pipe, pipe)}"
    if event.cause == "pipe":
        return f"throughput of the {PIPE_WORDS.get(names[event.detail], names[event.detail])}"
    if event.cause == "queue":
        return f"waiting for results of the {PIPE_WORDS['valu']}"
    return f"waiting for memory ({sequence.timing.counter_names[event.detail]})"


def _stood_still(event: Event, step: Step) -> float:
    """For how long the wave could not go on because of what held the instruction."""
    stalled = event.start - event.arrived
    if step.kind == Kind.RUN_AHEAD:
        stalled = min(stalled, event.end - event.arrived - step.slot)
    return max(0.0, stalled)


_HOLDS = {
    "s_nop": "s_nop",
    "s_sleep": "s_sleep",
    "branch": "taken branches",
    "barrier": "barriers",
}


def worst_case(shared: Shared) -> str:
    """What decides the upper end; ``""`` when memory changes nothing."""
    if high_of(shared.cycles) <= low_of(shared.cycles):
        return ""
    if shared.memory_bound >= high_of(shared.cycles) * (1 - _SAME):
        return "memory bandwidth"
    return "memory latency"


def throughput_words(shared: Shared, timing: Timing, waves: int) -> str:
    """The pipe that the waves keep all the time at the lower end; ``""`` when none is."""
    if shared.pipe < 0 or shared.pipe_bound < low_of(shared.cycles) * (1 - _SAME):
        return ""
    name = timing.pipe_names[shared.pipe]
    return f"throughput of the {PIPE_WORDS.get(name, name)}" + (f" ({waves} waves share it)" if waves > 1 else "")
