"""The rule ``cf.call_not_followed``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation


class CallNotFollowed(Rule):
    """Distances over a call that are not checked.

    What it does:
        Says for which calls nothing is known of the called code: the address comes from memory or from another file,
        the code calls itself, or there is too much of it. Hazards between instructions before the call, in the
        called code and behind the call are then not checked; all others are. Calls of functions of the same file
        and of subroutines of the kernel (s_call_b64, or s_getpc_b64, an addition of the symbol, s_swappc_b64) are
        followed, also where the address is one of several.
    Why it matters:
        A wait state that is missing over a call is missed by compilers too: they look at one function at a time.
    Repair:
        None is needed. End a function with what its last instructions need, and begin it with nothing that has to be
        far from the call.
    Sources:
        AMDGPUUsage, "Non-Kernel Functions"; AMD ISA guides, S_SWAPPC_B64 and S_CALL_B64.
    """

    id = "cf.call_not_followed"
    title = "hazards over this call are not checked"
    family = "control-flow"
    severity = "info"
    bad = (
        Example(
            "gfx942",
            "kernel:\n  s_load_dwordx2 s[4:5], s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n"
            "  s_swappc_b64 s[30:31], s[4:5]\n  s_endpgm\n",
            line=4,
        ),
        Example("gfx1100", "kernel:\n  s_call_b64 s[30:31], elsewhere\n  s_endpgm\n", line=2),
    )
    good = (
        Example(
            "gfx942",
            "square:\n  v_mul_f32 v0, v0, v0\n  s_setpc_b64 s[30:31]\n"
            "kernel:\n  s_getpc_b64 s[4:5]\n  s_add_u32 s4, s4, square@rel32@lo+4\n"
            "  s_addc_u32 s5, s5, square@rel32@hi+12\n  v_mov_b32 v0, 1.0\n  s_swappc_b64 s[30:31], s[4:5]\n"
            "  s_endpgm\n",
        ),
        Example(
            "gfx1100",
            "kernel:\n  s_call_b64 s[30:31], .Lsub\n  s_endpgm\n.Lsub:\n  s_nop 0\n  s_setpc_b64 s[30:31]\n",
        ),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Each call of the kernel that leads nowhere known."""
        for index, reason in facts.linked.unresolved:
            if index >= len(facts.kernel.instructions):
                continue
            call = facts.kernel.instructions[index].statement
            yield Violation(
                place=call.place,
                frames=call.frames,
                message=f"hazards over this call are not checked: {reason}",
                repair="none is needed; keep the distances that the called code needs on both sides of the call",
                context=call.text,
            )
