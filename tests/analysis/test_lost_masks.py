"""Saved EXEC masks that are overwritten before EXEC gets them back."""

from __future__ import annotations

import pytest

from asmevo_gate.analysis.lost_masks import LostMask, lost_masks
from tests.analysis.written_functions import FIRST_LINE, kernel

_RESTORE = "s_or_b64 exec, exec, s[8:9]\n"
_REGION = "s_and_saveexec_b64 s[8:9], vcc\ns_cbranch_execz .Ljoin\n{inside}.Ljoin:\n" + _RESTORE + "s_endpgm"


def lost(body: str, gpu: str = "gfx90a") -> list[LostMask]:
    return list(lost_masks(kernel(gpu, body)))


@pytest.mark.parametrize(
    "inside",
    [
        "s_mov_b32 s9, 7\n",
        "s_load_dword s8, s[0:1], 0x0\n",
        "s_lshl_b32 s9, s4, 2\n",
        "s_and_saveexec_b64 s[8:9], vcc\n",
    ],
)
def test_what_is_no_form_of_the_mask_loses_it(inside: str) -> None:
    (found,) = lost(_REGION.format(inside=inside))
    assert found.overwrite.statement.place.line == FIRST_LINE + 2
    assert found.restore.statement.name == "s_or_b64"


@pytest.mark.parametrize(
    "inside",
    [
        "s_mov_b32 s10, 7\n",
        "s_xor_b64 s[8:9], exec, s[8:9]\n",
        "s_mov_b64 s[8:9], s[12:13]\n",
        "v_readlane_b32 s8, v40, 0\n",
        "v_cmp_gt_u32 s[8:9], 9, v0\n",
    ],
)
def test_what_may_be_a_mask_says_nothing(inside: str) -> None:
    assert lost(_REGION.format(inside=inside)) == []


def test_regions_behind_each_other_and_in_loops_may_share_a_register() -> None:
    region = (
        "s_and_saveexec_b64 s[8:9], vcc\ns_cbranch_execz .L{0}\nv_mov_b32 v1, 0\n.L{0}:\ns_or_b64 exec, exec, s[8:9]\n"
    )
    assert lost(region.format("a") + region.format("b") + "s_endpgm") == []
    loop = ".Lloop:\n" + region.format("a") + "s_cmp_eq_u32 s4, 0\ns_cbranch_scc1 .Lloop\ns_endpgm"
    assert lost(loop) == []


def test_without_a_branch_around_it_only_a_part_of_the_mask_tells() -> None:
    straight = "s_and_saveexec_b64 s[8:9], vcc\n{0}" + _RESTORE + "s_endpgm"
    assert len(lost(straight.format("s_mov_b32 s8, 0\n"))) == 1
    assert lost(straight.format("s_mov_b64 s[8:9], -1\n")) == []
