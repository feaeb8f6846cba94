"""The rule ``haz``: every hazard of the constraint files."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.constraints.explanation import message, repair
from asmevo_gate.constraints.violation import HazardViolation
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation


class Hazard(Rule):
    """Instructions that follow each other too closely for the hardware.

    What it does:
        Evaluates the hazards of the GPU's constraint file over all paths: a consumer that comes fewer wait states (or
        VALU instructions, or MFMA passes) after its producer than the hardware needs, or without the instruction
        that ends the hazard. Each hazard has an id of its own (haz.mfma.valu_read ...); `asmevo-gate graph show ID`
        prints its producer, consumer, distance, what clears it, and its sources. Where the path leads over a call or a
        return, it is a warning: compilers look at one function at a time, and a jump may take longer than it counts.
    Why it matters:
        The hardware does not check these dependences: the consumer gets the old value, or half of the new one. The
        kernel computes wrong results, sometimes, on some cards.
    Repair:
        Put independent instructions, s_nop, v_nop or the wait that the finding names between the two.
    Sources:
        AMD ISA guides, "Manually inserted wait states (NOPs)"; LLVM GCNHazardRecognizer; each constraint names its own.
    """

    id = "haz"
    covers = r"(haz|dpp|seq)\.[\w.]+"
    title = "required distance between two instructions is missing"
    family = "hazard"
    severity = "error"
    bad = (
        Example(
            "gfx942",
            "kernel:\n  v_mov_b32 v1, 0\n"
            "  v_mov_b32_dpp v2, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n  s_endpgm\n",
            line=3,
        ),
        Example("gfx90a", "kernel:\n  s_mov_b32 m0, s0\n  s_sendmsg sendmsg(MSG_INTERRUPT)\n  s_endpgm\n", line=3),
    )
    good = (
        Example(
            "gfx942",
            "kernel:\n  v_mov_b32 v1, 0\n  s_nop 1\n"
            "  v_mov_b32_dpp v2, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n  s_endpgm\n",
        ),
        Example("gfx1100", "kernel:\n  s_mov_b32 m0, s0\n  s_sendmsg sendmsg(MSG_INTERRUPT)\n  s_endpgm\n"),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """One violation for each broken edge."""
        for found in facts.hazards:
            yield Violation(
                place=found.consumer.statement.place,
                frames=found.consumer.statement.frames,
                message=message(found),
                repair=repair(found),
                insertion=_insertion(found),
                producer=found.producer,
                path=found.through[1:-1] if len(found.through) > 2 else (),
                severity=found.severity,
                rule=found.edge.rule,
                context=f"{found.producer.statement.text if found.producer else ''} -> {found.consumer.statement.text}",
            )


_LONGEST_NOP = 8
"""Wait states of the longest ``s_nop`` that every GPU has (``s_nop 7``)."""


def _insertion(found: HazardViolation) -> str:
    """The ``s_nop`` that adds the missing wait states; empty where the distance is not counted in wait states."""
    if found.edge.unit != "wait_states" or found.found is None or found.needed is None:
        return ""
    missing = found.needed - found.found
    return f"s_nop {missing - 1}" if 0 < missing <= _LONGEST_NOP else ""
