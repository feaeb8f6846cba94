"""The rules ``wait.counter.war``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation
from asmevo_gate.rules.wait_violation import violations_of


class OverwrittenWhileRead(Rule):
    """A source of a memory operation is overwritten before the operation has read it.

    What it does:
        Reports writes to registers that an operation in flight may still read. That is so for exports and
        for GDS (their sources and EXEC, counted by expcnt: ``wait.expcnt.war``), and on gfx1250 for every
        vector or scalar memory operation until its addresses are translated (``wait.xcnt.war``). Stores,
        LDS writes and load addresses on other targets are read before the next instruction can write, so
        nothing is reported for them. On gfx1250 also reports writes to LDS that an asynchronous or tensor store in
        flight still reads (``wait.asynccnt.war``, ``wait.tensorcnt.war``), where both surely use the same address.
    Why it matters:
        The export or store sends the new value instead of the old one; on gfx1250 a replayed access uses it
        as address. A store from LDS sends what the next tile has put there.
    Repair:
        Wait for the counter, or use another register. On gfx1250 a wait for the data of the operation, or
        of a later one of the same kind, also ends the translation.
    Sources:
        AMD ISA guides, EXP_CNT; LLVM SIInsertWaitcnts (EXP_GPR_LOCK, GDS_GPR_LOCK, VMEM_GROUP, SMEM_GROUP,
        applyXcnt); ROCm/rocm-libraries pull request 9487 (stores from LDS).
    """

    id = "wait.counter.war"
    covers = r"wait\.[a-z]+cnt\.war"
    title = "a register is overwritten while a memory operation may still read it"
    family = "wait"
    severity = "error"
    bad = (
        Example(
            "gfx900",
            "k:\n  exp mrt0 v0, v1, v2, v3 done vm\n  v_mov_b32 v1, 0\n  s_endpgm\n",
            line=3,
        ),
        Example(
            "gfx1100",
            "k:\n  exp mrt0 v0, v1, v2, v3 done\n  s_mov_b32 exec_lo, 0\n  s_endpgm\n",
            line=3,
        ),
        Example(
            "gfx1250",
            "k:\n  global_store_b32 v[0:1], v2, off\n  v_mov_b32 v2, 0\n  s_endpgm\n",
            line=3,
        ),
        Example(
            "gfx1250",
            "k:\n  global_store_async_from_lds_b32 v1, v3, s[4:5]\n  ds_store_b32 v3, v2\n  s_endpgm\n",
            line=3,
        ),
    )
    good = (
        Example(
            "gfx900", "k:\n  exp mrt0 v0, v1, v2, v3 done vm\n  s_waitcnt expcnt(0)\n  v_mov_b32 v1, 0\n  s_endpgm\n"
        ),
        Example("gfx1100", "k:\n  global_store_b32 v[0:1], v2, off\n  v_mov_b32 v2, 0\n  s_endpgm\n"),
        Example(
            "gfx1250", "k:\n  global_store_b32 v[0:1], v2, off\n  s_wait_xcnt 0x0\n  v_mov_b32 v2, 0\n  s_endpgm\n"
        ),
        Example(
            "gfx1250",
            "k:\n  global_store_async_from_lds_b32 v1, v3, s[4:5]\n  s_wait_asynccnt 0x0\n  ds_store_b32 v3, v2\n"
            "  s_endpgm\n",
        ),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Every such access in the kernel."""
        return violations_of(facts, "war")
