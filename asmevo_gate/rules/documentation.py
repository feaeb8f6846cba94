"""A rule's documentation page, made from its class."""

from __future__ import annotations

from inspect import cleandoc

import msgspec

from asmevo_gate.rules.rule import Example, Rule

SECTIONS = ("What it does", "Why it matters", "Repair", "Sources")


class RuleDocumentation(msgspec.Struct, frozen=True):
    """The parts of a rule's docstring: its first paragraph, and the text of each section by name."""

    summary: str
    sections: dict[str, str]


def documentation_of(rule: type[Rule]) -> RuleDocumentation:
    """The parsed docstring of a rule class.

    Raises:
        ValueError: the docstring lacks one of :data:`SECTIONS` or has another one.
    """
    summary: list[str] = []
    sections: dict[str, list[str]] = {}
    current = summary
    for line in cleandoc(rule.__doc__ or "").splitlines():
        if line.endswith(":") and not line.startswith(" ") and line[:-1] in SECTIONS:
            current = sections[line[:-1]] = []
        else:
            current.append(line.removeprefix("    "))
    missing = [name for name in SECTIONS if name not in sections]
    if missing:
        raise ValueError(f"{rule.__name__}: the docstring lacks the sections {', '.join(missing)}")
    return RuleDocumentation(
        "\n".join(summary).strip(), {name: "\n".join(lines).strip() for name, lines in sections.items()}
    )


def rule_page(rule: Rule) -> str:
    """The Markdown page ``docs/rules/<id>.md`` of a rule."""
    documentation = documentation_of(type(rule))
    lines = [
        f"# {rule.id}",
        "",
        f"*{rule.title}* (family {rule.family}, severity {rule.severity})",
        "",
        documentation.summary,
    ]
    for name in SECTIONS:
        lines += ["", f"## {name}", "", documentation.sections[name]]
        if name == "Why it matters":
            lines += _examples("Reported", rule.bad) + _examples("Right", rule.good)
    return "\n".join(lines) + "\n"


def _examples(heading: str, examples: tuple[Example, ...]) -> list[str]:
    lines: list[str] = []
    for example in examples:
        line = f", line {example.line}" if example.line else ""
        line += f", with `profiles: [{', '.join(example.profiles)}]`" if example.profiles else ""
        lines += ["", f"## {heading} ({example.gpu}{line})", "", "```asm", example.text.rstrip("\n"), "```"]
    return lines
