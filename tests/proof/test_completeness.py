"""Rewrites that are equal by construction: a seeded sample of ``benchmarks/proof_completeness.py``."""

from __future__ import annotations

import random

import pytest

from asmevo_gate.isa.decoder import isa_for
from asmevo_gate.proof import lift
from asmevo_gate.proof.equivalence import ProofOptions, prove_block
from asmevo_gate.proof.execution import run_both
from tests.oracles.compiled_kernels import COMPILER, compiler
from tests.proof.equal_rewrites import KINDS, rewrite
from tests.proof.region_sources import slices

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(compiler() is None, reason=f"{COMPILER} is not installed"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_equal_rewrites_are_proved_and_execution_agrees(kind: str) -> None:
    rng = random.Random(kind)
    asked = proved = 0
    for region in slices(20, seed=6, smallest=6):
        made = rewrite(region, isa_for(region.target, region.wave_size), kind, rng)
        if made is None:
            continue
        options = ProofOptions("any" if made.nans else "exact", lane_active=region.lane_active)
        proof = prove_block(
            made.old, made.new, region.live_out, target=region.target, wave_size=region.wave_size, options=options
        )
        asked += 1
        proved += proof.proved
        if proof.proved and not made.nans and asked <= 4:
            run = run_both(
                made.old,
                made.new,
                region.live_out,
                target=region.target,
                wave_size=region.wave_size,
                waves=40,
                lane_active=region.lane_active,
            )
            assert run.different == ""
            assert run.engine in (("llvm", "none") if lift.available() else ("numpy", "none"))
    assert asked >= 3
    assert proved >= 0.97 * asked
