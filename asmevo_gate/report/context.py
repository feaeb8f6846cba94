"""What a renderer may know beside the report: where the repository is, rule help, source text, limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from asmevo_gate.gate.picture import KernelPicture
    from asmevo_gate.rules.rule import Family, Rule, Severity


class RuleHelp(msgspec.Struct, frozen=True):
    """The documentation of one rule, as formats that carry rule help show it. ``text`` is Markdown."""

    id: str
    title: str
    family: Family
    severity: Severity
    text: str
    uri: str = ""


class RenderContext(msgspec.Struct, frozen=True):
    """What the renderers need beside the report. Every field has a default: a report can always be shown.

    - ``root`` is the absolute path of the repository; paths below it are shown relative to it.
    - ``sources`` maps files (as the report names them) to their text at head, where the report has no excerpt.
    - ``fail_on`` is the lowest severity of a new finding that fails the gate, ``None`` for one that never fails.
    - ``full_report`` says where the whole report can be seen (an address or a path), for the shortened formats.
    - ``size_limit`` is in bytes and holds for Markdown: GitHub takes comments of 65,536 characters, GitLab longer.
    - ``pictures_at`` is where a Markdown page finds the pictures as files: a relative directory or an address, with a
      slash at its end. Without it the page shows them as text.
    - ``colour`` and ``width`` (columns) are for the terminal; ``verbose`` shows the changes also on a pass.
    """

    root: str = ""
    rules: Mapping[str, RuleHelp] = {}
    sources: Mapping[str, str] = {}
    fail_on: Severity | None = "error"
    full_report: str = ""
    max_findings: int = 20
    max_rows: int = 40
    size_limit: int = 60_000
    colour: bool = False
    width: int = 100
    verbose: bool = False
    pictures: tuple[KernelPicture, ...] = ()
    pictures_at: str = ""

    def help_for(self, rule: str) -> RuleHelp | None:
        """Help of ``rule``, or of the nearest rule that its dotted id lies under; ``None`` if there is none."""
        while rule and rule not in self.rules:
            rule = rule.rpartition(".")[0]
        return self.rules.get(rule)


def rule_help(rules: Iterable[Rule | type[Rule]], documentation: str = "") -> Mapping[str, RuleHelp]:
    """Help made from rules. ``documentation`` is the address of the folder that holds ``<id>.md``."""
    return _HelpOfRules(rules, documentation)


class _HelpOfRules(Mapping[str, RuleHelp]):
    """The help of each rule by its id, made when it is asked for: most reports show that of few rules, or of none."""

    def __init__(self, rules: Iterable[Rule | type[Rule]], documentation: str) -> None:
        self._rules = {rule.id: rule for rule in rules}
        self._documentation = documentation.rstrip("/")
        self._made: dict[str, RuleHelp] = {}

    def __getitem__(self, rule: str) -> RuleHelp:
        if rule not in self._made:
            self._made[rule] = _help(self._rules[rule], self._documentation)
        return self._made[rule]

    def __contains__(self, rule: object) -> bool:
        return rule in self._rules

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)


def _help(rule: Rule | type[Rule], documentation: str) -> RuleHelp:
    from asmevo_gate.rules.documentation import rule_page

    return RuleHelp(
        id=rule.id,
        title=rule.title,
        family=rule.family,
        severity=rule.severity,
        text=rule_page(rule() if isinstance(rule, type) else rule),
        uri=f"{documentation}/{rule.id}.md" if documentation else "",
    )
