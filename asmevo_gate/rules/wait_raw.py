"""The rules ``wait.counter.raw``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation
from asmevo_gate.rules.wait_violation import violations_of


class ReadBeforeArrival(Rule):
    """A register is read while a memory operation that writes it may still be in flight.

    What it does:
        Follows every memory counter of the target along all paths: which operation raises it, in which
        order the counted operations end, how far it can count, and what each wait guarantees. Reports an
        instruction that reads a register (as operand, store data or address) whose load no wait on some
        path has surely finished; paths lead into and out of functions of the same file that a kernel calls. The
        reported id names the counter: ``wait.vmcnt.raw``, ``wait.lgkmcnt.raw``, ``wait.loadcnt.raw`` and so on.
    Why it matters:
        The hardware does not hold the reader back. It gets the old contents of the register, on some cards,
        at some clocks, under some load. Such errors pass tests and show up as wrong results in production.
    Repair:
        Wait before the read until the counter is at most the count that the message names: the number of
        operations of the same order that were issued after the one that is needed. Scalar loads, and FLAT
        operations before gfx10, end in no known order: only 0 is enough for them.
    Sources:
        AMD ISA guides, "Manually Inserted Wait States" and S_WAITCNT; LLVM SIInsertWaitcnts
        (updateEventWaitcntAfter, determineWait); LLVM User Guide for AMDGPU Backend.
    """

    id = "wait.counter.raw"
    covers = r"wait\.[a-z]+cnt\.raw"
    title = "a register is read before the memory operation has written it"
    family = "wait"
    severity = "error"
    bad = (
        Example(
            "gfx90a",
            "k:\n"
            "  global_load_dword v2, v[0:1], off\n"
            "  global_load_dword v3, v[0:1], off offset:4\n"
            "  s_waitcnt vmcnt(2)\n"
            "  v_add_f32 v4, v2, v2\n"
            "  s_endpgm\n",
            line=5,
        ),
        Example(
            "gfx1030",
            "k:\n"
            "  global_load_dword v2, v[0:1], off\n"
            "  global_store_dword v[4:5], v6, off\n"
            "  s_waitcnt vmcnt(1)\n"
            "  v_add_f32 v4, v2, v2\n"
            "  s_endpgm\n",
            line=5,
        ),
        Example(
            "gfx1100",
            "k:\n"
            "  s_load_b32 s4, s[0:1], 0x0\n"
            "  s_load_b32 s5, s[0:1], 0x4\n"
            "  s_waitcnt lgkmcnt(1)\n"
            "  s_mov_b32 s6, s4\n"
            "  s_endpgm\n",
            line=5,
        ),
        Example(
            "gfx1200",
            "k:\n  ds_load_b32 v2, v0\n  s_wait_loadcnt 0x0\n  v_add_f32 v4, v2, v2\n  s_endpgm\n",
            line=4,
        ),
        Example(
            "gfx1250",
            "k:\n  flat_load_b32 v2, v[0:1]\n  s_wait_loadcnt 0x0\n  v_add_f32 v4, v2, v2\n  s_endpgm\n",
            line=4,
        ),
    )
    good = (
        Example(
            "gfx90a",
            "k:\n"
            "  global_load_dword v2, v[0:1], off\n"
            "  global_store_dword v[4:5], v6, off\n"
            "  s_waitcnt vmcnt(1)\n"
            "  v_add_f32 v4, v2, v2\n"
            "  s_endpgm\n",
        ),
        Example(
            "gfx1030",
            "k:\n"
            "  global_load_dword v2, v[0:1], off\n"
            "  global_store_dword v[4:5], v6, off\n"
            "  s_waitcnt vmcnt(0)\n"
            "  v_add_f32 v4, v2, v2\n"
            "  s_endpgm\n",
        ),
        Example(
            "gfx1100",
            "k:\n"
            "  ds_load_b32 v2, v0\n"
            "  ds_load_b32 v3, v0 offset:4\n"
            "  s_load_b32 s4, s[0:1], 0x0\n"
            "  s_waitcnt lgkmcnt(1)\n"
            "  v_add_f32 v4, v2, v2\n"
            "  s_endpgm\n",
        ),
        Example(
            "gfx1200",
            "k:\n"
            "  global_load_b32 v2, v[0:1], off\n"
            "  ds_load_b32 v3, v0\n"
            "  s_wait_loadcnt_dscnt 0x0\n"
            "  v_add_f32 v4, v2, v3\n"
            "  s_endpgm\n",
        ),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Every such access in the kernel."""
        return violations_of(facts, "raw")
