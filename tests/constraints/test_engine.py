"""Which engine a function gets, and that this changes nothing."""

from __future__ import annotations

import pytest

from asmevo_gate.constraints import engine, onnx_engine, reference
from asmevo_gate.constraints.files import graph_for
from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.screened import Screen
from tests.constraints.programs import kernel

pytest.importorskip("onnxruntime")

GPU = "gfx942"
MATRIX = "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]"
BROKEN = f"{MATRIX}\nv_accvgpr_read_b32 v4, a0"


def _walks(text: str) -> int:
    function = kernel(GPU, text)
    return Screen(FunctionView(function, graph_for(function.target))).walks


def test_only_consumers_with_a_register_of_a_producer_are_walked_back_from() -> None:
    apart = "\n".join(f"v_add_f32 v{number}, v{number + 1}, v{number + 2}" for number in range(10, 60))
    alone = _walks(f"{MATRIX}\ns_endpgm")
    assert _walks(f"{MATRIX}\n{apart}\ns_endpgm") == alone
    assert _walks(f"{BROKEN}\n{apart}\ns_endpgm") > alone
    assert _walks(f"{apart}\ns_endpgm") == 0


@pytest.mark.parametrize("many", [0, 1 << 30])
def test_the_choice_of_the_engine_does_not_change_the_violations(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    compiled = onnx_engine.compiled
    monkeypatch.setattr(onnx_engine, "compiled", lambda *given: asked.append(given) or compiled(*given))
    monkeypatch.setattr(engine, "MANY", many)
    function = kernel(GPU, f"{BROKEN}\ns_endpgm")
    (found,) = engine.hazard_violations(function, graph_for(function.target))
    assert found.edge_id == "haz.mfma.valu_read"
    assert bool(asked) == (many == 0)


def test_only_consumers_with_a_producer_within_reach_are_walked_back_from() -> None:
    far = "\n".join(["s_nop 7"] * 3 + ["s_mov_b32 s0, 0"] * 40)
    read = "v_accvgpr_read_b32 v4, a0"
    assert _walks(f"{MATRIX}\n{read}\ns_endpgm") > _walks(f"{MATRIX}\n{far}\n{read}\ns_endpgm")
    # The way back leads out of the block: what comes before is not looked at.
    assert _walks(f"{MATRIX}\n{far}\n.Lhead:\n{read}\ns_cbranch_scc1 .Lhead\ns_endpgm") == _walks(
        f"{MATRIX}\n.Lhead:\n{read}\ns_cbranch_scc1 .Lhead\ns_endpgm"
    )


def test_each_consumer_of_a_repeated_run_is_reported_and_a_clean_run_is_walked_once() -> None:
    gap = "s_mov_b32 s0, 0\n" * 40
    far = "s_nop 7\ns_nop 7\n"
    broken = kernel(GPU, f"{gap}{BROKEN}\n" * 4 + "s_endpgm")
    view = FunctionView(broken, graph_for(broken.target))
    found = Screen(view).violations()
    assert found == reference.evaluate(view)
    assert len({one.consumer.index for one in found}) == 4
    clean = f"{gap}{MATRIX}\n{far}v_accvgpr_read_b32 v4, a0\n"
    assert _walks(f"{clean * 9}s_endpgm") == _walks(f"{clean * 2}s_endpgm")
