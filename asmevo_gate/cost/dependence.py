"""Which results an instruction has to wait for, as far as the wait can ever be felt.

In-order issue hides most dependences (on GCN and CDNA a dependent VALU instruction loses nothing), so that only
edges are kept whose latency may exceed the time that has passed anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

from asmevo_gate.cost.timing import SCALAR, Step, Timed, Timing
from asmevo_gate.isa.instruction import Decoded, Role

Edges = tuple[tuple[int, float], ...]
"""Pairs: position of the producer, clk from its start to the start of the consumer."""

_Writer = tuple[int, int, Step, float, int, float]
"""Position, registers written, step, clk of issue before it, vector instructions before it, longest latency."""


_OTHER_THAN_SCALAR = ~SCALAR
_SPARE = 12
"""Writers beyond those still needed that the window may hold before it is cleaned."""


def edges_of(run: Sequence[Timed], timing: Timing, loop: bool) -> tuple[Edges, ...]:
    """For each instruction the edges that can delay it; empty when there are none at all.

    In a loop a producer at or behind the consumer's own position is the one of the iteration before.
    """
    producers = [position for position, one in enumerate(run) if one.latest is not None]
    if not producers:
        return ()
    window = _Window(timing)
    if loop:
        window.enter_end_of(run)
    edges = window.visit(run, 0 if loop else producers[0])
    return tuple(edges) if any(edges) else ()


class _Window:
    """The results that an instruction at the current place could still have to wait for."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._writers: list[_Writer] = []
        self._quick: list[_Writer] = []
        """Vector results of the usual latency, of which only the latest few can matter."""

    def enter_end_of(self, run: Sequence[Timed]) -> None:
        """Stand behind a run, with those of its results in the window that what follows could have to wait for."""
        timing = self._timing
        longest = max(one.latest for one in run if one.latest is not None)
        place, count = 0.0, 0
        for position in range(len(run) - 1, -1, -1):
            one = run[position]
            step = one.step
            place -= step.slot
            if step.kind == 1:
                count -= 1
            if one.latest is not None:
                writer = position, one.decoded.writes, step, place, count, one.latest
                if not self._expired(writer, 0.0, 0):
                    quick = step.kind == 1 and one.latest <= timing.quick_latency
                    (self._quick if quick else self._writers).append(writer)
            if -place >= longest and (not timing.run_ahead or -count - timing.run_ahead >= longest):
                break
        self._writers.reverse()
        self._quick.reverse()

    def visit(self, run: Sequence[Timed], start: int) -> list[Edges]:
        """The edges into each instruction, from ``start`` on. All become producers themselves."""
        quick_latency = self._timing.quick_latency
        near, far = int(quick_latency), int(quick_latency) + self._timing.run_ahead
        result: list[Edges] = [()] * len(run)
        place, count, writers, quick = 0.0, 0, self._writers, self._quick
        written, quickly_written = _union(writers), _union(quick)
        room = len(writers) + _SPARE
        for position, one in enumerate(run[start:] if start else run, start):
            step = one.step
            reads, kind = one.decoded.reads, step.kind
            candidates = None
            if reads & quickly_written:
                recent = quick[-near:] if kind == 1 else quick[-far:]
                candidates = [writer for writer in recent if reads & writer[1]]
            if reads & written:
                older = [writer for writer in writers if reads & writer[1]]
                candidates = candidates + older if candidates else older
            if candidates:
                result[position] = self._edges(candidates, one, place, count)
            latest = one.latest
            if latest is not None:
                writes = one.decoded.writes
                if kind == 1 and latest <= quick_latency:
                    quick.append((position, writes, step, place, count, latest))
                    if len(quick) > 2 * far:
                        del quick[:-far]
                        quickly_written = _union(quick)
                    else:
                        quickly_written |= writes
                else:
                    if len(writers) >= room:
                        writers = [writer for writer in writers if not self._expired(writer, place, count)]
                        written = _union(writers)
                        room = len(writers) + _SPARE
                    writers.append((position, writes, step, place, count, latest))
                    written |= writes
                if kind == 1:
                    count += 1
            place += step.slot
        return result

    def _edges(self, writers: Sequence[_Writer], one: Timed, place: float, count: int) -> Edges:
        """The edges from writers, whose results the instruction reads, without those that time has passed over."""
        found: list[tuple[int, float]] = []
        behind = 0 if one.step.kind == 1 else self._timing.run_ahead
        for position, writes, producer, its_place, its_count, latest in writers:
            # A vector instruction starts late at most until `run_ahead` more have left the wave.
            passed = count - its_count - behind if producer.kind == 1 else place - its_place
            if latest > passed:
                latency = self._latency(producer, writes, one)
                if latency > passed:
                    found.append((position, latency))
        return tuple(found)

    def _expired(self, writer: _Writer, place: float, count: int) -> bool:
        """True when no instruction from a place on can have to wait for the writer."""
        _, _, producer, its_place, its_count, latest = writer
        if producer.kind == 1:
            return count - its_count - self._timing.run_ahead >= latest
        return place - its_place >= latest

    def _latency(self, producer: Step, writes: int, one: Timed) -> float:
        if producer.name == "matrix" == one.step.name and accumulates(one.decoded, writes):
            return producer.busy + self._timing.accumulate_extra
        if not one.decoded.reads & writes & _OTHER_THAN_SCALAR:
            forwarded = self._timing.forwarding.get((producer.pipe, one.step.pipe))
            if forwarded is not None:
                return forwarded
        return producer.latency


def _union(writers: Sequence[_Writer]) -> int:
    """All registers that the window's writers write."""
    written = 0
    for writer in writers:
        written |= writer[1]
    return written


def accumulates(decoded: Decoded, result: int) -> bool:
    """True when a matrix instruction takes ``result`` as its C operand and destination, and nowhere else."""
    operands = decoded.operands
    destination = operands[0]
    if destination.mask != result:
        return False
    if not destination.role & Role.READ and not (len(operands) > 3 and operands[3].mask == result):
        return False
    return not any(operand.mask & result for operand in operands[1:3])
