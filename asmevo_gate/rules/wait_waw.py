"""The rules ``wait.counter.waw``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation
from asmevo_gate.rules.wait_violation import violations_of


class WrittenBeforeArrival(Rule):
    """A register is written while the result of an earlier memory operation may still be on its way to it.

    What it does:
        Reports an instruction that writes a register which a load in flight will write as well. The later
        arrival wins, so that the value of the earlier instruction ends up in the register. Two loads of one
        kind write in the order of issue on gfx9 to gfx11 and need no wait; from gfx12 on they do. LDS reads
        write in order on all targets. The reported id names the counter, such as ``wait.vmcnt.waw``.
    Why it matters:
        The result of the later instruction is lost, sometimes.
    Repair:
        Wait for the load first. If its result is not used, remove the load.
    Sources:
        LLVM SIInsertWaitcnts (hasVmemWriteVgprInOrder, getVmemType, generateWaitcntInstBefore); AMD ISA
        guides, "Data dependency resolution".
    """

    id = "wait.counter.waw"
    covers = r"wait\.[a-z]+cnt\.waw"
    title = "a register is overwritten while a load to it is in flight"
    family = "wait"
    severity = "error"
    bad = (
        Example(
            "gfx942",
            "k:\n  global_load_dword v2, v[0:1], off\n  v_mov_b32 v2, 0\n  s_waitcnt vmcnt(0)\n  s_endpgm\n",
            line=3,
        ),
        Example(
            "gfx1100",
            "k:\n  global_load_b32 v2, v[0:1], off\n  ds_load_b32 v2, v4\n  s_endpgm\n",
            line=3,
        ),
        Example(
            "gfx1200",
            "k:\n  global_load_b32 v2, v[0:1], off\n  global_load_b32 v2, v[4:5], off\n  s_endpgm\n",
            line=3,
        ),
        Example(
            "gfx90a",
            "k:\n  s_load_dword s4, s[0:1], 0x0\n  s_load_dword s4, s[2:3], 0x0\n  s_endpgm\n",
            line=3,
        ),
    )
    good = (
        Example("gfx942", "k:\n  global_load_dword v2, v[0:1], off\n  global_load_dword v2, v[4:5], off\n  s_endpgm\n"),
        Example(
            "gfx1200",
            "k:\n"
            "  global_load_b32 v2, v[0:1], off\n"
            "  s_wait_loadcnt 0x0\n"
            "  global_load_b32 v2, v[4:5], off\n"
            "  s_endpgm\n",
        ),
        Example("gfx1100", "k:\n  ds_load_b32 v2, v0\n  ds_load_b32 v2, v1\n  s_endpgm\n"),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Every such access in the kernel."""
        return violations_of(facts, "waw")
