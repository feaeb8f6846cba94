"""The rule ``nop.too_long``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.constraints.nop_slack import nop_slack
from asmevo_gate.program.model import Instruction
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation


def _kernel(body: str, more: str = "") -> str:
    """A kernel around some instructions."""
    head = f".amdhsa_kernel k\n.amdhsa_next_free_vgpr 8\n.amdhsa_next_free_sgpr 8\n{more}.end_amdhsa_kernel\n"
    return f"k:\n{body}  s_endpgm\n{head}"


_ACCUM = ".amdhsa_accum_offset 8\n"
_DPP = "  v_mov_b32_dpp v2, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n"


class NopTooLong(Rule):
    """An s_nop is longer than any hazard around it needs.

    What it does:
        Reports an s_nop that can be shorter, or be removed, without bringing any two instructions nearer than the
        hazards of the GPU's constraint file allow, on any path. All advice for one kernel may be followed together.
        Left alone are s_nops near a call, the start or the end of a function, before a loop head, behind s_setreg and
        other instructions whose effect takes time, in macros, and in code that remaps register names.
    Why it matters:
        Each wait state is a cycle in which the wave issues nothing. Compilers insert them for hazards that the ISA
        guides do not name; by hand they are often copied from another GPU, or stay when the code around them moves.
    Repair:
        Write the shorter s_nop that the message names, or remove it.
    Sources:
        AMD ISA guides, "Manually inserted wait states (NOPs)"; the same hazards as for missing wait states, which
        stay quiet with the shorter form.
    """

    id = "nop.too_long"
    title = "an s_nop is longer than any hazard needs"
    family = "hazard"
    severity = "info"
    bad = (
        Example("gfx942", _kernel(f"  v_mov_b32 v1, v0\n  s_nop 4\n{_DPP}  v_mov_b32 v3, v2\n", _ACCUM), line=3),
        Example("gfx90a", _kernel("  v_mov_b32 v1, v0\n  s_nop 0\n  v_mov_b32 v2, v1\n", _ACCUM), line=3),
        Example("gfx1030", _kernel("  v_mov_b32 v1, v0\n  s_nop 3\n  v_mov_b32 v2, v1\n"), line=3),
        Example("gfx1100", _kernel("  v_mov_b32 v1, v0\n  s_nop 3\n  v_mov_b32 v2, v1\n"), line=3),
        Example("gfx1200", _kernel("  v_mov_b32 v1, v0\n  s_nop 3\n  v_mov_b32 v2, v1\n"), line=3),
    )
    good = (
        Example("gfx942", _kernel(f"  v_mov_b32 v1, v0\n  s_nop 1\n{_DPP}", _ACCUM)),
        Example(
            "gfx90a",
            _kernel("  v_readfirstlane_b32 s6, v0\n  s_nop 4\n  global_load_dword v1, v0, s[6:7]\n", _ACCUM),
        ),
        Example("gfx1030", _kernel("  global_atomic_fmin v[0:1], v2, off\n  s_nop 2\n  s_denorm_mode 3\n")),
        Example("gfx1100", _kernel("  v_mov_b32 v1, v0\n  s_nop 0\n")),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Every s_nop that may be shorter."""
        for one in nop_slack(facts.constraint_view, facts.profiles):
            shorter = f"s_nop {one.enough - 1}"
            waits = "1 wait state" if one.enough == 1 else f"{one.enough} wait states"
            yield Violation(
                place=one.nop.statement.place,
                message=f"'{one.nop.statement.text}' is longer than any hazard needs: {waits} are enough on all paths"
                if one.enough
                else f"no hazard needs '{one.nop.statement.text}' on any path",
                repair=f"write '{shorter}'" if one.enough else "remove it",
                context=_context(facts.kernel.instructions, one.nop.index),
            )


def _context(instructions: tuple[Instruction, ...], index: int) -> str:
    """The s_nop with its neighbours: its own text stands in many places."""
    return " -> ".join(one.statement.text for one in instructions[max(index - 1, 0) : index + 2])
