"""The names that settings may use: GPUs, profiles, and rules with the ids that stand for one of their findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from asmevo_gate.constraints.model import ConstraintFile
from asmevo_gate.gate.settings import Settings


def check_settings(settings: Settings, constraints: Mapping[str, ConstraintFile], formats: Iterable[str]) -> None:
    """Compare every name in the settings with those that the tool knows; ``formats`` are the report formats.

    Raises:
        UsageError: a name is unknown; with file, line and the nearest known name.
    """
    from asmevo_gate.isa.targets import target_names

    own = constraints.values()
    if settings.severities or settings.disabled:
        settings.check_names(rules=rule_names() | _rules_of(own))
    if settings.profiles:
        settings.check_names(profiles=profile_names(own))
    settings.check_names(gpus=target_names(), formats=formats)


def profile_names(own: Iterable[ConstraintFile] = ()) -> frozenset[str]:
    """What ``profiles`` may switch on: house rules, and profiles of hazards; of the shipped files and of some more."""
    from asmevo_gate.constraints.files import file_names, load_shipped

    files = (*(load_shipped(name) for name in file_names()), *own)
    house = {name for file in files for name in file.house}
    return frozenset(house | {edge.profile for file in files for edge in file.edges.values() if edge.profile})


def _rules_of(files: Iterable[ConstraintFile]) -> frozenset[str]:
    """Ids of the hazards and house rules of some files."""
    found = {edge.rule for file in files for edge in file.edges.values()}
    return frozenset(found | {f"house.{name}" for file in files for name in file.house})


@cache
def rule_names() -> frozenset[str]:
    """Ids of rules, of the hazards and house rules of all constraint files (``haz.*``, ``house.*``), of the wait rules
    by counter (``wait.vmcnt.raw``), and of what the gate itself reports."""
    from asmevo_gate.constraints.files import file_names, load_shipped
    from asmevo_gate.gate.compile_check import RULE as ASSEMBLES
    from asmevo_gate.isa.targets import find_target, target_names
    from asmevo_gate.isa.waits import counter_limits
    from asmevo_gate.rules.registry import all_rules

    rules = {rule.id for rule in all_rules()}
    edges = _rules_of([load_shipped(name) for name in file_names()])
    counters = {counter for gpu in target_names() for counter in counter_limits(find_target(gpu))}
    accesses = {rule.rpartition(".")[2] for rule in rules if rule.startswith("wait.counter.")}
    waits = {f"wait.{counter}.{access}" for counter in counters for access in accesses}
    return frozenset(
        rules | edges | waits | {f"wait.{counter}" for counter in counters} | {ASSEMBLES, "gate.suppression"}
    )
