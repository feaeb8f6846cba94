"""Every rule of the package, found by its file: adding a rule is adding a file."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path

from asmevo_gate.errors import UsageError
from asmevo_gate.rules.rule import Rule

_NOT_RULES = {
    "__init__",
    "rule",
    "registry",
    "facts",
    "documentation",
    "kernel_examples",
    "register_use",
    "metadata_place",
}


@cache
def all_rules() -> tuple[Rule, ...]:
    """One instance of each rule class, ordered by id."""
    rules: dict[str, Rule] = {}
    for entry in sorted(Path(__file__).parent.iterdir(), key=lambda entry: entry.name):
        stem, dot, suffix = entry.name.partition(".")
        if not dot or suffix != "py" or stem in _NOT_RULES:
            continue
        module = import_module(f"asmevo_gate.rules.{stem}")
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Rule) and value.__module__ == module.__name__:
                rule = value()
                if rule.id in rules:
                    raise AssertionError(f"two rules have the id {rule.id}")
                rules[rule.id] = rule
    return tuple(rules[key] for key in sorted(rules))


def find_rule(rule_id: str) -> Rule:
    """The rule with this id, or the one that reports findings under it.

    Raises:
        UsageError: there is none.
    """
    for rule in all_rules():
        if rule.id == rule_id or (rule.covers and re.fullmatch(rule.covers, rule_id)):
            return rule
    near = [rule.id for rule in all_rules() if rule_id.split(".")[0] == rule.id.split(".")[0]]
    raise UsageError(
        f"there is no rule '{rule_id}'",
        f"rules of that group: {', '.join(near)}" if near else "see: asmevo-gate rules",
    )
