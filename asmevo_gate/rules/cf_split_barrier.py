"""The rule ``cf.split_barrier``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.isa.instruction import Op
from asmevo_gate.program.model import Function, Instruction
from asmevo_gate.program.reach import leading_to
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation

_SIGNALS = frozenset(("s_barrier_signal", "s_barrier_signal_isfirst"))
_WAITS = frozenset(("s_barrier_wait",))
_WORK_GROUP = -1
"""The barrier that every wave signals and waits for. Named barriers, the trap handler's and that of a cluster (which
one wave signals for its work-group) have other rules."""
_IDLE, _SIGNALLED = 1, 2
"""What may hold at a place, as bits: no signal is outstanding; one is."""


def _kernel(body: str, waves: int = 4) -> str:
    return (
        f".text\nk:\n{body}  s_endpgm\n.rodata\n.amdhsa_kernel k\n  .amdhsa_next_free_vgpr 8\n"
        "  .amdhsa_next_free_sgpr 16\n.end_amdhsa_kernel\n.amdgpu_metadata\n---\namdhsa.version: [ 1, 2 ]\n"
        f"amdhsa.kernels:\n  - .name: k\n    .symbol: k.kd\n    .max_flat_workgroup_size: {32 * waves}\n...\n"
        ".end_amdgpu_metadata\n"
    )


_SIGNAL, _WAIT = "  s_barrier_signal -1\n", "  s_barrier_wait -1\n"


class SplitBarrier(Rule):
    """The two halves of a barrier of gfx12 do not belong together.

    What it does:
        Follows s_barrier_signal and s_barrier_wait of the work-group barrier (-1) from the kernel's entry. Reports a
        wait that no path reaches with a signal of this wave outstanding, a signal that every path reaches with one
        outstanding already, and (as a warning) a signal behind which no wait can be reached. What is behind calls is
        not known; cluster and named barriers are not looked at. Where the work-group is a single wave, barriers do
        nothing and the finding is a warning.
    Why it matters:
        A barrier opens when all waves have signalled. A wave that waits without a signal of its own waits for ever; one
        that signals twice counts for another wave, which is then not waited for.
    Repair:
        One signal and one wait on every path, in this order.
    Sources:
        AMD RDNA 4 ISA guide, S_BARRIER_SIGNAL and S_BARRIER_WAIT; LLVM User Guide for AMDGPU Backend, barriers.
    """

    id = "cf.split_barrier"
    title = "signal and wait of a barrier do not match"
    family = "control-flow"
    severity = "error"
    bad = (
        Example("gfx1200", _kernel(_WAIT), line=3),
        Example("gfx1201", _kernel(_SIGNAL + _SIGNAL + _WAIT), line=4),
        Example("gfx1250", _kernel(_SIGNAL + "  v_mov_b32 v0, 0\n"), line=3),
    )
    good = (
        Example("gfx1200", _kernel(_SIGNAL + "  v_mov_b32 v0, 0\n" + _WAIT)),
        Example("gfx1250", _kernel(_SIGNAL + _WAIT + "  s_barrier_wait -3\n")),
        Example("gfx1200", _kernel("  s_barrier_signal_isfirst -1\n" + _WAIT)),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Halves without the other one."""
        kernel = facts.kernel
        halves = {one.index for one, _ in kernel.named(_SIGNALS | _WAITS) if _number(one) == _WORK_GROUP}
        if not halves or not kernel.is_kernel:
            return
        single = facts.resources.waves_per_work_group == 1
        for instruction, message, certain in _mismatches(kernel, halves):
            yield Violation(
                place=instruction.statement.place,
                frames=instruction.statement.frames,
                message=message,
                repair="signal once before each wait, and wait once behind each signal",
                severity="warning" if single or not certain else None,
            )


def _number(instruction: Instruction) -> int | None:
    decoded = instruction.decoded
    value = decoded.operands[0].value if decoded is not None and decoded.operands else None
    return value if isinstance(value, int) else None


def _mismatches(kernel: Function, halves: set[int]) -> Iterable[tuple[Instruction, str, bool]]:
    """Waits and signals that do not match, each with what is wrong and whether it surely is."""
    waits_behind = _waits_behind(kernel, halves)
    for block, entering in zip(kernel.blocks, _entering(kernel, halves), strict=True):
        state = entering
        for index in range(block.first, block.end):
            instruction = kernel.instructions[index]
            if index in halves and state:
                if _is_wait(instruction):
                    if state == _IDLE:
                        yield instruction, "the wave waits for a barrier that it has not signalled", True
                elif state == _SIGNALLED:
                    yield instruction, "the wave signals the barrier again and has not waited for it since", True
                elif not _wait_follows(kernel, halves, block.end, index) and block.number not in waits_behind:
                    yield instruction, "the wave signals the barrier and never waits for it", False
            state = _after(instruction, state, index in halves)


def _after(instruction: Instruction, state: int, is_half: bool) -> int:
    decoded = instruction.decoded
    if decoded is None or decoded.is_call:
        return state and _IDLE | _SIGNALLED
    if not is_half or not state:
        return state
    return _IDLE if _is_wait(instruction) else _SIGNALLED


def _entering(kernel: Function, halves: set[int]) -> list[int]:
    """What may hold at the start of each block: a union that grows, so this ends."""
    found = [0] * len(kernel.blocks)
    found[0] = _IDLE
    pending = [0]
    while pending:
        block = kernel.blocks[pending.pop()]
        state = found[block.number]
        for index in range(block.first, block.end):
            state = _after(kernel.instructions[index], state, index in halves)
        for successor in block.successors:
            if state & ~found[successor]:
                found[successor] |= state
                pending.append(successor)
    return found


def _is_wait(instruction: Instruction) -> bool:
    return instruction.decoded is not None and instruction.decoded.base in _WAITS


def _may_wait(kernel: Function, halves: set[int], index: int) -> bool:
    """A wait for the barrier, or code that is not known."""
    instruction = kernel.instructions[index]
    decoded = instruction.decoded
    return decoded is None or decoded.of(Op.CALL) or (index in halves and _is_wait(instruction))


def _wait_follows(kernel: Function, halves: set[int], end: int, index: int) -> bool:
    """A wait stands behind an instruction in its block."""
    return any(_may_wait(kernel, halves, later) for later in range(index + 1, end))


def _waits_behind(kernel: Function, halves: set[int]) -> frozenset[int]:
    """Blocks from whose end a wait can be reached, or an unknown place."""
    waiting = [block for block in kernel.blocks if _wait_follows(kernel, halves, block.end, block.first - 1)]
    unknown = (block.number for block in kernel.blocks if block.leaves)
    return leading_to(kernel.blocks, (*unknown, *(number for block in waiting for number in block.predecessors)))
