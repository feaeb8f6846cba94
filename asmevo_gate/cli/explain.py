"""``asmevo-gate explain RULE``: the documentation of a rule."""

from __future__ import annotations

import click


@click.command("explain")
@click.argument("rule_id", metavar="RULE")
def command(rule_id: str) -> int:
    """Explain a rule: what it reports, why it matters, how to repair it, examples, sources."""
    from asmevo_gate.rules.documentation import rule_page
    from asmevo_gate.rules.registry import find_rule

    click.echo(rule_page(find_rule(rule_id)), nl=False)
    return 0
