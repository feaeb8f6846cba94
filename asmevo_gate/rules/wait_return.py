"""The rules ``wait.counter.return``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation
from asmevo_gate.rules.wait_violation import violations_of


class ReturnedBeforeArrival(Rule):
    """A device function returns while one of its loads is still in flight.

    What it does:
        Reports the return of a function that is no kernel when a register that a memory operation of the function
        writes may not be there yet. Stores may be in flight. The reported id names the counter, such as
        ``wait.vmcnt.return``.
    Why it matters:
        By the calling convention the caller takes every result to be there, and every register that it uses itself
        to be free: the late arrival is read too early, or overwrites the caller's value.
    Repair:
        Wait for the counter before the return. If caller and function agree on another convention, suppress the
        finding with that reason.
    Sources:
        LLVM User Guide for AMDGPU Backend, non-kernel functions; LLVM SIInsertWaitcnts (callWaitsOnFunctionReturn).
    """

    id = "wait.counter.return"
    covers = r"wait\.[a-z]+cnt\.return"
    title = "a function returns before its loads have arrived"
    family = "wait"
    severity = "warning"
    bad = (
        Example(
            "gfx90a",
            ".type f,@function\nf:\n  global_load_dword v0, v[0:1], off\n  s_setpc_b64 s[30:31]\n",
            line=4,
        ),
        Example("gfx1200", ".type f,@function\nf:\n  ds_load_b32 v0, v1\n  s_setpc_b64 s[30:31]\n", line=4),
    )
    good = (
        Example(
            "gfx90a",
            ".type f,@function\nf:\n"
            "  global_load_dword v0, v[0:1], off\n  s_waitcnt vmcnt(0)\n  s_setpc_b64 s[30:31]\n",
        ),
        Example("gfx1200", ".type f,@function\nf:\n  global_store_b32 v[0:1], v2, off\n  s_setpc_b64 s[30:31]\n"),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Every such return of the function."""
        return violations_of(facts, "return")
