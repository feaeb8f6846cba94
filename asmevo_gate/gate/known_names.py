"""The names that settings may use: rules, with the ids that stand for one of many findings of a rule, and GPUs."""

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

    own = {edge.rule for file in constraints.values() for edge in file.edges.values()}
    if settings.severities or settings.disabled:
        settings.check_names(rules=rule_names() | own)
    settings.check_names(gpus=target_names(), formats=formats)


@cache
def rule_names() -> frozenset[str]:
    """Ids of rules, of the hazards of all constraint files (``haz.*``), of the wait rules by counter
    (``wait.vmcnt.raw``), and of what the gate itself reports."""
    from asmevo_gate.constraints.files import file_names, load_shipped
    from asmevo_gate.gate.compile_check import RULE as ASSEMBLES
    from asmevo_gate.isa.targets import find_target, target_names
    from asmevo_gate.isa.waits import counter_limits
    from asmevo_gate.rules.registry import all_rules

    rules = {rule.id for rule in all_rules()}
    edges = {edge.rule for name in file_names() for edge in load_shipped(name).edges.values()}
    counters = {counter for gpu in target_names() for counter in counter_limits(find_target(gpu))}
    accesses = {rule.rpartition(".")[2] for rule in rules if rule.startswith("wait.counter.")}
    waits = {f"wait.{counter}.{access}" for counter in counters for access in accesses}
    return frozenset(
        rules | edges | waits | {f"wait.{counter}" for counter in counters} | {ASSEMBLES, "gate.suppression"}
    )
