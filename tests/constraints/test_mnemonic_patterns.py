"""Mnemonic patterns of the constraint files against the shell patterns that they are."""

from __future__ import annotations

import re
from fnmatch import translate

import pytest

from asmevo_gate.constraints.files import graph_for
from asmevo_gate.constraints.matching import _Mnemonics
from asmevo_gate.isa.decoder import isa_for
from asmevo_gate.isa.targets import find_target


@pytest.mark.parametrize("gpu", ["gfx90a", "gfx942", "gfx1100", "gfx1250"])
def test_every_pattern_fits_what_the_shell_pattern_fits(gpu: str) -> None:
    target = find_target(gpu)
    graph = graph_for(target)
    of_classes = {names for one in graph.classes.values() for names in (one.mnemonics, one.except_mnemonics)}
    of_grades = {(one.partition("|")[0],) for names in graph.grades.values() for one in names}
    for patterns in (of_classes | of_grades) - {()}:
        ours, shell = _Mnemonics(patterns), re.compile("|".join(map(translate, patterns)))
        for mnemonic in isa_for(target, target.wave_sizes[0]).mnemonics():
            assert ours.match(mnemonic) == bool(shell.match(mnemonic)), (patterns, mnemonic)


def test_kinds_of_patterns() -> None:
    ours = _Mnemonics(("s_nop", "v_mfma_*", "v_*_f64", "v_cmp[x]_?"))
    for mnemonic in ("s_nop", "v_mfma_f32", "v_mfma_", "v_add_f64", "v_cmpx_a"):
        assert ours.match(mnemonic), mnemonic
    for mnemonic in ("s_nop2", "xs_nop", "v_mfma", "v_add_f64_e32", "v_cmpx_ab", "v_mfma_*"[:6], ""):
        assert not ours.match(mnemonic), mnemonic
