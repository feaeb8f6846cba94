"""Which order of the instructions of a region has to stay, and how long a result takes."""

from __future__ import annotations

from dataclasses import dataclass, field

from asmevo_gate.analysis.side_effects import is_timing
from asmevo_gate.cost.dependence import accumulates
from asmevo_gate.cost.timing import Step
from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.isa.registers import SCC, indices
from asmevo_gate.rewrite.proposal import Situation

_ALU_WAITS = frozenset(("s_wait_alu", "s_waitcnt_depctr"))
DROPPED = frozenset(("s_nop", "s_delay_alu"))
"""Padding and hints, which depend on the order itself."""


@dataclass
class Dependences:
    """Edges ``before -> {behind: clk}`` between the instructions of a region, by number.

    Every access to the same register is in order where one of both writes it; an instruction that touches what a wait
    brings stays behind the wait. Other timing instructions stay where they are, with everything around them.
    """

    steps: list[Step]
    behind: list[dict[int, float]] = field(default_factory=list)
    before: list[set[int]] = field(default_factory=list)

    def add(self, first: int, second: int, clk: float) -> None:
        """``second`` starts at the earliest ``clk`` after ``first``."""
        self.behind[first][second] = max(clk, self.behind[first].get(second, 0.0))
        self.before[second].add(first)


def dependences(situation: Situation) -> Dependences:
    """The edges of one region."""
    decoded = situation.decoded
    steps = [situation.timing.step(one) for one in decoded]
    found = Dependences(steps, [{} for _ in decoded], [set() for _ in decoded])
    _register_edges(situation, found)
    last_barrier = -1
    waits: list[tuple[int, int]] = []
    for number, one in enumerate(decoded):
        if one.base in _ALU_WAITS:
            continue
        if one.classes & Op.WAIT:
            arriving = _arriving(situation, number)
            for earlier in range(number):
                if (decoded[earlier].reads | decoded[earlier].writes) & arriving:
                    found.add(earlier, number, 0.0)
            if waits:
                found.add(waits[-1][0], number, 0.0)
            waits.append((number, arriving))
        elif is_timing(one) and one.base not in DROPPED:
            for earlier in range(max(last_barrier, 0), number):
                found.add(earlier, number, 0.0)
            last_barrier = number
        else:
            for wait, arriving in waits:
                if (one.reads | one.writes) & arriving:
                    found.add(wait, number, 0.0)
        if 0 <= last_barrier < number:
            found.add(last_barrier, number, 0.0)
    for number, one in enumerate(decoded):
        if one.base in _ALU_WAITS:
            _keep_between(found, number, decoded)
    return found


def _keep_between(found: Dependences, wait: int, decoded: tuple[Decoded, ...]) -> None:
    """A wait for ALU results stays between the dependent instructions that it stands between, and in order with other
    waits."""
    for first in range(wait):
        if decoded[first].classes & Op.WAIT or decoded[first].base in _ALU_WAITS:
            found.add(first, wait, 0.0)
        for second in [behind for behind in found.behind[first] if behind > wait]:
            found.add(first, wait, 0.0)
            found.add(wait, second, 0.0)


def _arriving(situation: Situation, number: int) -> int:
    """Registers that operations in flight before a wait may still write or read."""
    registers = 0
    for pending in situation.facts.pending.before(situation.region.first + number):
        registers |= pending.registers | pending.locked
    return registers


def _register_edges(situation: Situation, found: Dependences) -> None:
    """Read after write, write after read, write after write."""
    decoded = situation.decoded
    writers: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    free = _dead_scc_writes(situation)
    for number, one in enumerate(decoded):
        reads, writes = one.reads, one.writes
        if number in free:
            writes &= ~SCC
        for register in indices(reads):
            if register in writers:
                producer = writers[register]
                found.add(
                    producer, number, _latency(decoded[producer], found.steps[producer], one, found.steps[number])
                )
            readers.setdefault(register, []).append(number)
        for register in indices(writes):
            for reader in readers.pop(register, ()):
                if reader != number:
                    found.add(reader, number, 0.0)
            if register in writers:
                found.add(writers[register], number, 0.0)
            writers[register] = number
    _keep_scc_pairs(situation, found, free)


def _dead_scc_writes(situation: Situation) -> set[int]:
    """Instructions that only write SCC, for nobody: they may change places, if not into a pair that uses SCC."""
    return {
        number
        for number, (one, live) in enumerate(zip(situation.decoded, situation.live_after, strict=True))
        if one.writes & SCC and not one.reads & SCC and not live & SCC
    }


def _keep_scc_pairs(situation: Situation, found: Dependences, free: set[int]) -> None:
    """Where SCC is used at all, its dead writes stay on their side of every access to it."""
    decoded = situation.decoded
    used = [number for number, one in enumerate(decoded) if (one.reads | one.writes) & SCC and number not in free]
    live_through = situation.region.live_out & SCC or any(decoded[number].reads & SCC for number in used[:1])
    if not used and not live_through:
        return
    for number in free:
        for other in used:
            first, second = min(number, other), max(number, other)
            found.add(first, second, 0.0)


def _latency(producer: Decoded, its_step: Step, consumer: Decoded, step: Step) -> float:
    if its_step.name == "matrix" == step.name and accumulates(consumer, producer.writes):
        return its_step.busy
    return its_step.latency
