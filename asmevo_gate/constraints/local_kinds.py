"""Edges that need no distance: the instruction beside, one instruction alone, members of one load clause."""

from __future__ import annotations

from collections.abc import Callable

from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.model import Edge
from asmevo_gate.constraints.violation import HazardViolation
from asmevo_gate.isa import registers
from asmevo_gate.isa.instruction import VMEM, Decoded, Op
from asmevo_gate.isa.registers import VGPR


def _alone(
    view: FunctionView, edge_id: str, edge: Edge, index: int, producer: int | None, mask: int
) -> HazardViolation:
    instructions = view.function.instructions
    through = (instructions[index],) if producer is None else (instructions[producer], instructions[index])
    return HazardViolation(
        edge_id=edge_id,
        edge=edge,
        consumer=instructions[index],
        producer=None if producer is None else instructions[producer],
        registers=mask,
        found=None,
        needed=None,
        through=through,
        blocks=tuple(range(view.block_of[index if producer is None else producer], view.block_of[index] + 1)),
    )


def directly_before_violations(view: FunctionView, edge_id: str, edge: Edge) -> list[HazardViolation]:
    """Consumers that some path reaches without an instruction of the class right before them."""
    return _without_neighbour(view, edge_id, edge, _previous)


def directly_after_violations(view: FunctionView, edge_id: str, edge: Edge) -> list[HazardViolation]:
    """Consumers that some path leaves without an instruction of the class right behind them."""
    return _without_neighbour(view, edge_id, edge, _following)


def _without_neighbour(
    view: FunctionView, edge_id: str, edge: Edge, neighbours: Callable[[FunctionView, int], list[int]]
) -> list[HazardViolation]:
    wanted = view.matcher.class_mask((edge.within_class,))
    found: list[HazardViolation] = []
    for index in view.matching(edge.consumer):
        beside = neighbours(view, index)
        if not beside or any(
            (traits := view.traits[one]) is not None and not traits.classes & wanted for one in beside
        ):
            found.append(_alone(view, edge_id, edge, index, None, 0))
    return found


def _previous(view: FunctionView, index: int) -> list[int]:
    """The instructions that may issue right before one."""
    block = view.blocks[view.block_of[index]]
    if index > block.first:
        return [index - 1]
    return [view.blocks[number].end - 1 for number in block.predecessors]


def _following(view: FunctionView, index: int) -> list[int]:
    """The instructions that may issue right behind one."""
    block = view.blocks[view.block_of[index]]
    if index + 1 < block.end:
        return [index + 1]
    return [view.blocks[number].first for number in block.successors]


def encoding_violations(view: FunctionView, edge_id: str, edge: Edge) -> list[HazardViolation]:
    """Instructions that must not be written so."""
    return [
        _alone(view, edge_id, edge, index, None, 0)
        for index in view.matching(edge.consumer)
        if not edge.condition or _CONDITIONS[edge.condition](view, index)
    ]


def _last_allocated_vgpr(view: FunctionView, index: int) -> bool:
    """The shift amount is the last VGPR that the kernel descriptor allocates (blocks of 8)."""
    descriptor = view.function.descriptor
    decoded = view.function.instructions[index].decoded
    if descriptor is None or decoded is None:
        return False
    used = descriptor.values.get("accum_offset") or descriptor.values.get("next_free_vgpr")
    if used is None:
        return False
    allocated = (used + 7) // 8 * 8
    total = (descriptor.values.get("next_free_vgpr", used) + 7) // 8 * 8
    amount = decoded.operands[1].start - VGPR.start
    # With AGPRs behind the VGPRs of a unified file the next register is allocated.
    return amount + 1 == allocated and total <= allocated


_CONDITIONS = {"last_allocated_vgpr": _last_allocated_vgpr}


def clause_violations(view: FunctionView, edge_id: str, edge: Edge) -> list[HazardViolation]:
    """Loads of a soft clause (consecutive loads of one kind, atomics that return the old value among them) that
    overwrite an address register of a member.

    A label between two loads ends no clause, a branch does: the clause is followed in program order.
    """
    found: list[HazardViolation] = []
    kind, addresses, written, first = Op.NONE, 0, 0, 0
    for instruction in view.function.instructions:
        decoded, index = instruction.decoded, instruction.index
        now = _clause_kind(decoded)
        if decoded is None or not now or (edge.condition == "scalar_loads" and now != Op.SMEM):
            kind = Op.NONE
            continue
        if now != kind:
            kind, addresses, written, first = now, 0, 0, index
        read = decoded.reads & ~decoded.implicit_reads & ~decoded.keeps
        write = decoded.writes & (registers.VECTOR | registers.SGPRS | registers.VCC)
        bad = (addresses | read) & (written | write)
        # A load of one dword that overwrites its own address can be replayed: it is one access.
        alone = first == index and (write.bit_count() < 2 or edge.condition == "scalar_loads")
        if bad and not alone:
            found.append(_alone(view, edge_id, edge, index, first if first != index else None, bad))
            # The repair goes before this load, which then begins a clause of its own.
            addresses, written, first = 0, 0, index
        addresses |= read
        written |= write
    return found


def _clause_kind(decoded: Decoded | None) -> int:
    if decoded is None or not decoded.classes & Op.LOAD:
        return Op.NONE
    if decoded.classes & Op.STORE and not decoded.classes & Op.ATOMIC_RETURN:
        return Op.NONE
    if decoded.classes & Op.SMEM:
        return Op.SMEM
    return VMEM if decoded.classes & VMEM else Op.NONE
