"""The rules ``wait.counter.ldsdma``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation
from asmevo_gate.rules.wait_violation import violations_of


class LdsReadBeforeFilled(Rule):
    """LDS is read while everything that fills it is still on its way.

    What it does:
        Follows operations that deliver memory data straight to LDS: buffer and global loads to LDS (vmcnt),
        async loads (asynccnt) and tensor loads (tensorcnt) of gfx1250. Reports a read of LDS if on some
        path from the kernel's entry nothing that fills LDS has ended yet, or had ended when the last
        barrier was passed: then the read cannot find valid data. A read beside a prefetch into another
        buffer is not reported. Ids: ``wait.vmcnt.ldsdma``, ``wait.asynccnt``, ``wait.tensorcnt``.
    Why it matters:
        The read gets what was in LDS before. Waiting for the wrong counter (a store counter for example)
        has the same effect.
    Repair:
        Wait for the counter of the load. When other waves read the data, wait before the barrier.
    Sources:
        LLVM SIInsertWaitcnts (mayWriteLDSThroughDMA); LLVM User Guide for AMDGPU Backend, asynchronous
        operations.
    """

    id = "wait.counter.ldsdma"
    covers = r"wait\.([a-z]+cnt\.ldsdma|tensorcnt|asynccnt)"
    title = "LDS is read before the data that memory delivers is there"
    family = "wait"
    severity = "error"
    bad = (
        Example(
            "gfx1030",
            "k:\n"
            "  s_mov_b32 m0, 0\n"
            "  buffer_load_dword v1, s[8:11], 0 offen lds\n"
            "  s_waitcnt_vscnt null, 0x0\n"
            "  ds_read_b32 v2, v3\n"
            "  s_endpgm\n"
            ".amdhsa_kernel k\n"
            ".amdhsa_next_free_vgpr 16\n"
            ".amdhsa_next_free_sgpr 16\n"
            ".end_amdhsa_kernel\n",
            line=5,
        ),
        Example(
            "gfx942",
            "k:\n"
            "  s_mov_b32 m0, 0\n"
            "  global_load_lds_dword v[0:1], off\n"
            "  s_barrier\n"
            "  s_waitcnt vmcnt(0)\n"
            "  ds_read_b32 v2, v3\n"
            "  s_endpgm\n"
            ".amdhsa_kernel k\n"
            ".amdhsa_next_free_vgpr 16\n"
            ".amdhsa_next_free_sgpr 16\n"
            ".amdhsa_accum_offset 16\n"
            ".end_amdhsa_kernel\n",
            line=6,
        ),
        Example(
            "gfx1250",
            "k:\n"
            "  tensor_load_to_lds s[8:11], s[12:19]\n"
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
            "k:\n"
            "  s_mov_b32 m0, 0\n"
            "  global_load_lds_dword v[0:1], off\n"
            "  s_waitcnt vmcnt(0)\n"
            "  s_barrier\n"
            "  global_load_lds_dword v[4:5], off\n"
            "  ds_read_b32 v2, v3\n"
            "  s_endpgm\n"
            ".amdhsa_kernel k\n"
            ".amdhsa_next_free_vgpr 16\n"
            ".amdhsa_next_free_sgpr 16\n"
            ".amdhsa_accum_offset 16\n"
            ".end_amdhsa_kernel\n",
        ),
        Example(
            "gfx1250",
            "k:\n"
            "  tensor_load_to_lds s[8:11], s[12:19]\n"
            "  s_wait_tensorcnt 0x0\n"
            "  s_barrier_signal -1\n"
            "  s_barrier_wait -1\n"
            "  ds_load_b32 v2, v3\n"
            "  s_endpgm\n"
            ".amdhsa_kernel k\n"
            ".amdhsa_next_free_vgpr 16\n"
            ".amdhsa_next_free_sgpr 16\n"
            ".end_amdhsa_kernel\n",
        ),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Every such access in the kernel."""
        return violations_of(facts, "ldsdma")
