"""Proposer: values in high VGPRs moved to lower free ones, where the whole function then fits an occupancy step more.

Renaming alone frees nothing: the kernel descriptor has to follow, and it lies outside every region. So this proposes
only where every use of the high registers can be renamed, and the report says what the descriptor may ask for then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from asmevo_gate.analysis.occupancy import most_vgprs, waves_by_vgprs
from asmevo_gate.analysis.resources import kernel_resources
from asmevo_gate.isa.instruction import Op
from asmevo_gate.isa.registers import VGPR, VGPRS, bits, indices
from asmevo_gate.isa.resource_limits import is_unified, resource_limits
from asmevo_gate.program.model import Function
from asmevo_gate.rewrite.edit_script import Edit, ReplaceOperand
from asmevo_gate.rewrite.proposal import Proposal, Situation

_NUMBER = re.compile(r"v\d+")


class Registers:
    """Lower numbers for values that live in one region only."""

    name = "registers"

    def propose(self, situation: Situation) -> Iterator[Proposal]:
        """One script that empties the registers above the step, for a region that holds some of them."""
        region = situation.region
        step = occupancy_step(region.function)
        high = (region.reads | region.writes) & _from(step) if step is not None else 0
        if step is None or not high or (region.live_in | region.live_out) & high:
            return
        if not _all_local(region.function, step, situation):
            return
        taken = (region.reads | region.writes | region.live_in | region.live_out | _live_through(situation)) & VGPRS
        free = [register for register in range(VGPR.start, VGPR.start + step) if not taken >> register & 1]
        names = dict(zip(indices(high), free, strict=False))
        if len(names) < high.bit_count():
            return
        edits = _renamed(situation, names)
        if edits:
            title = f"move {len(names)} values below v{step}, where {_waves(region.function, step)} waves fit on a SIMD"
            yield Proposal(tuple(edits), self.name, title)


def occupancy_step(function: Function) -> int | None:
    """The number of VGPRs below which one more wave fits; ``None`` where fewer VGPRs bring no wave."""
    resources = kernel_resources(function)
    limits = resource_limits(function.target)
    total = resources.used.vgprs
    if not resources.used.complete or resources.occupancy is None or function.wave_size not in limits.vgpr:
        return None
    if is_unified(function.target) and resources.used.agprs:
        return None  # AGPRs lie behind the VGPRs: the step depends on both
    waves = waves_by_vgprs(limits, function.wave_size, total)
    others = min((count for name, count in resources.occupancy.limits.items() if name != "vgpr"), default=waves)
    if waves >= others:
        return None
    return most_vgprs(limits, function.wave_size, waves + 1)


def _waves(function: Function, vgprs: int) -> int:
    return waves_by_vgprs(resource_limits(function.target), function.wave_size, vgprs)


def _from(step: int) -> int:
    return VGPRS & ~bits(VGPR.start, step)


def _all_local(function: Function, step: int, situation: Situation) -> bool:
    """True when no high register is live at a place where nothing can be renamed."""
    high = _from(step)
    for instruction in function.instructions:
        decoded = instruction.decoded
        if decoded is None:
            return False
        touched = (decoded.reads | decoded.writes) & high
        if touched and (not decoded.classes & Op.VALU or decoded.classes & Op.VOPD):
            return False
        if touched and any(operand.mask & high and operand.length > 1 for operand in decoded.operands):
            return False
    return all(not situation.facts.liveness.before[block.first] & high for block in function.blocks)


def _live_through(situation: Situation) -> int:
    live = 0
    for registers in situation.live_after:
        live |= registers
    return live


def _renamed(situation: Situation, names: dict[int, int]) -> list[Edit]:
    edits: list[Edit] = []
    for number, decoded in enumerate(situation.decoded):
        for place, operand in enumerate(decoded.operands):
            if operand.length == 1 and operand.start in names:
                if len(_NUMBER.findall(operand.text)) != 1:
                    return []
                new = f"v{names[operand.start] - VGPR.start}"
                edits.append(ReplaceOperand(number, place, _NUMBER.sub(new, operand.text)))
    return edits


def possible_vgprs(function: Function) -> tuple[int, int, int] | None:
    """VGPRs that a kernel needs, that its descriptor asks for, and the waves that fit if it asks for no more; ``None``
    where that brings no wave, or is not known."""
    resources = kernel_resources(function)
    limits = resource_limits(function.target)
    used, declared = resources.used, resources.vgpr_declared
    if not used.complete or declared is None or used.agprs or function.wave_size not in limits.vgpr:
        return None
    waves = waves_by_vgprs(limits, function.wave_size, used.vgprs)
    if used.vgprs >= declared or waves <= waves_by_vgprs(limits, function.wave_size, declared):
        return None
    return used.vgprs, declared, waves
