"""Mutants of compiled kernels: one mitigation that the compiler inserted is deleted or shortened by one.

The compiler inserts the least that its hazard rules ask for, right before the instruction that needs it (behind the
write for a lane mask), so that each mutant breaks one hazard. :func:`judge` tells whether the gate reports an edge
that the removed instruction repairs, at the right instruction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec

from asmevo_gate.constraints.engine import hazard_violations
from asmevo_gate.constraints.model import ConstraintGraph
from asmevo_gate.constraints.violation import HazardViolation
from asmevo_gate.isa.decoder import isa_for
from asmevo_gate.isa.instruction import Decoded, NotDecoded, Op
from asmevo_gate.isa.waits import decode_depctr
from asmevo_gate.program.control_flow import build_blocks
from asmevo_gate.program.model import Function, Instruction
from tests.mutation.llvm_overcounts import latency_of_another, later_wait_states

Outcome = Literal["found", "explained", "missed"]
_DEPCTR = ("s_waitcnt_depctr", "s_wait_alu")


@dataclass(frozen=True)
class Mutant:
    """A function with one change. ``place`` is the index of the changed instruction in the original and ``next`` the
    first instruction behind it that is no mitigation, by its index in the mutant; ``lacks`` are the wait states that
    an ``s_nop`` has lost."""

    function: Function
    change: str
    removed: Decoded
    place: int
    next: int
    lacks: int = 0


@dataclass(frozen=True)
class Judgement:
    """What the gate said about a mutant; ``reason`` explains a mutant without a finding."""

    outcome: Outcome
    rule: str
    reason: str


def is_mitigation(decoded: Decoded | None, function: Function) -> bool:
    """An instruction that LLVM inserts only for hazards."""
    if decoded is None:
        return False
    if decoded.base in ("s_nop", "v_nop"):
        return True
    return decoded.base in _DEPCTR and bool(decode_depctr(decoded, function.target))


def mutants(function: Function) -> Iterator[Mutant]:
    """Every mutant of a function."""
    for instruction in function.instructions:
        decoded = instruction.decoded
        if decoded is None or not is_mitigation(decoded, function):
            continue
        yield _mutant(function, instruction.index, None, f"delete '{decoded.text}'", decoded)
        count = decoded.operands[0].value if decoded.base == "s_nop" and decoded.operands else 0
        if isinstance(count, int) and count > 0:
            text = f"s_nop {count - 1}"
            yield _mutant(function, instruction.index, text, f"'{decoded.text}' -> '{text}'", decoded)


def _mutant(function: Function, place: int, text: str | None, change: str, removed: Decoded) -> Mutant:
    instructions: list[Instruction] = []
    for instruction in function.instructions:
        if instruction.index == place:
            if text is None:
                continue
            decoded = isa_for(function.target, function.wave_size).decode(text)
            assert not isinstance(decoded, NotDecoded)
            instruction = msgspec.structs.replace(instruction, decoded=decoded)
        instructions.append(msgspec.structs.replace(instruction, index=len(instructions)))
    gone = 1 if text is None else 0
    labels = {name: index - gone if index > place else index for name, index in function.labels.items()}
    changed = tuple(instructions)
    mutated = msgspec.structs.replace(
        function, instructions=changed, labels=labels, blocks=build_blocks(changed, labels)
    )
    following = place + 1 - gone
    while following < len(changed) - 1 and _stands_aside(changed[following].decoded, function):
        following += 1
    lacks = 0
    if removed.base == "s_nop" and isinstance(count := removed.operands[0].value, int):
        lacks = count + 1 if text is None else 1
    return Mutant(mutated, change, removed, place, following, lacks)


def _stands_aside(decoded: Decoded | None, function: Function) -> bool:
    """A mitigation, or a hint that later passes put between it and the instruction that needs it."""
    return is_mitigation(decoded, function) or (
        decoded is not None and decoded.base in ("s_delay_alu", "s_clause", "s_set_vgpr_msb")
    )


def judge(mutant: Mutant, graph: ConstraintGraph, before: dict[tuple[int, str], int]) -> Judgement:
    """What the gate says. ``before`` is what it reports without the change (:func:`positions`): a finding counts when
    it is new or its distance became shorter."""
    found = [
        violation
        for violation in hazard_violations(mutant.function, graph)
        if (violation.found or 0) < before.get((violation.consumer.statement.place.start, violation.edge_id), 1 << 30)
    ]
    right = [violation for violation in found if _repairs(mutant, violation) and _right_place(mutant, violation)]
    if right:
        severe = [violation for violation in right if violation.severity == "error"]
        best = (severe or right)[0]
        if severe:
            return Judgement("found", best.edge.rule, "")
        return Judgement("explained", best.edge.rule, f"reported as {best.edge.severity} by '{best.edge_id}'")
    reason = over_conservative(mutant) or _overcounted(mutant, graph)
    if reason:
        return Judgement("explained", "", reason)
    elsewhere = f"reported '{found[0].edge_id}' at another place" if found else "no finding"
    return Judgement("missed", found[0].edge.rule if found else "", elsewhere)


def _overcounted(mutant: Mutant, graph: ConstraintGraph) -> str:
    """Which shortcut of LLVM's search gives exactly the wait states that the mutant lacks, or ``""``."""
    if mutant.removed.base != "s_nop":
        return ""
    function = mutant.function
    return latency_of_another(function, graph, mutant.next, mutant.lacks) or later_wait_states(
        function, graph, mutant.next, mutant.next
    )


