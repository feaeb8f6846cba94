"""Memory operations that are in flight over a call: issued before it and needed in the callee, or behind the call, or
issued in the callee and needed behind it.

Looked at are calls of functions that the file holds, in kernels. Only results count (read or overwritten too early):
what else an operation holds, its callee may rely on the calling convention for. Subroutines of the kernel itself are
followed by :mod:`asmevo_gate.analysis.pending_subroutines`.
"""

from __future__ import annotations

from asmevo_gate.analysis.counters import Effect
from asmevo_gate.analysis.pending_memory import PendingMemory
from asmevo_gate.analysis.pending_violations import WaitViolation, wait_violations
from asmevo_gate.analysis.vgpr_msb import MNEMONIC as RENAMES
from asmevo_gate.program.calls import LinkedFunction

_RESULTS = ("raw", "waw")


def wait_violations_over_calls(
    memory: PendingMemory, linked: LinkedFunction, inside: tuple[WaitViolation, ...] = ()
) -> tuple[WaitViolation, ...]:
    """Violations of a kernel whose path leads into or out of a called function, each once. ``inside`` are those of the
    kernel itself and its subroutines."""
    function = linked.function
    if (
        not linked.leads_elsewhere
        or not function.is_kernel
        or any(one.statement.name == RENAMES for one in function.instructions)
    ):
        return ()
    over = PendingMemory(function, effects=_effects(memory, linked))
    known = {_ends(one) for one in inside}
    found: dict[tuple[object, ...], WaitViolation] = {}
    for violation in wait_violations(over):
        if violation.access not in _RESULTS:
            continue
        copies = {linked.copy_of[function.block_of(one.index).number] for one in violation.path}
        if len(copies) > 1 and _ends(violation) not in known:
            found.setdefault(_ends(violation), violation)
    return tuple(found.values())


def _ends(violation: WaitViolation) -> tuple[object, ...]:
    return violation.rule, violation.producer.statement.place, violation.consumer.statement.place


def _effects(memory: PendingMemory, linked: LinkedFunction) -> list[Effect]:
    """The effects of the caller's and the callees' instructions; behind a call that is followed nothing is unknown."""
    copied = linked.function.instructions[len(memory.effects) :]
    effects = [*memory.effects, *(memory.model.effect(one) for one in copied)]
    for index in linked.followed:
        effects[index] = effects[index]._replace(unknown="")
    return effects
