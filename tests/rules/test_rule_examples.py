"""Every rule's own examples: the bad ones are reported at their line, the good ones are quiet."""

from __future__ import annotations

import pytest

from asmevo_gate.gate.file_check import CheckedProgram, check_text
from asmevo_gate.gate.findings import findings_of
from asmevo_gate.gate.result import Finding
from asmevo_gate.isa.targets import parse_target
from asmevo_gate.rules.documentation import documentation_of
from asmevo_gate.rules.registry import all_rules
from asmevo_gate.rules.rule import Example, Rule
from asmevo_gate.source.options import SourceOptions

CHECKED = [rule for rule in all_rules() if not rule.made_by_gate]
BAD = [pytest.param(rule, example, id=f"{rule.id}-{i}") for rule in CHECKED for i, example in enumerate(rule.bad)]
GOOD = [pytest.param(rule, example, id=f"{rule.id}-{i}") for rule in CHECKED for i, example in enumerate(rule.good)]


def findings(rule: Rule, example: Example) -> list[Finding]:
    target = parse_target(example.gpu)

    def check(text: str, base: CheckedProgram | None = None) -> CheckedProgram:
        profiles = frozenset(example.profiles)
        return check_text(
            "example.s", text, target, SourceOptions(), None, base, lambda other: other.id == rule.id, profiles=profiles
        )

    base = check(example.base) if example.base is not None else None
    return list(findings_of(check(example.text, base), {}))


@pytest.mark.parametrize(("rule", "example"), BAD)
def test_a_bad_example_is_reported_at_its_line(rule: Rule, example: Example) -> None:
    found = findings(rule, example)
    assert example.line in [finding.line for finding in found], [f"{f.line}: {f.message}" for f in found]
    assert all(finding.message and finding.family == rule.family for finding in found)


@pytest.mark.parametrize(("rule", "example"), GOOD)
def test_a_good_example_is_quiet(rule: Rule, example: Example) -> None:
    assert [f"{f.line}: {f.message}" for f in findings(rule, example)] == []


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.id)
def test_a_rule_is_documented_and_has_both_kinds_of_example(rule: Rule) -> None:
    assert all(documentation_of(type(rule)).sections.values())
    assert rule.bad and rule.good
