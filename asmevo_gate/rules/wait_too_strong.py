"""The rule ``wait.too_strong``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.isa.waits import weaker_wait
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation


class TooStrong(Rule):
    """A wait waits for more operations than anything behind it needs.

    What it does:
        Reports a wait whose count can be higher with the same results on every path, and names the highest
        count. Only waits that keep registers correct are judged: a wait in front of a barrier, a cache
        operation or a message, or one that stores depend on, orders memory for other waves and is left
        alone. All advice for one kernel may be followed together.
    Why it matters:
        Each operation that is waited for too early is latency that could be hidden: prefetched tiles are
        the usual victims of vmcnt(0).
    Repair:
        Raise the count to the one that the message names.
    Sources:
        AMD ISA guides, S_WAITCNT; the same analysis as for missing waits, which stays quiet with the weaker
        form.
    """

    id = "wait.too_strong"
    title = "a wait waits for more than is needed"
    family = "wait"
    severity = "info"
    bad = (
        Example(
            "gfx942",
            "k:\n"
            "  global_load_dword v2, v[0:1], off\n"
            "  global_load_dword v3, v[0:1], off offset:4\n"
            "  s_waitcnt vmcnt(0)\n"
            "  v_add_f32 v4, v2, v2\n"
            "  s_waitcnt vmcnt(0)\n"
            "  v_add_f32 v4, v3, v4\n"
            "  s_endpgm\n"
            ".amdhsa_kernel k\n"
            ".amdhsa_next_free_vgpr 8\n"
            ".amdhsa_next_free_sgpr 8\n"
            ".amdhsa_accum_offset 8\n"
            ".end_amdhsa_kernel\n",
            line=4,
        ),
        Example(
            "gfx1200",
            "k:\n"
            "  ds_load_b32 v2, v0\n"
            "  ds_load_b32 v3, v0 offset:4\n"
            "  s_wait_dscnt 0x0\n"
            "  v_add_f32 v4, v2, v2\n"
            "  s_wait_dscnt 0x0\n"
            "  v_add_f32 v4, v3, v4\n"
            "  s_endpgm\n"
            ".amdhsa_kernel k\n"
            ".amdhsa_next_free_vgpr 8\n"
            ".amdhsa_next_free_sgpr 8\n"
            ".end_amdhsa_kernel\n",
            line=4,
        ),
    )
    good = (
        Example(
            "gfx942",
            "k:\n"
            "  global_load_dword v2, v[0:1], off\n"
            "  global_load_dword v3, v[0:1], off offset:4\n"
            "  s_waitcnt vmcnt(0)\n"
            "  v_add_f32 v4, v2, v3\n"
            "  s_endpgm\n"
            ".amdhsa_kernel k\n"
            ".amdhsa_next_free_vgpr 8\n"
            ".amdhsa_next_free_sgpr 8\n"
            ".amdhsa_accum_offset 8\n"
            ".end_amdhsa_kernel\n",
        ),
        Example(
            "gfx1200",
            "k:\n"
            "  s_load_b32 s4, s[0:1], 0x0\n"
            "  s_load_b32 s5, s[0:1], 0x4\n"
            "  s_wait_kmcnt 0x0\n"
            "  s_mov_b32 s6, s4\n"
            "  s_mov_b32 s7, s5\n"
            "  s_endpgm\n"
            ".amdhsa_kernel k\n"
            ".amdhsa_next_free_vgpr 8\n"
            ".amdhsa_next_free_sgpr 8\n"
            ".end_amdhsa_kernel\n",
        ),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Every wait whose count can be raised."""
        for one in facts.too_strong_waits:
            if one.enough is None or one.wait.decoded is None:
                continue
            weaker = weaker_wait(one.wait.decoded, facts.kernel.target, one.counter, one.enough)
            yield Violation(
                place=one.wait.statement.place,
                frames=one.wait.statement.frames,
                message=f"{one.counter} {one.count} waits for more than is needed: {one.enough} is enough on all paths",
                repair=f"write '{weaker}'",
                context=one.wait.statement.text,
            )
