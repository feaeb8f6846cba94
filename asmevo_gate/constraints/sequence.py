"""Sequence edges: steps that happen one after the other on the same register, at any distance.

Forward over the control flow: for each step a bit set of the registers for which the sequence has come that far.
The last step is the consumer. Sets only grow at joins (union), so that the iteration ends.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.matching import Traits
from asmevo_gate.constraints.model import Edge
from asmevo_gate.constraints.roles import REGISTER_FILES, whole_registers
from asmevo_gate.constraints.violation import HazardViolation
from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.program.model import Block

_EVERY_PAIR = REGISTER_FILES["scalar"]
State = tuple[int, ...]


class Move(NamedTuple):
    """What one text does to the sequence.

    ``registers`` are, for each step, those for which it is that step (bit 0 when the edge does not care which);
    ``clears`` the steps that it takes back; ``completed`` the registers whose sequence it completes. ``forgets``: it
    has no meaning and may clear the sequence, which is followed no further, never guessed. ``calls``: unknown code runs
    behind it.
    """

    registers: tuple[int, ...]
    clears: tuple[int, ...]
    completed: int
    forgets: bool
    calls: bool


class SequenceEdge:
    """A sequence edge over the instructions of one function that have to do with it."""

    def __init__(self, edge: Edge, view: FunctionView) -> None:
        self.edge = edge
        self.any_register = edge.relation == "any"
        self.clears = tuple(view.matcher.class_mask(clears) for clears in edge.step_clears)
        self._flushes = _flushes(edge, view)
        moves = self._all_moves(view)
        places = view.places(moves)
        self._places = sorted({*places, *self._flushes}) if self._flushes else places
        flush = Move((0,) * len(edge.steps), (), 0, True, False)
        self._moves = [flush if place in self._flushes else moves[view.keys[place]] for place in self._places]

    def _all_moves(self, view: FunctionView) -> dict[int, Move]:
        """The texts that are a step, or take one back, or end what is known; by their key."""
        nodes = (*self.edge.steps, self.edge.completed_by) if self.edge.completed_by else self.edge.steps
        clearing = 0
        for mask in self.clears:
            clearing |= mask
        steps = {key for node in nodes for key in view.registers(node)}
        return {
            key: self._move(traits, view.texts[key])
            for key, traits in view.distinct.items()
            if key in steps or traits is None or traits.classes & clearing or _calls(view.texts[key])
        }

    def _move(self, traits: Traits | None, decoded: Decoded | None) -> Move:
        if traits is None:
            return Move((0,) * len(self.edge.steps), (), 0, True, False)
        registers = tuple([self.registers(traits, step) for step in range(len(self.edge.steps))])
        clears = tuple([step for step, mask in enumerate(self.clears) if traits.classes & mask])
        completed = traits.nodes.get(self.edge.completed_by, 0) if self.edge.completed_by else 0
        return Move(registers, clears, completed, False, _calls(decoded))

    def registers(self, traits: Traits, step: int) -> int:
        """Registers for which the instruction is the given step (bit 0 when the edge does not care which)."""
        mask = traits.nodes.get(self.edge.steps[step])
        if mask is None:
            return 0
        return 1 if self.any_register else mask

    def through(self, block: Block, state: State, found: list[tuple[int, int]] | None = None) -> State:
        """The state at the end of a block, from the one at its start. ``found`` gets the consumers, with the registers
        on which they end the sequence."""
        places, moves = self._places, self._moves
        for at in range(bisect_left(places, block.first), bisect_left(places, block.end)):
            move = moves[at]
            if found is not None and (hit := state[-1] & move.registers[-1]):
                found.append((places[at], hit))
            if move.forgets:
                state = (0,) * len(state)
            elif move.registers[0] or any(state):
                state = self._advance(state, move)
            if move.calls:
                state = _after_call(state, self.edge)
        return state

    def _advance(self, state: State, move: Move) -> State:
        steps = list(state)
        last = len(steps) - 1
        # The consumer uses the sequence up: the repair belongs before the first one.
        steps[last] &= ~move.registers[last + 1]
        if move.completed & steps[0]:
            steps[last] = 0
        for step in move.clears:
            steps[step] = 0
        first = move.registers[0]
        if self.edge.same_instruction:
            steps[0] |= first
        for step in range(last, 0, -1):
            steps[step] |= steps[step - 1] & move.registers[step]
        steps[0] |= first
        return tuple(steps)


def sequence_violations(view: FunctionView, edge_id: str, edge: Edge) -> list[HazardViolation]:
    """Every consumer that ends the sequence on a register."""
    armed = edge.armed_at_function_entry and view.returns
    if not all(view.matching(step) for step in edge.steps[1 if armed else 0 :]):
        return []
    compiled = SequenceEdge(edge, view)
    found: list[tuple[int, int]] = []
    for block, state in zip(view.blocks, _block_entries(view, compiled, armed), strict=True):
        if state is not None:
            compiled.through(block, state, found)
    return [_violation(view, compiled, edge_id, consumer, registers) for consumer, registers in found]


def _calls(decoded: Decoded | None) -> bool:
    return decoded is not None and decoded.is_call


def _flushes(edge: Edge, view: FunctionView) -> frozenset[int]:
    """The places of the last of enough flushing instructions in a row, each run within one block."""
    mask = view.matcher.class_mask((edge.flushed_by,)) if edge.flushed_by else 0
    enough = edge.flushed_in_a_row.get(str(view.function.wave_size), 0)
    if not mask or not enough:
        return frozenset()
    found = []
    for block in view.blocks:
        run = 0
        for index in range(block.first, block.end):
            traits = view.traits[index]
            run = run + 1 if traits is not None and traits.classes & mask else 0
            if run >= enough:
                found.append(index)
    return frozenset(found)


def _after_call(state: State, edge: Edge) -> State:
    """What a callee leaves behind: nothing is known but, where the edge says so, that anything may be armed."""
    return (_EVERY_PAIR if edge.armed_at_function_entry else 0,) + (0,) * (len(state) - 1)


def _block_entries(view: FunctionView, compiled: SequenceEdge, armed: bool) -> list[State | None]:
    """The state at the start of each block; ``None`` for a block that is never reached."""
    edge = compiled.edge
    empty: State = (0,) * (len(edge.steps) - 1)
    entries: list[State | None] = [None] * len(view.blocks)
    if not view.blocks:
        return entries
    entries[0] = ((_EVERY_PAIR, *empty[1:])) if armed else empty
    for block in view.blocks:
        if block.number and not block.predecessors:
            entries[block.number] = empty
    worklist = [block.number for block in view.blocks if entries[block.number] is not None]
    while worklist:
        number = worklist.pop()
        block = view.blocks[number]
        entry = entries[number]
        assert entry is not None
        state = compiled.through(block, entry)
        for successor in block.successors:
            before = entries[successor]
            joined = state if before is None else tuple(a | b for a, b in zip(before, state, strict=True))
            if joined != before:
                entries[successor] = joined
                worklist.append(successor)
    return entries


def _violation(
    view: FunctionView, compiled: SequenceEdge, edge_id: str, consumer: int, registers: int
) -> HazardViolation:
    """The report of one consumer, with the nearest instruction of each step on the way back."""
    instructions = view.function.instructions
    steps: list[int] = [consumer]
    blocks: tuple[int, ...] = (view.block_of[consumer],)
    for step in range(len(compiled.edge.steps) - 2, -1, -1):
        if compiled.edge.same_instruction and step == 0 and _is_step(view, compiled, steps[0], registers):
            break
        place = _nearest(view, compiled, steps[0], step, registers)
        if place is None:
            break
        steps.insert(0, place[0])
        blocks = (*place[1][:-1], *blocks)
    through = tuple(instructions[index] for index in steps)
    return HazardViolation(
        edge_id=edge_id,
        edge=compiled.edge,
        consumer=instructions[consumer],
        producer=through[-2] if len(through) > 1 else None,
        registers=0 if compiled.any_register else whole_registers(registers),
        found=None,
        needed=None,
        through=through,
        blocks=blocks,
    )


def _is_step(view: FunctionView, compiled: SequenceEdge, index: int, registers: int) -> bool:
    """True when an instruction is also the first step."""
    traits = view.traits[index]
    return traits is not None and bool(compiled.registers(traits, 0) & registers)


def _nearest(
    view: FunctionView, compiled: SequenceEdge, from_index: int, step: int, registers: int
) -> tuple[int, tuple[int, ...]] | None:
    """The nearest instruction before one that is the given step on some of the registers, with the blocks between."""
    start = view.block_of[from_index]
    worklist: list[tuple[int, int, tuple[int, ...]]] = [(start, from_index, (start,))]
    entered: set[int] = set()
    while worklist:
        number, index, blocks = worklist.pop(0)
        block = view.blocks[number]
        stopped = False
        for earlier in range(index - 1, block.first - 1, -1):
            traits = view.traits[earlier]
            if traits is None:
                stopped = True
                break
            if compiled.registers(traits, step) & registers:
                return earlier, blocks
            if traits.classes & compiled.clears[step]:
                stopped = True
                break
        if stopped:
            continue
        for predecessor in block.predecessors:
            if predecessor not in entered:
                entered.add(predecessor)
                worklist.append((predecessor, view.blocks[predecessor].end, (predecessor, *blocks)))
    return None
