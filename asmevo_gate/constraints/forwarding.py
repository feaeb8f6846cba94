"""Forwarding edges: a reader that takes one source from before and one from after a scalar write of EXEC.

Steps: VALU writes Va; SALU writes EXEC; VALU writes Vb; VALU reads Va and Vb. ``within`` bounds the VALU
instructions around the EXEC write (before it plus behind it) and those before the reader.
"""

from __future__ import annotations

import msgspec

from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.model import Edge
from asmevo_gate.constraints.roles import whole_registers
from asmevo_gate.constraints.violation import HazardViolation


class _Walk(msgspec.Struct, frozen=True):
    """A path on its way back from the reader. ``last_write`` maps a register to (VALU count, index)."""

    block: int
    position: int
    passed: int
    last_write: tuple[tuple[int, int, int], ...]
    exec_write: tuple[int, int] | None
    blocks: tuple[int, ...]


def forwarding_violations(view: FunctionView, edge_id: str, edge: Edge) -> list[HazardViolation]:
    """Every reader that mixes results from both sides of an EXEC write."""
    if not all(view.matching(step) for step in edge.steps):
        return []
    instructions = view.function.instructions
    found: list[HazardViolation] = []
    for reader in view.matching(edge.steps[-1]):
        places = _search(view, edge, reader)
        if places is not None:
            before, change, behind, registers, blocks = places
            found.append(
                HazardViolation(
                    edge_id=edge_id,
                    edge=edge,
                    consumer=instructions[reader],
                    producer=instructions[before],
                    registers=whole_registers(registers),
                    found=None,
                    needed=None,
                    through=tuple(instructions[i] for i in (before, change, behind, reader)),
                    blocks=blocks,
                )
            )
    return found


def _search(view: FunctionView, edge: Edge, reader: int) -> tuple[int, int, int, int, tuple[int, ...]] | None:
    around, behind_most = edge.within
    before_node, exec_node, behind_node, reader_node = edge.steps
    reads = view.traits[reader]
    assert reads is not None
    sources = reads.nodes[reader_node]
    counts = view.matcher.class_mask((view.graph.units[edge.unit].counts,))
    clears = view.matcher.class_mask(edge.cleared_by)
    first = view.block_of[reader]
    worklist = [_Walk(first, reader, 0, (), None, (first,))]
    seen: set[tuple[int, int, tuple[tuple[int, int, int], ...], tuple[int, int] | None]] = set()
    while worklist:
        walk = worklist.pop(0)
        count, writes, change = walk.passed, walk.last_write, walk.exec_write
        ended = False
        for index in range(walk.position - 1, view.blocks[walk.block].first - 1, -1):
            traits = view.traits[index]
            if traits is None or traits.classes & clears or view.is_call(index):
                ended = True
                break
            written = traits.nodes.get(before_node, traits.nodes.get(behind_node, 0)) & sources
            known = 0
            for register, _, _ in writes:
                known |= register
            if written & ~known:
                writes = (*writes, (written & ~known, count, index))
            if change is None and exec_node in traits.nodes and writes:
                change = (count, index)
            if change is not None:
                behind = [one for one in writes if one[2] > change[1] or one[1] < change[0]]
                before = [one for one in writes if one not in behind]
                if not behind or behind[0][1] > behind_most:
                    ended = True
                    break
                if before:
                    between = (before[0][1] - change[0]) + (change[0] - behind[0][1] - 1)
                    if between <= around:
                        registers = before[0][0] | behind[0][0]
                        return before[0][2], change[1], behind[0][2], registers, walk.blocks
                    ended = True
                    break
            if traits.classes & counts:
                count += 1
            if count > around + behind_most + 2:
                ended = True
                break
        if ended:
            continue
        for predecessor in view.blocks[walk.block].predecessors:
            key = (predecessor, count, writes, change)
            if key not in seen:
                seen.add(key)
                end = view.blocks[predecessor].end
                worklist.append(_Walk(predecessor, end, count, writes, change, (predecessor, *walk.blocks)))
    return None
