"""What a renderer may know beside the report: where the repository is, rule help, source text, limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asmevo_gate.rules.rule import Family, Rule, Severity


@dataclass(frozen=True, slots=True)
class RuleHelp:
    """The documentation of one rule, as formats that carry rule help show it. ``text`` is Markdown."""

    id: str
    title: str
    family: Family
    severity: Severity
    text: str
    uri: str = ""


@dataclass(frozen=True, slots=True)
class RenderContext:
    """What the renderers need beside the report. Every field has a default: a report can always be shown.

    ``root`` is the absolute path of the repository; paths below it are shown relative to it. ``sources``
    maps files (as the report names them) to their text at head, for excerpts where the report has none.
    ``fail_on`` is the lowest severity of a new finding that fails the gate. ``full_report`` says where the
    whole report can be seen (an address or a path), for the shortened formats. ``size_limit`` is in bytes
    and holds for Markdown: GitHub takes comments of 65,536 characters, GitLab far longer. ``colour`` and
    ``width`` (columns) are for the terminal; ``verbose`` shows the changes also when the gate passes.
    """

    root: str = ""
    rules: Mapping[str, RuleHelp] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    fail_on: Severity = "error"
    full_report: str = ""
    max_findings: int = 20
    max_rows: int = 40
    size_limit: int = 60_000
    colour: bool = False
    width: int = 100
    verbose: bool = False

    def help_for(self, rule: str) -> RuleHelp | None:
        """Help of ``rule``, or of the nearest rule that its dotted id lies under; ``None`` where there is
        none."""
        while rule and rule not in self.rules:
            rule = rule.rpartition(".")[0]
        return self.rules.get(rule)


def rule_help(rules: Iterable[type[Rule]], documentation: str = "") -> dict[str, RuleHelp]:
    """Help made from rule classes. ``documentation`` is the address of the folder that holds ``<id>.md``."""
    return {
        rule.id: RuleHelp(
            id=rule.id,
            title=rule.title,
            family=rule.family,
            severity=rule.severity,
            text=_markdown(rule),
            uri=f"{documentation.rstrip('/')}/{rule.id}.md" if documentation else "",
        )
        for rule in rules
    }


def _markdown(rule: type[Rule]) -> str:
    """The sections of the class docstring as Markdown: a line at the margin that ends in a colon is a
    heading."""
    from inspect import cleandoc

    lines = [f"# {rule.title}", ""]
    for line in cleandoc(rule.__doc__ or "").splitlines():
        if line.endswith(":") and not line.startswith(" "):
            lines += [f"## {line[:-1]}", ""]
        else:
            lines.append(line.strip() if line.startswith("    ") else line)
    for heading, examples, fence in (("Example", rule.bad, "asm"), ("Use instead", rule.good, "asm")):
        for example in examples[:1]:
            lines += ["", f"## {heading}", "", f"```{fence}", example.text.rstrip("\n"), "```"]
    return "\n".join(lines).strip() + "\n"
