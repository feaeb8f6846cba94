"""Damaged descriptors, metadata and control flow of compiled kernels: the right rule finds each."""

from __future__ import annotations

import pytest

from tests.mutation.descriptor_mutants import MUTATIONS, tally
from tests.oracles.compiled_kernels import COMPILER, compiled_kernels, compiler

pytestmark = pytest.mark.skipif(compiler() is None, reason=f"needs {COMPILER}")


@pytest.mark.parametrize("gpu", ["gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"])
def test_each_damage_is_found_by_its_rule(gpu: str) -> None:
    result = tally(compiled_kernels(9, [gpu]), seed=1, per_kernel=8)
    assert result.missed == []
    assert sum(result.made.values()) >= 30


def test_mutations_have_distinct_names() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)
