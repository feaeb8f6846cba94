"""The documentation of ``gate.suppression``, which :mod:`asmevo_gate.gate.suppressions` reports."""

from __future__ import annotations

from asmevo_gate.rules.rule import Example, Rule


def _text(comment: str) -> str:
    return (
        '.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"\n.text\nkernel:\n'
        f"  s_branch .Lend\n  {comment}\n  v_mov_b32 v0, 0\n.Lend:\n  s_endpgm\n"
    )


class Suppression(Rule):
    """A suppression comment that suppresses nothing.

    What it does:
        Reports `; asmevo: ignore[RULE] reason` without a rule or without a reason (error), and one that matches no
        finding on its own line or on the next (warning).
    Why it matters:
        A comment without a reason cannot be reviewed, and one that matches nothing any more hides the next finding
        that appears there.
    Repair:
        Name the rule and say why the code is right, or remove the comment.
    Sources:
        The gate's own contract: every suppression has a rule, a reason and a use.
    """

    id = "gate.suppression"
    title = "suppression comment is incomplete or unused"
    family = "isa"
    severity = "error"
    made_by_gate = True
    bad = (
        Example("gfx90a", _text("; asmevo: ignore[cf.unreachable]"), line=5),
        Example("gfx90a", _text("; asmevo: ignore[kd.lds.under] the host adds dynamic LDS"), line=5),
    )
    good = (Example("gfx90a", _text("; asmevo: ignore[cf.unreachable] kept for the debugger")),)
