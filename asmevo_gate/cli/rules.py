"""``asmevo-gate rules``: what the gate checks."""

from __future__ import annotations

import click


@click.command("rules")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(format_: str) -> int:
    """List the rules: id, family, severity, title."""
    from asmevo_gate.rules.registry import all_rules

    rules = all_rules()
    if format_ == "json":
        import json

        rows = [
            {"id": rule.id, "family": rule.family, "severity": rule.severity, "title": rule.title} for rule in rules
        ]
        click.echo(json.dumps(rows, indent=2))
        return 0
    width = max(len(rule.id) for rule in rules)
    for rule in rules:
        click.echo(f"{rule.id:<{width}}  {rule.family:<12} {rule.severity:<8} {rule.title}")
    return 0
