"""What the package says that an instruction reads and writes equals what LLVM 22's descriptions say."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from asmevo_gate.isa.targets import find_target, target_names
from tests.oracles import isa_lines
from tests.oracles.compiled_kernels import compiled_kernels
from tests.oracles.isa_lines import (
    compare,
    instruction_lines,
    known_exceptions,
    other_wave_sizes,
    rare_spellings,
    sample_lines,
    varied,
    with_modifiers,
)

if TYPE_CHECKING:
    from agreement import KnownException

pytestmark = pytest.mark.oracle
LINES_PER_TARGET = 400
OUTPUTS = 26
DISAGREE = ("different", "not_decoded", "lenient", "rejected")
"""LLVM accepts the line and the package has another meaning or none; LLVM rejects it and the package has one."""


@pytest.fixture(scope="module", autouse=True)
def extractor() -> None:
    """Skip where the program that asks LLVM cannot be built."""
    from llvm_program import MissingTool

    try:
        isa_lines.llvm()
    except MissingTool as missing:
        pytest.skip(f"LLVM's descriptions are not at hand: {missing}")


@pytest.mark.parametrize("target", target_names())
def test_sampled_forms_agree(target: str) -> None:
    lines = sample_lines()[target]
    chosen = random.Random(22).sample(lines, min(LINES_PER_TARGET, len(lines)))
    verdicts = compare(target, find_target(target).wave_sizes[0], [*chosen, *varied(target, chosen, 1)])
    wrong = [v for v in verdicts if v.kind in DISAGREE]
    assert not wrong, wrong[:5]
    kinds = Counter(v.kind for v in verdicts)
    assert kinds["equal"] + kinds["explained"] >= len(chosen) * 0.95, kinds


@pytest.mark.parametrize("target", target_names())
def test_the_other_wave_size_agrees(target: str) -> None:
    for wave_size in other_wave_sizes(target):
        lines = random.Random(64).sample(sample_lines()[target], LINES_PER_TARGET)
        wrong = [v for v in compare(target, wave_size, varied(target, lines, 0)) if v.kind in DISAGREE]
        assert not wrong, wrong[:5]


@pytest.mark.parametrize("target", target_names())
def test_what_other_targets_have_is_refused(target: str) -> None:
    foreign = sorted({line for lines in sample_lines().values() for line in lines} - set(sample_lines()[target]))
    chosen = random.Random(22).sample(foreign, LINES_PER_TARGET)
    wrong = [v for v in compare(target, find_target(target).wave_sizes[0], chosen) if v.kind in DISAGREE]
    assert not wrong, wrong[:5]


@pytest.mark.parametrize("target", target_names())
def test_a_modifier_that_cannot_be_is_refused(target: str) -> None:
    lines = random.Random(23).sample(sample_lines()[target], LINES_PER_TARGET)
    verdicts = compare(target, find_target(target).wave_sizes[0], with_modifiers(target, lines, 1))
    wrong = [v for v in verdicts if v.kind in DISAGREE]
    assert not wrong, wrong[:5]
    assert Counter(v.kind for v in verdicts)["refused"] > 10


@pytest.mark.parametrize("known", known_exceptions(), ids=lambda known: known.name)
def test_every_exception_still_is_one(known: KnownException) -> None:
    target, text = known.example
    verdicts = compare(target, find_target(target).wave_sizes[0], [text])
    assert [(v.kind, v.detail) for v in verdicts] == [("exception", known.name)]


def test_rare_spellings_agree() -> None:
    lines: dict[str, list[str]] = {}
    for target, text in rare_spellings():
        lines.setdefault(target, []).append(text)
    for target, texts in lines.items():
        verdicts = compare(target, find_target(target).wave_sizes[0], texts)
        wrong = [v for v in verdicts if v.kind in DISAGREE]
        assert not wrong, wrong


def test_compiler_output_is_decoded_completely_and_agrees() -> None:
    seen = 0
    for output in compiled_kernels(OUTPUTS):
        lines = sorted(set(instruction_lines(output.text)))
        wave_size = 64 if "wavefrontsize64" in output.name else find_target(output.gpu).wave_sizes[0]
        verdicts = compare(output.gpu, wave_size, lines)
        wrong = [v for v in verdicts if v.kind not in ("equal", "explained")]
        assert not wrong, wrong[:5]
        seen += len(verdicts)
    if not seen:
        pytest.skip("clang-22 is not installed")
