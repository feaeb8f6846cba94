"""The rules ``wait.counter.barrier``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation
from asmevo_gate.rules.wait_violation import violations_of


class LdsWriteAcrossBarrier(Rule):
    """LDS is read behind a barrier that an LDS write in flight has crossed.

    What it does:
        Reports a read of LDS behind a barrier if an LDS write of the same wave may have been in flight at
        that barrier: the other waves do the same, and their data may be missing. An error when nothing else
        has filled LDS, otherwise a warning, as the read may be from another buffer. Writes without a
        barrier are quiet: operations of one wave on LDS stay in order. Ids: ``wait.lgkmcnt.barrier``,
        ``wait.dscnt.barrier``.
    Why it matters:
        A barrier makes waves wait for each other, not for their memory operations.
    Repair:
        Wait for the LDS counter to reach 0 before the barrier.
    Sources:
        LLVM User Guide for AMDGPU Backend, memory model (release at workgroup scope: s_waitcnt lgkmcnt(0)
        before the barrier); AMD ISA guides, S_BARRIER.
    """

    id = "wait.counter.barrier"
    covers = r"wait\.[a-z]+cnt\.barrier"
    title = "an LDS write may not have landed when the barrier is passed"
    family = "wait"
    severity = "error"
    bad = (
        Example(
            "gfx942",
            "k:\n"
            "  ds_write_b32 v0, v1\n"
            "  s_barrier\n"
            "  ds_read_b32 v2, v3\n"
            "  s_endpgm\n"
            ".amdhsa_kernel k\n"
            ".amdhsa_next_free_vgpr 16\n"
            ".amdhsa_next_free_sgpr 16\n"
            ".amdhsa_accum_offset 16\n"
            ".end_amdhsa_kernel\n",
            line=4,
        ),
        Example(
            "gfx1200",
            "k:\n"
            "  ds_store_b32 v0, v1\n"
            "  s_barrier_signal -1\n"
            "  s_barrier_wait -1\n"
            "  ds_load_b32 v2, v3\n"
            "  s_endpgm\n"
            ".amdhsa_kernel k\n"
            ".amdhsa_next_free_vgpr 16\n"
            ".amdhsa_next_free_sgpr 16\n"
            ".end_amdhsa_kernel\n",
            line=5,
        ),
    )
    good = (
        Example(
            "gfx942",
            "k:\n  ds_write_b32 v0, v1\n  s_waitcnt lgkmcnt(0)\n  s_barrier\n  ds_read_b32 v2, v3\n  s_endpgm\n",
        ),
        Example("gfx1151", "k:\n  ds_store_b32 v0, v1\n  ds_load_b32 v2, v3\n  s_endpgm\n"),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Every such access in the kernel."""
        return violations_of(facts, "barrier")
