"""Wait states that LLVM 22 inserts although its own table of wait states does not ask for them, computed.

Two of its shortcuts (``GCNHazardRecognizer.cpp``) make it insert too much. Each is followed here with the numbers of
the kernel at hand, so that a mutant is explained only when the shortcut gives exactly what LLVM inserted. That LLVM
has the shortcuts is shown by ``test_llvm_overcounts.py`` with the compiler itself.
"""

from __future__ import annotations

import msgspec

from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.model import ConstraintGraph, Edge
from asmevo_gate.constraints.reference import violations
from asmevo_gate.isa.instruction import MATRIX
from asmevo_gate.program.control_flow import build_blocks
from asmevo_gate.program.model import Function, Instruction

_LOOK_BACK = 20
"""Wait states that LLVM looks back from an instruction (``MaxWaitStates``)."""


def latency_of_another(function: Function, graph: ConstraintGraph, consumer: int, removed_states: int) -> str:
    """LLVM took the passes of another matrix instruction for those of the producer, or ``""``.

    ``checkMAIHazards908`` takes the largest latency of all matrix instructions that its search passes;
    ``checkMAIHazards90A`` and ``checkMAIVALUHazards`` keep the instruction that their search over several paths saw
    last, and the least distance of any path. ``function`` is the mutant, ``consumer`` the instruction behind the
    removed wait states, ``removed_states`` how many the mutant lacks.
    """
    view = FunctionView(function, graph)
    traits = view.traits[consumer]
    if traits is None:
        return ""
    seen = _matrix_before(view, consumer)
    for edge in graph.edges.values():
        if not isinstance(edge.required, dict) or edge.consumer not in traits.nodes:
            continue
        by_distance = _producers(view, edge, traits.nodes[edge.consumer], seen)
        if not by_distance:
            continue
        distance, producer = by_distance[0]
        for other, _ in seen:
            one = view.traits[other]
            if other != producer and one is not None:
                taken = edge.required.get(one.grade, 0)
                if taken == distance + removed_states:
                    return "LLVM takes the passes of another matrix instruction that its search passes"
    return ""


def later_wait_states(function: Function, graph: ConstraintGraph, consumer: int, from_index: int) -> str:
    """LLVM counted a loop's way back before it inserted the wait states on it, or ``""``.

    It goes through the blocks in layout order and inserts as it goes (``PostRAHazardRecognizer``): an ``s_nop``
    further down, from ``from_index`` on, is not there yet. Without these the gate must report the consumer.
    """
    text = function.instructions[consumer].statement.place.start
    earlier = _without_nops(function, from_index)
    if any(one.consumer.statement.place.start == text for one in violations(earlier, graph)):
        return "LLVM had not yet inserted the s_nop further down in the loop, which is distance enough"
    return ""


def _matrix_before(view: FunctionView, consumer: int) -> list[tuple[int, int]]:
    """Index and least distance of the matrix instructions that LLVM's search from an instruction can see."""
    least: dict[int, int] = {}
    entered: dict[int, int] = {}
    worklist = [(view.block_of[consumer], consumer, 0)]
    while worklist:
        number, position, distance = worklist.pop()
        for index in range(position - 1, view.blocks[number].first - 1, -1):
            traits, decoded = view.traits[index], view.function.instructions[index].decoded
            if decoded is not None and decoded.classes & MATRIX:
                least[index] = min(distance, least.get(index, distance))
            distance += 1 if traits is None else traits.wait_states
            if distance > _LOOK_BACK:
                break
        else:
            for before in view.blocks[number].predecessors:
                if distance < entered.get(before, _LOOK_BACK + 1):
                    entered[before] = distance
                    worklist.append((before, view.blocks[before].end, distance))
    return sorted(least.items())


def _producers(view: FunctionView, edge: Edge, wanted: int, seen: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Distance and index of those that the edge names and that overlap, nearest first."""
    found: list[tuple[int, int]] = []
    for index, distance in seen:
        traits = view.traits[index]
        if traits is not None and traits.nodes.get(edge.producer, 0) & wanted:
            found.append((distance, index))
    return sorted(found)


def _without_nops(function: Function, from_index: int) -> Function:
    """The function without the ``s_nop`` from an index on."""
    kept: list[Instruction] = []
    place_of: list[int] = []
    for instruction in function.instructions:
        place_of.append(len(kept))
        nop = instruction.decoded is not None and instruction.decoded.base == "s_nop"
        if instruction.index < from_index or not nop:
            kept.append(msgspec.structs.replace(instruction, index=len(kept)))
    place_of.append(len(kept))
    labels = {name: place_of[index] for name, index in function.labels.items()}
    return msgspec.structs.replace(
        function, instructions=tuple(kept), labels=labels, blocks=build_blocks(tuple(kept), labels)
    )
