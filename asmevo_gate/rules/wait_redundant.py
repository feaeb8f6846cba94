"""The rule ``wait.redundant``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.analysis.pending_slack import Slack
from asmevo_gate.isa.waits import counter_limits, wait_text, waits_for_all, weaker_wait
from asmevo_gate.program.model import Instruction
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation


class Redundant(Rule):
    """A wait for a counter on which nothing needs it.

    What it does:
        Reports a wait for a counter on which no operation can be in flight, or that the next wait for the
        counter, with no operation in between, makes needless. Waits that order memory for other waves
        (before barriers, cache operations and messages, or behind stores) are left alone, and so are waits
        behind calls and in functions that are no kernels.
    Why it matters:
        It costs an issue slot and hides what really synchronises the code: the next reader relies on it.
    Repair:
        Remove the counter from the wait, or the whole wait when no other counter is left.
    Sources:
        AMD ISA guides, S_WAITCNT; the same analysis as for missing waits, which stays quiet without the
        wait.
    """

    id = "wait.redundant"
    title = "a wait has nothing to wait for"
    family = "wait"
    severity = "info"
    bad = (
        Example(
            "gfx942",
            "k:\n"
            "  ds_read_b32 v2, v0\n"
            "  s_waitcnt vmcnt(0) lgkmcnt(0)\n"
            "  v_mov_b32 v3, v2\n"
            "  s_endpgm\n"
            ".amdhsa_kernel k\n"
            ".amdhsa_next_free_vgpr 8\n"
            ".amdhsa_next_free_sgpr 8\n"
            ".amdhsa_accum_offset 8\n"
            ".end_amdhsa_kernel\n",
            line=3,
        ),
        Example(
            "gfx1100",
            "k:\n"
            "  v_mov_b32 v3, v2\n"
            "  s_waitcnt_vscnt null, 0x0\n"
            "  s_endpgm\n"
            ".amdhsa_kernel k\n"
            ".amdhsa_next_free_vgpr 8\n"
            ".amdhsa_next_free_sgpr 8\n"
            ".end_amdhsa_kernel\n",
            line=3,
        ),
        Example(
            "gfx1200",
            "k:\n"
            "  global_load_b32 v2, v[0:1], off\n"
            "  s_waitcnt vmcnt(0)\n"
            "  v_mov_b32 v3, v2\n"
            "  s_endpgm\n"
            ".amdhsa_kernel k\n"
            ".amdhsa_next_free_vgpr 8\n"
            ".amdhsa_next_free_sgpr 8\n"
            ".end_amdhsa_kernel\n",
            line=3,
        ),
    )
    good = (
        Example(
            "gfx942",
            "k:\n"
            "  global_store_dword v[0:1], v2, off\n"
            "  s_waitcnt vmcnt(0)\n"
            "  s_barrier\n"
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
            "  ds_load_b32 v2, v0\n"
            "  s_wait_dscnt 0x0\n"
            "  v_mov_b32 v3, v2\n"
            "  s_endpgm\n"
            ".amdhsa_kernel k\n"
            ".amdhsa_next_free_vgpr 8\n"
            ".amdhsa_next_free_sgpr 8\n"
            ".end_amdhsa_kernel\n",
        ),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Every wait for a counter that needs none; one finding for a wait that names no counter."""
        target = facts.kernel.target
        unnamed: dict[int, list[Slack]] = {}
        for one in facts.too_strong_waits:
            decoded = one.wait.decoded
            if one.enough is not None or decoded is None:
                continue
            if waits_for_all(decoded, target):
                unnamed.setdefault(one.wait.index, []).append(one)
                continue
            why = (
                "nothing is in flight on it"
                if one.nothing_pending
                else "the next wait for it comes before anything needs it"
            )
            message = f"the wait for {one.counter} {one.count} is not needed: {why}"
            yield _violation(one.wait, message, weaker_wait(decoded, target, one.counter, None))
        for slack in unnamed.values():
            gone = {one.counter for one in slack}
            needed = [counter for counter in counter_limits(target) if counter not in gone]
            message = f"of the wait for everything nothing is needed but {' and '.join(needed)}"
            left = "; ".join(wait_text(counter, 0, target) for counter in needed)
            yield _violation(slack[0].wait, message if needed else "the wait for everything is not needed", left)


def _violation(wait: Instruction, message: str, left: str) -> Violation:
    return Violation(
        place=wait.statement.place,
        frames=wait.statement.frames,
        message=message,
        repair=f"write '{left}'" if left else "remove it",
        context=wait.statement.text,
    )
