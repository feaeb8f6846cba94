"""Proposer: another order of the instructions of a region, found by list scheduling over the cost model.

Padding (s_nop) is taken out first and put back only where the constraint graph asks for a distance that no other
instruction fills; s_delay_alu hints are written anew for the new order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from asmevo_gate.constraints.violation import HazardViolation
from asmevo_gate.cost.timing import Kind
from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.isa.registers import VGPRS, indices
from asmevo_gate.program.model import Function
from asmevo_gate.rewrite.dependences import DROPPED, Dependences, dependences
from asmevo_gate.rewrite.edit_script import Delete, Edit, EditScript, Move, Replace
from asmevo_gate.rewrite.gain import Worth, live_peak, no_gain, surroundings, worth
from asmevo_gate.rewrite.proposal import Proposal, Situation

MOST_INSTRUCTIONS = 1500
_REPAIRS = 8
"""How often an order is made again with the distances that the constraint graph found missing."""
_MEMORY = 1e6
"""Clk after which a wait is taken to be over: everything that need not stay behind it goes before it."""
_LONGEST_NOP = 8


class Scheduler:
    """Orders that hide latencies, and padding that the constraints do not need."""

    name = "schedule"

    def propose(self, situation: Situation) -> Iterator[Proposal]:
        """Orders by latency, first under the register use of the code as it is; and the old order with less padding."""
        if not 2 <= len(situation.decoded) <= MOST_INSTRUCTIONS:
            return
        region = situation.region
        around, waves = surroundings(region), situation.facts.waves

        def worth_of(code: Sequence[Decoded]) -> Worth:
            return worth(code, around, situation.timing, waves, region.live_out)

        graph = dependences(situation)
        old = worth_of(situation.decoded)
        peak = live_peak(situation.decoded, situation.region.live_out)
        for style in (_Style(True, peak), _Style(True, 1 << 20), _Style(False, 1 << 20)):
            if not style.reorder and not _padded(situation):
                continue
            script = _repaired(situation, graph, style, lambda code: not no_gain(old, worth_of(code)))
            if script:
                yield Proposal(script, self.name, _title(situation, script))


@dataclass(frozen=True)
class _Style:
    reorder: bool
    most_live: int


@dataclass
class _Distances:
    """Wait states that the constraint graph asks for: between two instructions of the region, from the start of the
    region to one (``from_start``), and from one to the end (``to_end``)."""

    between: dict[tuple[int, int], int] = field(default_factory=dict)
    from_start: dict[int, int] = field(default_factory=dict)
    to_end: dict[int, int] = field(default_factory=dict)

    def size(self) -> int:
        """Grows with every distance that is added."""
        found = (*self.between.values(), *self.from_start.values(), *self.to_end.values())
        return sum(found)


def _padded(situation: Situation) -> bool:
    return any(one.base == "s_nop" for one in situation.decoded)


def _repaired(
    situation: Situation, graph: Dependences, style: _Style, pays: Callable[[Sequence[Decoded]], bool]
) -> EditScript:
    """A script that pays and brings no new hazard, or none."""
    distances = _Distances()
    known = Counter(map(_key, situation.facts.known_hazards))
    for _ in range(_REPAIRS):
        rows = _order(situation, graph, style, distances)
        if rows is None:
            return ()
        script = _script(situation, rows)
        code = [_meaning(situation, row) for row in rows]
        if not script or not pays([one for one in code if one is not None]):
            return ()
        function = situation.trial(script)
        new = []
        for violation in situation.facts.hazards(function):
            if known[_key(violation)] > 0:
                known[_key(violation)] -= 1
            else:
                new.append(violation)
        if not new:
            return script
        size = distances.size()
        for violation in new:
            _add(distances, violation, situation, rows, function)
        if distances.size() == size:
            return ()
        known = Counter(map(_key, situation.facts.known_hazards))
    return ()


def _meaning(situation: Situation, row: _Row) -> Decoded | None:
    meaning = situation.isa.decode(row.text) if row.text else situation.decoded[row.number]
    return meaning if isinstance(meaning, Decoded) else None


def _key(violation: HazardViolation) -> tuple[str, str, str]:
    producer = violation.producer.statement.text if violation.producer is not None else ""
    return violation.edge_id, producer, violation.consumer.statement.text


@dataclass(frozen=True)
class _Row:
    """A line of the result: the number of an instruction, with ``text`` where it changes."""

    number: int
    text: str = ""


def _add(
    distances: _Distances, violation: HazardViolation, situation: Situation, rows: Sequence[_Row], function: Function
) -> None:
    """Note the wait states that a violation asks for."""
    first = situation.region.first
    place = {first + at: row.number for at, row in enumerate(rows)}
    end = first + len(rows)
    needed = violation.needed
    if violation.edge.unit != "wait_states" or needed is None or needed > 64 or violation.producer is None:
        return
    producer, consumer = violation.producer.index, violation.consumer.index
    a, b = place.get(producer), place.get(consumer)
    if a is not None and b is not None and producer < consumer:
        distances.between[a, b] = max(needed, distances.between.get((a, b), 0))
    elif b is not None and producer < first:
        outside = _wait_states(function, producer + 1, first)
        distances.from_start[b] = max(needed - outside, distances.from_start.get(b, 0))
    elif a is not None and consumer >= end:
        outside = _wait_states(function, end, consumer)
        distances.to_end[a] = max(needed - outside, distances.to_end.get(a, 0))


def _wait_states(function: Function, start: int, end: int) -> int:
    return sum(_states(one.decoded) for one in function.instructions[start:end] if one.decoded is not None)


def _states(decoded: Decoded) -> int:
    """Wait states that an instruction counts for (``s_nop N`` for N + 1)."""
    if decoded.base == "s_nop":
        value = decoded.operands[0].value
        return int(value) + 1 if isinstance(value, int) else 1
    return 1


class _Ready:
    """The instructions that may come next."""

    def __init__(self, situation: Situation, graph: Dependences, distances: _Distances) -> None:
        self.decoded = situation.decoded
        self.graph = graph
        self.distances = distances
        self.kept = [n for n, one in enumerate(self.decoded) if one.base not in DROPPED]
        kept = set(self.kept)
        self.missing = {n: len(graph.before[n] & kept) for n in self.kept}
        self.start: dict[int, float] = {}
        self.states_at: dict[int, int] = {}
        self.earliest = dict.fromkeys(self.kept, 0.0)
        self.front = 0.0
        self.states = 0
        self.free: dict[int, float] = {}
        self.open = [n for n in self.kept if not self.missing[n]]
        self.length = self._lengths()
        self.sources: dict[int, list[int]] = {}
        for a, b in distances.between:
            self.sources.setdefault(b, []).append(a)

    def _lengths(self) -> dict[int, float]:
        """Clk from the start of an instruction to the end of all that hangs on it."""
        length: dict[int, float] = {}
        for number in reversed(self.kept):
            step = self.graph.steps[number]
            own = max(step.slot, 1.0)
            behind = self.graph.behind[number]
            length[number] = max(
                (max(clk, own) + length[later] for later, clk in behind.items() if later in length), default=own
            )
            length[number] += 4.0 * self.distances.to_end.get(number, 0)
        return length

    def lacking(self, number: int) -> int:
        """Wait states that are missing before an instruction may come."""
        lack = self.distances.from_start.get(number, 0) - self.states
        for source in self.sources.get(number, ()):
            if source in self.states_at:
                lack = max(lack, self.distances.between[source, number] - (self.states - self.states_at[source] - 1))
        return max(0, lack)

    def starts(self, number: int) -> float:
        """The earliest clk at which an instruction starts."""
        step = self.graph.steps[number]
        if step.kind == Kind.WAIT:
            return _MEMORY
        return max(self.front, self.earliest[number], self.free.get(step.pipe, 0.0))

    def take(self, number: int) -> None:
        """Let an instruction come next."""
        step = self.graph.steps[number]
        start = max(self.front, self.earliest[number], self.free.get(step.pipe, 0.0))
        self.open.remove(number)
        self.start[number], self.states_at[number] = start, self.states
        self.states += _states(self.decoded[number])
        self.front = (self.front if step.kind == Kind.RUN_AHEAD else start) + step.slot
        if step.pipe >= 0:
            self.free[step.pipe] = start + step.busy
        for later, clk in self.graph.behind[number].items():
            if later in self.missing:
                self.missing[later] -= 1
                self.earliest[later] = max(self.earliest[later], start + max(clk, 0.0))
                if not self.missing[later]:
                    self.open.append(later)

    def pad(self, states: int) -> None:
        """Let padding come next."""
        self.states += states
        self.front += 4.0 * states


def _order(situation: Situation, graph: Dependences, style: _Style, distances: _Distances) -> list[_Row] | None:
    """The order with its padding; ``None`` when there is not enough padding to reuse."""
    ready = _Ready(situation, graph, distances)
    pressure = _Pressure(situation)
    padding = [n for n, one in enumerate(situation.decoded) if one.base == "s_nop"]
    rows: list[_Row] = []
    while ready.open:
        if style.reorder:
            near = [n for n in ready.open if not ready.lacking(n)] or ready.open
            fits = [n for n in near if pressure.after(n) <= style.most_live] or near
            number = min(fits, key=lambda n: (ready.starts(n), -ready.length[n], n))
        else:
            number = min(ready.open)
        states = ready.lacking(number)
        if not _pad(rows, padding, states):
            return None
        ready.pad(states)
        ready.take(number)
        pressure.take(number)
        rows.append(_Row(number))
    behind = max(
        (needed - (ready.states - ready.states_at[n] - 1) for n, needed in distances.to_end.items()), default=0
    )
    if not _pad(rows, padding, max(0, behind)):
        return None
    return _hinted(situation, graph, rows)


def _pad(rows: list[_Row], padding: list[int], states: int) -> bool:
    while states > 0:
        if not padding:
            return False
        now = min(states, _LONGEST_NOP)
        rows.append(_Row(padding.pop(0), f"s_nop {now - 1}"))
        states -= now
    return True


class _Pressure:
    """Live VGPRs as instructions are taken."""

    def __init__(self, situation: Situation) -> None:
        self.decoded = situation.decoded
        self.uses: Counter[int] = Counter()
        for one in situation.decoded:
            self.uses.update(_vgprs(one.reads))
        region = situation.region
        self.out = set(_vgprs(region.live_out))
        read_first = region.live_in & VGPRS
        self.live = set(_vgprs(read_first))

    def after(self, number: int) -> int:
        """Live VGPRs while an instruction runs."""
        one = self.decoded[number]
        dying = sum(1 for r in _vgprs(one.reads) if self.uses[r] == 1 and r not in self.out and r in self.live)
        born = sum(1 for r in _vgprs(one.writes) if r not in self.live)
        return len(self.live) + max(0, born - dying)

    def take(self, number: int) -> None:
        """Let the instruction run."""
        one = self.decoded[number]
        for register in _vgprs(one.reads):
            self.uses[register] -= 1
            if not self.uses[register] and register not in self.out:
                self.live.discard(register)
        for register in _vgprs(one.writes):
            if self.uses[register] or register in self.out:
                self.live.add(register)


def _vgprs(mask: int) -> list[int]:
    return list(indices(mask & VGPRS))


def _hinted(situation: Situation, graph: Dependences, rows: list[_Row]) -> list[_Row]:
    """The rows with s_delay_alu hints for the new order, as many as there were at most.

    One s_delay_alu holds hints for two instructions, at most five apart (RDNA3 ISA, S_DELAY_ALU).
    """
    carriers = [n for n, one in enumerate(situation.decoded) if one.base == "s_delay_alu"]
    if not carriers:
        return rows
    hints = _hints(situation, graph, rows)
    result: list[_Row] = []
    said: set[int] = set()
    for place, row in enumerate(rows):
        if place in hints and place not in said and carriers:
            text = f"s_delay_alu instid0({hints[place]})"
            second = next((at for at in range(place + 1, place + 6) if at in hints), None)
            if second is not None:
                skip = "NEXT" if second == place + 1 else f"SKIP_{second - place - 1}"
                text += f" | instskip({skip}) | instid1({hints[second]})"
                said.add(second)
            result.append(_Row(carriers.pop(0), text))
        result.append(row)
    return result


def _hints(situation: Situation, graph: Dependences, rows: Sequence[_Row]) -> dict[int, str]:
    """Place -> the hint of the instruction there."""
    vector: list[int] = []
    trans: list[int] = []
    found: dict[int, str] = {}
    for place, row in enumerate(rows):
        decoded = situation.decoded[row.number]
        if decoded.classes & Op.VALU:
            hint = _hint(graph, row.number, vector, trans)
            if hint:
                found[place] = hint
        if decoded.classes & Op.TRANS:
            trans.append(row.number)
        elif decoded.classes & Op.VALU:
            vector.append(row.number)
    return found


def _hint(graph: Dependences, number: int, vector: list[int], trans: list[int]) -> str:
    """The nearest producer as LLVM's AMDGPUInsertDelayAlu names it: at most 4 VALU or 3 TRANS back."""
    before = graph.before[number]
    for distance, producer in enumerate(reversed(trans[-3:]), 1):
        if producer in before and graph.behind[producer][number] > 0:
            return f"TRANS32_DEP_{distance}"
    for distance, producer in enumerate(reversed(vector[-4:]), 1):
        if producer in before and graph.behind[producer][number] > 0:
            return f"VALU_DEP_{distance}"
    return ""


def _script(situation: Situation, rows: Sequence[_Row]) -> EditScript:
    count = len(situation.decoded)
    order = [row.number for row in rows]
    edits: list[Edit] = []
    if order != sorted(order):
        edits += [Move(number, count) for number in order]
    for row in rows:
        if row.text and row.text != situation.region.instructions[row.number].statement.text:
            edits.append(Replace(row.number, row.text))
    gone = sorted(set(range(count)) - set(order))
    edits += [Delete(number) for number in gone]
    return tuple(edits)


def _title(situation: Situation, script: EditScript) -> str:
    moved = any(isinstance(edit, Move) for edit in script)
    nops = sum(1 for edit in script if isinstance(edit, Delete) and situation.decoded[edit.number].base == "s_nop")
    parts = ["another order that waits less for results"] if moved else ["padding as the constraints need it"]
    if nops and moved:
        parts.append(f"{nops} s_nop filled with work")
    return ", ".join(parts)
