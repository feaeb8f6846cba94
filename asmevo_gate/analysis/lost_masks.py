"""Saved EXEC masks that are overwritten before EXEC gets them back.

A restore (``s_or_b64 exec, exec, SAVED``, ``s_mov_b64 exec, SAVED``) that behind a ``saveexec`` finds in part or on one
path only something that is surely no form of what was saved: the mask of a region inside, a constant, a loaded or
computed number. Copies, mask operations and values that come back from a VGPR lane may well be the mask, and say
nothing; neither does a register that was overwritten as a whole on all paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.isa.registers import EXEC
from asmevo_gate.program.model import Function, Instruction

_RESTORES = re.compile(r"s_(or|mov)_b(32|64)")
_NO_MASK = re.compile(
    r"s_(add|addc|sub|subb|mul|lshl|lshr|ashr|bfe|bfm|ff|flbit|bcnt|memtime|getpc|getreg|pack|min|max)\w*"
)
_STEPS = 2_000
"""Blocks that are looked at for one restore."""


class LostMask(msgspec.Struct, frozen=True):
    """``restore`` gives EXEC what ``save`` saved, or what ``overwrite`` has put in its place."""

    save: Instruction
    overwrite: Instruction
    restore: Instruction
    registers: int


def lost_masks(function: Function) -> Iterator[LostMask]:
    """Every such restore, in program order, with the first overwrite."""
    for restore, decoded in function.where(_restores, among=Op.SALU):
        for operand in decoded.operands[1:]:
            saved = operand.mask
            if not operand.length or saved & EXEC:
                continue
            writers = _last_writers(function, restore.index, saved)
            for overwrite in sorted(writers, key=lambda one: one.index):
                save = _overwritten_save(function, overwrite, saved)
                if save is not None and (save in writers or saved & ~(overwrite.decoded or decoded).writes):
                    yield LostMask(save, overwrite, restore, saved)
                    break


def _restores(decoded: Decoded) -> bool:
    return bool(decoded.writes & EXEC) and _RESTORES.fullmatch(decoded.base) is not None


def _overwritten_save(function: Function, overwrite: Instruction, saved: int) -> Instruction | None:
    """The ``saveexec`` whose mask an instruction surely overwrites with something else."""
    if not _is_no_mask(overwrite.decoded, saved):
        return None
    before = _last_writers(function, overwrite.index, saved)
    saves = [one for one in before if one.index != overwrite.index and _saves(one.decoded, saved)]
    return min(saves, key=lambda one: one.index, default=None)


def _saves(decoded: Decoded | None, saved: int) -> bool:
    return decoded is not None and "saveexec" in decoded.base and decoded.operands[0].mask == saved


def _is_no_mask(decoded: Decoded | None, saved: int) -> bool:
    """What the instruction writes is not made of the saved mask."""
    if decoded is None or decoded.reads & saved:
        return False
    if "saveexec" in decoded.base or decoded.of(Op.SMEM) or _NO_MASK.fullmatch(decoded.base):
        return True
    return decoded.base.startswith("s_mov") and not decoded.operands[1].length


def _last_writers(function: Function, index: int, registers: int) -> list[Instruction]:
    """The last instruction on each path to a place that writes one of the registers; none when a path is not known."""
    home = function.block_of(index)
    found: dict[int, Instruction] = {}
    pending = [(home.number, index)]
    seen: set[int] = set()
    while pending:
        number, end = pending.pop()
        block = function.blocks[number]
        for instruction in reversed(function.instructions[block.first : end]):
            decoded = instruction.decoded
            if decoded is None or decoded.is_call:
                return []
            if decoded.writes & registers:
                found[instruction.index] = instruction
                break
        else:
            for previous in block.predecessors:
                if previous not in seen:
                    seen.add(previous)
                    pending.append((previous, function.blocks[previous].end))
            if len(seen) > _STEPS:
                return []
    return list(found.values())
