"""The semantics against the host: a seeded sample of what ``benchmarks/proof_semantics.py`` runs in full."""

from __future__ import annotations

import pytest

from asmevo_gate.proof import step
from asmevo_gate.proof.operations import OPERATIONS
from tests.proof.ir_functions import COMPILER_FAULT, TARGETS, function_of, has_llc, has_llvmlite
from tests.proof.semantics_oracle import compare, compare_texts

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(not has_llc(), reason="llc-22 is not installed"),
    pytest.mark.skipif(not has_llvmlite(), reason="llvmlite is not installed"),
]


@pytest.mark.parametrize(("gpu", "wave"), TARGETS, ids=lambda value: str(value))
def test_assembly_computes_what_the_host_computes_for_its_ir(gpu: str, wave: int) -> None:
    found = compare(gpu, wave, seed=3, count=6)
    assert found.wrong == []
    assert found.values > 1000


def test_a_wrong_meaning_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = OPERATIONS["v_xor_b32"]
    monkeypatch.setitem(OPERATIONS, "v_xor_b32", right._replace(meaning=OPERATIONS["v_or_b32"].meaning))
    monkeypatch.setattr(step, "_steps", {})
    assert compare("gfx942", 64, seed=5, count=20).wrong


def test_a_fault_of_the_compiler_is_found() -> None:
    """What the comparison once found; when a later LLVM computes it right, the generator need not avoid it."""
    text = function_of("f0", COMPILER_FAULT, {0: "%x2", 3: "%x5"})
    found = compare_texts([text], "gfx942", 64, seed=1)
    assert any("result 3 (i64)" in message for message in found.wrong)
    assert not any("result 0 (i32)" in message for message in found.wrong)
