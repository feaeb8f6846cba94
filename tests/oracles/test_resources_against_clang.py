"""Our resource figures against the comments that LLVM prints behind each kernel."""

from __future__ import annotations

import pytest

from tests.oracles.compiled_kernels import COMPILER, compiled_kernels, compiler
from tests.oracles.resource_comments import comments_by_kernel, differences

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(compiler() is None, reason=f"{COMPILER} is not installed"),
]

SMALLER_REGISTER_FILE = ("gfx1102", "gfx1103", "gfx1150", "gfx1152", "gfx1153")
"""Processors with the instructions of gfx1100 / gfx1151 and two thirds of their VGPRs."""


def test_registers_lds_scratch_and_occupancy_are_what_the_compiler_says() -> None:
    kernels = 0
    for output in compiled_kernels(150):
        count, found = differences(output)
        assert not found
        kernels += count
    assert kernels >= 150


def test_processors_with_a_smaller_register_file_have_their_own_occupancy() -> None:
    kernels = 0
    for output in compiled_kernels(25, SMALLER_REGISTER_FILE):
        count, found = differences(output)
        assert not found
        kernels += count
    assert kernels >= 25


def test_the_sample_holds_kernels_that_each_limit_binds() -> None:
    occupancies = {
        figures["Occupancy"] for output in compiled_kernels(150) for figures in comments_by_kernel(output.text).values()
    }
    assert len(occupancies) >= 8
