"""Evidence that a change of order, waits or padding is safe: nothing that the analyses of timing reject is new.

The proof takes every instruction as done before the next one starts. That is what the counters and the wait states
between instructions are for, so the new code may not violate more of them than the old code does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from asmevo_gate.analysis.pending_memory import pending_memory
from asmevo_gate.analysis.pending_violations import wait_violations
from asmevo_gate.isa.registers import set_name
from asmevo_gate.program.model import Function, Instruction


@dataclass(frozen=True)
class TimingViolation:
    """One broken rule at an instruction; ``key`` is equal for the same violation in two versions of a function."""

    key: tuple[str, str, str]
    consumer: Instruction
    text: str


TimingCheck = Callable[[Function], Iterable[TimingViolation]]
"""An analysis of timing; hazards come from the constraint files, which this layer does not know."""


def memory_waits(function: Function) -> Iterable[TimingViolation]:
    """Accesses that come before a memory operation has ended.

    Raises:
        LimitError: the function is too large for the counter analysis.
    """
    memory = pending_memory(function)
    for violation in wait_violations(memory):
        yield TimingViolation(
            (violation.rule, violation.producer.statement.name, violation.consumer.statement.name),
            violation.consumer,
            f"{violation.rule}: '{violation.consumer.statement.text}' does not wait for "
            f"'{violation.producer.statement.text}' ({set_name(violation.registers)})",
        )
    for index, reason in memory.not_modelled:
        instruction = function.instructions[index]
        yield TimingViolation(("not modelled", reason, ""), instruction, f"waits were not checked: {reason}")


def new_violations(old: Function, new: Function, checks: Iterable[TimingCheck]) -> list[TimingViolation]:
    """What the new version violates more often than the old one."""
    found: list[TimingViolation] = []
    for check in checks:
        known = Counter(violation.key for violation in check(old))
        for violation in check(new):
            if known[violation.key] > 0:
                known[violation.key] -= 1
            else:
                found.append(violation)
    return found
