"""Every rule has a bad and a good example on every GPU generation that it says something about."""

from __future__ import annotations

import pytest

from asmevo_gate.errors import GateError
from asmevo_gate.gate.file_check import CheckedProgram, check_text
from asmevo_gate.gate.findings import findings_of
from asmevo_gate.isa.targets import parse_target
from asmevo_gate.rules.registry import all_rules
from asmevo_gate.rules.rule import Example, Rule
from asmevo_gate.source.options import SourceOptions
from tests.rules.generations import GENERATIONS, NOT_APPLICABLE, OWN, carried_over

PAIRS = [
    pytest.param(rule, gpu, id=f"{rule.id}-{gpu}")
    for rule in all_rules()
    if not rule.made_by_gate
    for gpu in GENERATIONS
    if (rule.id, gpu) not in NOT_APPLICABLE
]


def is_reported(rule: Rule, example: Example) -> bool:
    return any(example.line in lines for lines, _ in _checks(rule, example))


def is_quiet(rule: Rule, example: Example) -> bool:
    return any(not lines and whole for lines, whole in _checks(rule, example))


def _checks(rule: Rule, example: Example) -> list[tuple[list[int], bool]]:
    """Lines of the findings, and whether every instruction is known, for each wave size of the GPU."""
    target = parse_target(example.gpu)
    found = []
    for wave_size in target.wave_sizes:

        def check(text: str, base: CheckedProgram | None = None, wave: int = wave_size) -> CheckedProgram:
            profiles, only = frozenset(example.profiles), lambda other: other.id == rule.id
            return check_text("example.s", text, target, SourceOptions(), wave, base, only, profiles=profiles)

        try:
            checked = check(example.text, None if example.base is None else check(example.base))
        except GateError:  # the words of another generation
            continue
        known = all(one.decoded is not None for function in checked.program.functions for one in function.instructions)
        found.append(([finding.line for finding in findings_of(checked, {})], known))
    return found


def on(gpu: str, examples: tuple[Example, ...]) -> list[Example]:
    """The examples for a GPU: those that are written for it, and the others in its words."""
    return [one if one.gpu.split(":")[0] == gpu else carried_over(one, gpu) for one in examples]


@pytest.mark.parametrize(("rule", "gpu"), PAIRS)
def test_a_rule_has_a_pair_on_each_generation(rule: Rule, gpu: str) -> None:
    own = OWN.get((rule.id, gpu))
    bad, good = ([own[0]], [own[1]]) if own else (on(gpu, rule.bad), on(gpu, rule.good))
    assert any(is_reported(rule, one) for one in bad), f"no bad example of {rule.id} is reported on {gpu}"
    assert any(is_quiet(rule, one) for one in good), f"no good example of {rule.id} is quiet on {gpu}"


def test_what_is_said_not_to_apply_is_about_rules_and_generations() -> None:
    rules = {rule.id for rule in all_rules()}
    assert {rule for rule, _ in (*NOT_APPLICABLE, *OWN)} <= rules
    assert {gpu for _, gpu in (*NOT_APPLICABLE, *OWN)} <= set(GENERATIONS)
    assert not NOT_APPLICABLE.keys() & OWN.keys()
