"""The chain of acceptance: each link refuses what it is there for, with its class and a reason."""

from __future__ import annotations

import pytest

from asmevo_gate.rewrite.edit_script import Delete, EditScript, Move, Replace, ReplaceOperand
from tests.rewrite.kernels import judged, kernel

BODY = "  v_add_f32_e32 v9, v4, v5\n  v_mov_b32_e32 v10, v9\n  v_mul_f32_e32 v8, v10, v6\n"
LAST = "v_mul_f32_e32 v8, v10, v6"


def refused(script: EditScript, body: str = BODY, at: str = LAST, gpu: str = "gfx90a") -> tuple[str, str]:
    verdict = judged(kernel(body, gpu), at, script, gpu)
    assert not verdict.accepted
    assert verdict.program.source.text == kernel(body, gpu)
    (one,) = verdict.rejected
    return one.class_, one.reason


def test_good_rewrite_passes_with_its_proof_and_numbers() -> None:
    verdict = judged(kernel(BODY), LAST, (ReplaceOperand(3, 1, "v9"), Delete(2)))
    (one,) = verdict.accepted
    assert one.proof.proved
    assert (one.old.instructions, one.new.instructions) == (4, 3)
    assert one.metrics["gain_percent"] == pytest.approx(25, abs=15)
    assert "v_mov_b32" not in verdict.program.source.text


def test_scope() -> None:
    assert refused((Delete(9),))[0] == "scope"
    class_, reason = refused((Replace(3, "global_store_dword v0, v9, s[2:3]"),))
    assert (class_, reason) == ("scope", "'global_store_dword v0, v9, s[2:3]': memory access or export")
    assert refused((Replace(3, "s_branch k"),))[0] == "scope"
    assert refused((Replace(3, "s_mov_b64 exec, s[4:5]"),)) == (
        "scope",
        "'s_mov_b64 exec, s[4:5]': changes EXEC",
    )


@pytest.mark.parametrize("text", ["v_wonder v1, v2", "v_permlane16_b32 v1, v2, s2, s3", "k: s_nop 0", ".long 7"])
def test_parse(text: str) -> None:
    assert refused((Replace(3, text),))[0] in ("parse", "scope")


def test_constraint_on_the_whole_kernel() -> None:
    dpp = "v_mov_b32_dpp v8, v9 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"
    body = f"  v_add_f32_e32 v9, v4, v5\n  s_nop 1\n  {dpp}\n"
    class_, reason = refused((Delete(2),), body, dpp)
    assert class_ == "constraint"
    assert reason.startswith(("dpp.", "haz."))


def test_constraint_includes_the_memory_waits() -> None:
    class_, reason = refused((Delete(0),))
    assert class_ == "constraint"
    assert reason.startswith("wait.")


def test_refuted_names_the_register_and_both_values() -> None:
    class_, reason = refused((ReplaceOperand(3, 2, "v7"),))
    assert class_ == "refuted"
    assert reason.startswith("v8 in lane ")
    assert refused((Replace(3, "v_mul_f32_e32 v8, v6, v6"),))[0] == "refuted"


def test_not_proved_is_a_rejection_too() -> None:
    body = "  v_mul_f32_e32 v9, v4, v5\n  v_add_f32_e32 v8, v9, v6\n"
    script = (Replace(2, "v_mad_f32 v8, v4, v5, v6"), Delete(1))
    assert refused(script, body, "v_add_f32_e32 v8, v9, v6", "gfx906")[0] in ("not_proved", "refuted")


def test_no_gain() -> None:
    body = "  v_add_f32_e32 v8, v4, v5\n  v_add_f32_e32 v9, v4, v6\n"
    verdict = judged(kernel(body, results="v8,v9"), "v_add_f32_e32 v8, v4, v5", (Move(2, 1),))
    assert [one.class_ for one in verdict.rejected] == ["no_gain"]


def test_assembler_confirms_new_forms() -> None:
    # Two SGPRs in one VALU instruction: beyond what the constant bus of gfx90a carries.
    body = "  v_mov_b32_e32 v9, s2\n  v_add_f32_e32 v9, s3, v9\n  v_add_f32_e32 v8, v9, v4\n"
    script = (Replace(2, "v_add_f32_e64 v9, s3, s2"), Delete(1))
    verdict = judged(kernel(body), "v_add_f32_e32 v8, v9, v4", script)
    assert [one.class_ for one in verdict.rejected] == ["assembler"]


def test_without_an_assembler_only_known_instructions_pass() -> None:
    new_form = judged(kernel(BODY), LAST, (ReplaceOperand(3, 1, "v9"), Delete(2)), assemble=False)
    assert [one.class_ for one in new_form.rejected] == ["assembler"]
    dead = BODY + "  v_mov_b32_e32 v11, v4\n"
    (one,) = judged(kernel(dead), LAST, (Delete(4),), assemble=False).accepted
    assert one.level == "static"


def test_file_that_does_not_assemble_is_left_alone() -> None:
    text = kernel(BODY + "  v_mov_b32_e32 v11, v4\n") + ".wonder\n"
    verdict = judged(text, LAST, (Delete(4),))
    assert not verdict.accepted
    assert {one.class_ for one in verdict.rejected} <= {"assembler", "constraint", "scope", "parse"}


def test_wait_that_orders_stores_for_other_waves_stays() -> None:
    # No register hangs on the wait between the two stores: whoever reads the second one relies on it.
    text = kernel(BODY).replace(
        "  s_endpgm", "  s_waitcnt vmcnt(0)\n  s_nop 0\n  global_store_dword v0, v9, s[2:3] offset:64\n  s_endpgm"
    )
    verdict = judged(text, "s_nop 0", (Delete(0),))
    (one,) = verdict.rejected
    assert one.class_ == "constraint"
    assert "may depend on it" in one.reason
    verdict = judged(text, "s_nop 0", (Replace(0, "s_waitcnt vmcnt(1)"),))
    assert [one.class_ for one in verdict.rejected] == ["constraint"]
    assert len(judged(text, "s_nop 0", (Delete(1),)).accepted) == 1
