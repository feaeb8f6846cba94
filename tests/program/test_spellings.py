"""Questions to a function that are asked once a text."""

from __future__ import annotations

import random
from functools import reduce
from operator import or_

import pytest

from asmevo_gate.isa.instruction import Decoded, Op
from tests.analysis.written_functions import kernel
from tests.oracles.wait_programs import random_program


@pytest.mark.parametrize("seed", range(20))
def test_answers_are_those_of_a_walk_over_all_instructions(seed: int) -> None:
    function = kernel("gfx942", random_program("gfx942", random.Random(seed), 60) + "\nv_frobnicate v0\ns_endpgm")
    understood = [(one, one.decoded) for one in function.instructions if one.decoded is not None]
    loads = [(one, decoded) for one, decoded in understood if decoded.of(Op.LOAD)]
    assert function.where(lambda decoded: decoded.of(Op.LOAD)) == loads
    assert function.has(lambda decoded: decoded.of(Op.LOAD)) == bool(loads)
    assert function.of(Op.LOAD) == loads
    assert function.of(Op.LOAD | Op.WAIT) == [pair for pair in understood if pair[1].of(Op.LOAD | Op.WAIT)]
    assert function.where(lambda decoded: decoded.reads & 1, among=Op.VALU | Op.STORE) == [
        pair for pair in understood if pair[1].of(Op.VALU | Op.STORE) and pair[1].reads & 1
    ]
    assert function.has(lambda decoded: decoded.reads & 1, among=Op.SALU) == any(
        decoded.of(Op.SALU) and decoded.reads & 1 for _, decoded in understood
    )
    some = frozenset(sorted({decoded.base for _, decoded in understood})[::2])
    assert function.named(some) == [pair for pair in understood if pair[1].base in some]
    assert function.named(frozenset(("s_rfe_b64",))) == []
    assert set(function.operands) == {operand for _, decoded in understood for operand in decoded.operands}
    assert function.uses == (
        reduce(or_, (decoded.reads for _, decoded in understood)),
        reduce(or_, (decoded.writes for _, decoded in understood)),
    )
    assert [one.index for one in function.not_understood] == [len(function.instructions) - 2]
    for block, uses in zip(function.blocks, function.uses_of_blocks, strict=True):
        reads = writes = 0
        for one in function.instructions[block.first : block.end]:
            reads |= one.decoded.reads if one.decoded is not None else 0
            writes |= one.decoded.writes if one.decoded is not None else 0
        assert uses == (reads, writes)


def test_each_text_is_judged_once() -> None:
    function = kernel("gfx942", "s_nop 0\nv_mov_b32 v1, v2\ns_nop 0\ns_nop 1\ns_endpgm")
    asked: list[str] = []

    def judge(decoded: Decoded) -> str:
        asked.append(decoded.text)
        return decoded.text if decoded.base == "s_nop" else ""

    assert [(one.index, text) for one, text in function.judged(judge)] == [
        (0, "s_nop 0"),
        (2, "s_nop 0"),
        (3, "s_nop 1"),
    ]
    assert asked == ["s_nop 0", "v_mov_b32 v1, v2", "s_nop 1", "s_endpgm"]
