"""The matcher answers once for what texts have in common; the answer is that of asking each text for itself."""

from __future__ import annotations

import pytest

from asmevo_gate.constraints.files import graph_for
from asmevo_gate.constraints.matching import Matcher
from asmevo_gate.constraints.predicates import PREDICATES
from asmevo_gate.constraints.roles import REGISTER_FILES, ROLES, with_halves
from asmevo_gate.isa import registers
from asmevo_gate.isa.decoder import isa_for
from asmevo_gate.isa.instruction import Decoded, Op, Role
from asmevo_gate.isa.targets import find_target, target_names
from asmevo_gate.isa.waits import decode_depctr
from tests.constraints.edge_programs import texts

_MORE = (
    "v_add_f16_e64 v0, v9, v9", "v_add_f16_e64 v0, v9, v9 op_sel:[1,0,0]", "v_add_f16_e64 v0, v9, v9 op_sel:[0,0,1]",
    "v_mov_b32_sdwa v0, v9 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0",
    "v_cndmask_b32_e64 v1, exec_lo, v2, vcc",
    "v_addc_co_u32_e32 v1, vcc, v2, v3, vcc", "v_mov_b32_e32 v1, exec_hi", "s_mov_b64 vcc, exec", "s_mov_b32 vcc_hi, 1",
    "s_and_b64 exec, exec, vcc", "v_cmp_gt_u32 vcc, v8, vcc_lo", "s_mov_b32 vcc_lo, s4", "v_mov_b16 v1.h, v2.l",
)  # fmt: skip


def meanings(gpu: str) -> list[Decoded]:
    """What many kinds of texts mean on a GPU, where it has them."""
    target = find_target(gpu)
    wave = target.wave_sizes[0]
    decoded = [isa_for(target, wave).decode(text) for text in (*(text for text, _ in texts(gpu, wave)), *_MORE)]
    return [one for one in decoded if isinstance(one, Decoded)]


@pytest.mark.parametrize("gpu", target_names())
def test_classes_are_those_of_each_text_alone(gpu: str) -> None:
    target = find_target(gpu)
    graph = graph_for(target)
    shared = Matcher(graph, target)
    for decoded in meanings(gpu):
        alone = Matcher(graph, target)
        assert shared.traits(decoded) == alone.traits(decoded)
        assert shared.traits(decoded).depctr == (decode_depctr(decoded, target) or {})


@pytest.mark.parametrize("gpu", target_names())
def test_predicates_look_at_what_they_name_only(gpu: str) -> None:
    for name, predicate in PREDICATES.items():
        if predicate.of_the_whole_text:
            continue
        answers: dict[tuple[object, ...], bool] = {}
        for decoded in meanings(gpu):
            told = (
                decoded.base, decoded.classes, len(decoded.operands), decoded.reads & predicate.reads,
                decoded.writes & predicate.writes, *map(decoded.modifiers.get, predicate.modifiers),
            )  # fmt: skip
            holds = predicate.holds(decoded)
            assert answers.setdefault(told, holds) == holds, (name, decoded.text)


@pytest.mark.parametrize("gpu", target_names())
def test_nodes_have_the_registers_of_their_role(gpu: str) -> None:
    target = find_target(gpu)
    graph = graph_for(target)
    matcher = Matcher(graph, target)
    for decoded in meanings(gpu):
        traits = matcher.traits(decoded)
        expected: dict[str, int] = {}
        for name, node in graph.nodes.items():
            if not traits.classes & matcher.class_mask((node.instruction,)):
                continue
            if node.role == "hwreg":
                mask = matcher.hwreg_bit(decoded)
            else:
                mask = ROLES[node.role](decoded) & REGISTER_FILES[node.registers]
                if graph.half_registers:
                    mask = with_halves(node.role, decoded, mask)
            if mask or node.role == "none":
                expected[name] = mask
        assert traits.nodes == expected, decoded.text


@pytest.mark.parametrize("gpu", target_names())
def test_named_reads_are_the_sources_that_stand_in_the_text(gpu: str) -> None:
    for decoded in meanings(gpu):
        named = 0
        for operand in decoded.operands:
            kept = operand.role & Role.KEEP and operand.half is None
            if operand.length and (operand.role & Role.READ or kept):
                named |= operand.mask
        if decoded.classes & Op.DPP:
            named |= decoded.operands[0].mask & registers.VGPRS
        assert ROLES["named_reads"](decoded) == named, decoded.text
