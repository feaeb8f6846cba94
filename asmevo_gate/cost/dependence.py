"""Which results an instruction has to wait for, as far as the wait can ever be felt.

In-order issue hides most dependences (on GCN and CDNA a dependent VALU instruction loses nothing), so that only
edges are kept whose latency may exceed the time that has passed anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

from asmevo_gate.cost.timing import SCALAR, Kind, Step, Timed, Timing
from asmevo_gate.isa.instruction import Decoded, Role

Edges = tuple[tuple[int, float], ...]
"""Pairs: position of the producer, clk from its start to the start of the consumer."""

_Writer = tuple[int, int, Step, float, int, float]
"""Position, registers written, step, clk of issue before it, vector instructions before it, longest latency."""


_SPARE = 12
"""Writers beyond those still needed that the window may hold before it is cleaned."""


def edges_of(run: Sequence[Timed], timing: Timing, loop: bool) -> tuple[Edges, ...]:
    """For each instruction the edges that can delay it; empty when there are none at all.

    In a loop a producer at or behind the consumer's own position is the one of the iteration before.
    """
    for one in run:
        if one.latest is not None:
            break
    else:
        return ()
    window = _Window(timing)
    if loop:
        tail = max(0, len(run) - window.reach(run))
        window.visit(run[tail:], tail)
    edges = window.visit(run, 0)
    return tuple(edges) if any(edges) else ()


class _Window:
    """The results that an instruction at the current place could still have to wait for."""

    def __init__(self, timing: Timing) -> None:
        rules = timing.fingerprint.matrix_rules
        self._forwarding = timing.forwarding
        self._accumulate_extra = rules["accumulate_extra"].get(0.0) if rules else 0.0
        self._run_ahead = timing.run_ahead
        self._longest_forward = timing.longest_forward
        self._writers: list[_Writer] = []
        self._quick: list[_Writer] = []
        """Vector results of the usual latency, of which only the latest few can matter."""
        self._quick_latency = timing.fingerprint.rows["valu"].latency.number if timing.run_ahead else 0.0
        self._place = 0.0
        self._count = 0

    def reach(self, run: Sequence[Timed]) -> int:
        """How many instructions at the end of a loop body can matter to its start."""
        longest = max((one.step.latency for one in run), default=0.0)
        return int(4 * (max(longest, self._longest_forward) + self._run_ahead)) + 8

    def visit(self, run: Sequence[Timed], first: int) -> list[Edges]:
        """The edges into each instruction; the first stands at ``first``. All become producers themselves."""
        quick_latency = self._quick_latency
        near, far = int(quick_latency), int(quick_latency) + self._run_ahead
        result: list[Edges] = [()] * len(run)
        place, count, writers, quick = self._place, self._count, self._writers, self._quick
        written, quickly_written = _union(writers), _union(quick)
        room = len(writers) + _SPARE
        for position, one in enumerate(run, first):
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
                result[position - first] = self._edges(candidates, one.decoded, step, place, count)
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
                        self._place, self._count = place, count
                        writers = [writer for writer in writers if not self._expired(writer)]
                        written = _union(writers)
                        room = len(writers) + _SPARE
                    writers.append((position, writes, step, place, count, latest))
                    written |= writes
                if kind == 1:
                    count += 1
            place += step.slot
        self._place, self._count, self._writers = place, count, writers
        return result

    def _edges(self, writers: Sequence[_Writer], decoded: Decoded, step: Step, place: float, count: int) -> Edges:
        """The edges from writers whose results the instruction reads, without those that time has passed over."""
        found: list[tuple[int, float]] = []
        behind = 0 if step.kind == 1 else self._run_ahead
        for position, writes, producer, its_place, its_count, latest in writers:
            # A vector instruction starts late at most until `run_ahead` more have left the wave.
            passed = count - its_count - behind if producer.kind == 1 else place - its_place
            if latest > passed:
                latency = self._latency(producer, writes, step, decoded, decoded.reads & writes)
                if latency > passed:
                    found.append((position, latency))
        return tuple(found)

    def _expired(self, writer: _Writer) -> bool:
        _, _, producer, place, count, latest = writer
        if producer.kind == Kind.RUN_AHEAD:
            return self._count - count - self._run_ahead >= latest
        return self._place - place >= latest

    def _latency(self, producer: Step, writes: int, step: Step, decoded: Decoded, common: int) -> float:
        if producer.name == "matrix" == step.name and accumulates(decoded, writes):
            return producer.busy + self._accumulate_extra
        if not common & ~SCALAR:
            forwarded = self._forwarding.get((producer.pipe, step.pipe))
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
