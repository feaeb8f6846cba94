"""Examples of the findings that the gate itself makes, run through the gate."""

from __future__ import annotations

from pathlib import Path

import pytest

from asmevo_gate.changes import named_files
from asmevo_gate.gate.result import Finding
from asmevo_gate.gate.run import Request, run_gate
from asmevo_gate.gate.settings import Settings
from asmevo_gate.isa.targets import find_target
from asmevo_gate.rules.enc_assembles import Assembles
from asmevo_gate.rules.gate_suppression import Suppression
from asmevo_gate.rules.registry import all_rules
from asmevo_gate.rules.rule import Example, Rule
from asmevo_gate.verify.assembler import NotAssembled, find_assembler

MADE_BY_GATE = [rule for rule in all_rules() if rule.made_by_gate]


def findings(folder: Path, rule: Rule, example: Example) -> list[Finding]:
    (folder / "example.s").write_text(example.text)
    assemble = rule.id == Assembles.id
    if assemble and isinstance(find_assembler(find_target(example.gpu)), NotAssembled):
        pytest.skip(f"needs an assembler for {example.gpu}")
    changes = named_files(["example.s"], folder)
    report = run_gate(changes, Settings(root=folder), Request(assemble=assemble, named=True))
    return [finding for finding in report.findings if finding.rule == rule.id]


@pytest.mark.parametrize("rule", MADE_BY_GATE, ids=lambda rule: rule.id)
def test_the_examples_of_the_gates_own_findings_hold(tmp_path: Path, rule: Rule) -> None:
    for example in rule.bad:
        found = findings(tmp_path, rule, example)
        assert [(one.line, one.family) for one in found] == [(example.line, rule.family)]
    for example in rule.good:
        assert findings(tmp_path, rule, example) == []


def test_every_finding_of_the_gate_itself_has_a_page() -> None:
    assert {rule.id for rule in MADE_BY_GATE} == {Assembles.id, Suppression.id}