def positions(function: Function, graph: ConstraintGraph) -> dict[tuple[int, str], int]:
    """What is reported without any change: place of the statement and edge -> distance found."""
    return {
        (one.consumer.statement.place.start, one.edge_id): one.found or 0 for one in hazard_violations(function, graph)
    }


def _repairs(mutant: Mutant, violation: HazardViolation) -> bool:
    """True when the removed instruction is of the kind that repairs the edge."""
    edge, removed = violation.edge, mutant.removed
    if removed.base == "s_nop":
        return edge.unit == "wait_states" or edge.kind in ("directly_before", "clause")
    if removed.base == "v_nop":
        return edge.unit in ("valu", "valu_not_nop")
    fields = decode_depctr(removed, mutant.function.target) or {}
    return any(field in edge.repair for field in fields) or "s_wait_alu 0" in edge.repair


def _right_place(mutant: Mutant, violation: HazardViolation) -> bool:
    """The instruction right behind the removed one; for a lane mask, a reader behind it."""
    if violation.edge.kind == "sequence":
        return violation.consumer.index >= mutant.next or len(violation.blocks) > 1
    return violation.consumer.index == mutant.next


def over_conservative(mutant: Mutant) -> str:
    """Why LLVM inserted the instruction although no hardware document asks for it, or ``""``.

    Looks for the shapes that the constraint files name under ``over_conservative``.
    """
    function = mutant.function
    consumer = function.instructions[mutant.next].decoded
    if consumer is None:
        return "the instruction behind is not decoded"
    producers = _before(function, mutant.next)
    if any(one is None for one in producers):
        return "an instruction near it is not decoded"
    decoded = [one for one in producers if one is not None]
    if mutant.removed.base == "s_nop":
        behind = function.instructions[mutant.next + 1 : mutant.next + 4]
        after = [one.decoded for one in behind if one.decoded is not None]
        return _over_conservative_wait_states(function, consumer, decoded, after)
    if mutant.removed.base in _DEPCTR:
        fields = decode_depctr(mutant.removed, function.target) or {}
        if function.target.facts["waitcnt"] == "gfx11" and {"sa_sdst", "va_sdst", "va_vcc"} & set(fields):
            return "lane mask rewritten, but no SALU or VALU instruction reads it afterwards"
        if function.target.name == "gfx1010" and "vm_vsrc" in fields:
            return "the memory instruction is waited for before the scalar write"
    return ""


def _before(function: Function, index: int) -> list[Decoded | None]:
    """Instructions that may issue up to a few places before one, over all paths."""
    found: list[Decoded | None] = []
    worklist = [(index, 0)]
    seen = {index}
    starts = {block.first: block for block in function.blocks}
    while worklist:
        place, depth = worklist.pop()
        block = starts.get(place)
        earlier = [function.blocks[n].end - 1 for n in block.predecessors] if block else [place - 1]
        for one in earlier:
            if one >= 0 and one not in seen and depth < 6:
                seen.add(one)
                found.append(function.instructions[one].decoded)
                worklist.append((one, depth + 1))
    return found


def _over_conservative_wait_states(
    function: Function, consumer: Decoded, producers: list[Decoded], after: list[Decoded]
) -> str:
    memory = Op.BUFFER | Op.IMAGE | Op.FLAT | Op.GLOBAL | Op.SCRATCH
    if consumer.of(memory) and any(one.base.startswith("v_cmpx") for one in producers):
        return "v_cmpx before a memory instruction: EXEC as the mask is interlocked"
    if consumer.of(Op.DPP):
        loads = [one for one in producers if one.of(memory | Op.DS) and one.writes & consumer.reads]
        if loads:
            return "a load writes the source of the DPP instruction: the s_waitcnt is enough"
    spills = [one for one in (*producers[:3], *after) if one.base == consumer.base and one.operands]
    if function.target.name == "gfx908" and consumer.base == "v_accvgpr_write_b32":
        place = consumer.operands[0].start
        if any(abs(one.operands[0].start - place) <= 3 for one in spills):
            return "spill of a tuple: LLVM counts the implicit operands of the neighbouring v_accvgpr_write"
    gfx940 = function.target.name in ("gfx942", "gfx950")
    if gfx940 and consumer.base == "v_writelane_b32" and spills:
        return "spill of an SGPR pair: LLVM takes the implicit definition of v_writelane for a VALU write"
    if gfx940 and consumer.of(Op.VALU):
        packed = [one for one in producers if one.of(Op.VOP3P) and one.writes & (consumer.reads | consumer.writes)]
        if packed:
            return "VOP3P result: op_sel_hi in the modifier bit of a destination select"
        carries = consumer.base.startswith(("v_addc", "v_subb")) or "_co_ci_" in consumer.base
        if carries and any(one.of(Op.VALU) and one.writes & consumer.reads for one in producers):
            return "carry-in of an addition: 0 wait states in the ISA"
    return ""
