"""Mutants of compiled regions: a seeded sample of what ``benchmarks/proof_mutation.py`` runs in full."""

from __future__ import annotations

import pytest

from asmevo_gate.proof.equivalence import Prover
from tests.oracles.compiled_kernels import COMPILER, compiler
from tests.proof.region_sources import slices
from tests.proof.soundness import Tally, judge

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(compiler() is None, reason=f"{COMPILER} is not installed"),
]


def test_no_mutant_that_execution_distinguishes_is_accepted() -> None:
    total = Tally()
    for number, region in enumerate(slices(12, seed=4)):
        total.add(judge(region, 60, number))
    assert total.unsound == []
    assert total.answers["accepted"] > 0
    assert total.answers["rejected"] > total.answers["accepted"]


def test_a_prover_that_forgets_a_register_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge itself works: a prover that looks at no register accepts everything and is found out."""
    monkeypatch.setattr(Prover, "accepts", lambda self, old, new, live_out: True)
    region = next(slices(1, seed=4))
    assert judge(region, 60, 1).unsound
