"""The rule ``house``: the sequence and style rules of a team."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation

_MERGED = "kernel:\n  v_fma_f32 v0, v1, v2, v3\n  s_endpgm\n"
_RUN = "kernel:\n" + "  v_add_f32 v0, v0, v1\n" * 4 + "  s_endpgm\n"


class House(Rule):
    """A rule of a team's own style is broken; off unless the settings switch it on.

    What it does:
        Evaluates the house rules that the settings name under `profiles`, and those that a constraint file of the
        project has with `"enabled": true`: instructions that must not be used (house.mac_merge), the longest run of
        instructions of one class (house.alu_run), an instruction that must stand behind another
        (house.move_after_add), registers that must not be written (house.reserved_vgprs). A project's constraint file
        adds its own.
    Why it matters:
        Nothing in the hardware asks for these rules. A team may have reasons of its own: results that are equal bit
        for bit, registers kept for code that is linked in, a scheduler that expects a shape.
    Repair:
        What the finding names.
    Sources:
        The constraint files, under `house`; each rule says what it is for.
    """

    id = "house"
    covers = r"house\.\w+"
    title = "a house rule is broken"
    family = "sequence"
    severity = "warning"
    bad = (
        Example("gfx942", _MERGED, line=2, profiles=("mac_merge",)),
        Example("gfx90a", _RUN, line=5, profiles=("alu_run",)),
        Example("gfx1100", "kernel:\n  v_mov_b32 v240, 0\n  s_endpgm\n", line=2, profiles=("reserved_vgprs",)),
    )
    good = (
        Example("gfx942", _MERGED),
        Example("gfx90a", _RUN.replace("v1\n", "v1\n  s_nop 0\n", 1), profiles=("alu_run",)),
        Example("gfx1100", "kernel:\n  v_mov_b32 v239, 0\n  s_endpgm\n", profiles=("reserved_vgprs",)),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """One violation for each place that breaks a house rule."""
        for found in facts.house:
            statement = found.instruction.statement
            yield Violation(
                place=statement.place,
                frames=statement.frames,
                message=found.message,
                repair=found.repair,
                path=found.through[:-1],
                severity=found.house.severity,
                rule=found.rule,
            )
