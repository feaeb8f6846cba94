"""The rules ``wait.counter.sendmsg``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation
from asmevo_gate.rules.wait_violation import violations_of


class StateChangedBeforeMessageLeft(Rule):
    """A message and the state that it needs are not kept apart by a wait.

    What it does:
        Reports a write to M0 while a message that carries M0 may not have left (``wait.lgkmcnt.sendmsg``),
        and a message that gives all VGPRs back while a scratch store may still be in flight
        (``wait.vscnt.sendmsg``, ``wait.storecnt.sendmsg``). The first is an error on gfx9 and a warning on
        later targets, where no manual states it.
    Why it matters:
        The message carries the wrong payload: an interrupt handler then sees another wave or event. A store
        to scratch memory after the registers are released can hit the next wave's memory.
    Repair:
        Wait for the counter of the message, or of the stores, in between.
    Sources:
        AMD ISA guides, S_SENDMSG and LGKM_CNT; AMD ROCr trap handler ("Wait for the message to go out");
        LLVM SIInsertWaitcnts (ReleaseVGPRInsts, SCRATCH_WRITE_ACCESS).
    """

    id = "wait.counter.sendmsg"
    covers = r"wait\.[a-z]+cnt\.sendmsg"
    title = "state that a message depends on is changed too early"
    family = "wait"
    severity = "error"
    bad = (
        Example(
            "gfx90a",
            "k:\n  s_sendmsg sendmsg(MSG_INTERRUPT)\n  s_mov_b32 m0, s9\n  s_endpgm\n",
            line=3,
        ),
        Example(
            "gfx1100",
            "k:\n  scratch_store_b32 off, v0, s0\n  s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\n  s_endpgm\n",
            line=3,
        ),
    )
    good = (
        Example(
            "gfx90a", "k:\n  s_sendmsg sendmsg(MSG_INTERRUPT)\n  s_waitcnt lgkmcnt(0)\n  s_mov_b32 m0, s9\n  s_endpgm\n"
        ),
        Example(
            "gfx1100", "k:\n  global_store_b32 v[0:1], v2, off\n  s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\n  s_endpgm\n"
        ),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Every such access in the kernel."""
        return violations_of(facts, "sendmsg")
