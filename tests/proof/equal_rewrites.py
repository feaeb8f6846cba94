"""Rewrites of a region that are equal by construction."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from asmevo_gate.isa.decoder import Isa
from asmevo_gate.isa.instruction import Decoded, NotDecoded, Op
from asmevo_gate.isa.registers import EXEC, VGPR, indices
from tests.proof.region_sources import Slice

KINDS = ("reordering", "renaming", "copy removal", "commutation")
_SEE_INACTIVE_LANES = Op.DPP | Op.SDWA | Op.MFMA | Op.WMMA | Op.ACCVGPR
_COMMUTES = re.compile(
    r"v_(add_u32|add_nc_u32|add_u16|add_nc_u16|add_co_u32|add3_u32|and_b32|or_b32|xor_b32|xnor_b32|or3_b32|xor3_b32|"
    r"min_[iu]32|max_[iu]32|mul_lo_u32|mul_hi_[iu]32|mul_u32_u24|mul_i32_i24|mad_u32_u24|mad_u64_u32|"
    r"cmp_(?:eq|ne)_[iu]\d+|dual_add_nc_u32)(_e32|_e64)?$"
)
_FLOAT_COMMUTES = re.compile(r"v_(add_f\d+|mul_f\d+|fma_f\d+|fmac_f\d+|pk_add_f\d+|pk_mul_f\d+)(_e32|_e64)?$")


@dataclass(frozen=True)
class Rewrite:
    """``old`` and ``new`` leave the same values in ``live_out``; ``nans``: but for the payload of NaNs."""

    kind: str
    old: tuple[Decoded, ...]
    new: tuple[Decoded, ...]
    nans: bool = False


def rewrite(region: Slice, isa: Isa, kind: str, rng: random.Random) -> Rewrite | None:
    """A random rewrite of that kind; ``None`` when the region has no place for one."""
    if kind == "reordering":
        new = _reordered(region.code, rng)
        return Rewrite(kind, region.code, new) if new != region.code else None
    if kind == "renaming":
        renamed = _renamed(region, isa, rng)
        return Rewrite(kind, region.code, renamed) if renamed is not None else None
    if kind == "copy removal":
        longer = _with_copy(region, isa, rng)
        return Rewrite(kind, longer, region.code) if longer is not None else None
    return _commuted(region, isa, rng)


def _depends(first: Decoded, second: Decoded) -> bool:
    return bool(first.writes & (second.reads | second.writes) or first.reads & second.writes)


def _reordered(code: tuple[Decoded, ...], rng: random.Random) -> tuple[Decoded, ...]:
    """A random order that keeps every dependence."""
    left = list(range(len(code)))
    order: list[int] = []
    while left:
        ready = [
            index
            for position, index in enumerate(left)
            if not any(_depends(code[earlier], code[index]) for earlier in left[:position])
        ]
        chosen = rng.choice(ready)
        left.remove(chosen)
        order.append(chosen)
    return tuple(code[index] for index in order)


def _free_vgpr(region: Slice, code: tuple[Decoded, ...], rng: random.Random) -> int:
    used = region.live_out | region.live_in
    for decoded in code:
        used |= decoded.reads | decoded.writes
    free = [number for number in range(256) if not used >> (VGPR.start + number) & 1]
    return rng.choice(free[:40])


def _only_single(decoded: Decoded, register: int) -> bool:
    """True when the register stands in the instruction by itself, not in a tuple or as a half."""
    return all(
        operand.length == 1 and operand.half is None for operand in decoded.operands if operand.mask >> register & 1
    )


def _replace(text: str, old: int, new: int, first: bool, rest: bool) -> str:
    """Rename in the first operand (the destination), in the others, or in both."""
    mnemonic, _, operands = text.partition(" ")
    head, comma, tail = operands.partition(",")
    pattern = re.compile(rf"(?<![\w.\[:])v{old}(?![\w.:\]])")
    head = pattern.sub(f"v{new}", head) if first else head
    tail = pattern.sub(f"v{new}", tail) if rest else tail
    return f"{mnemonic} {head}{comma}{tail}"


def _decode(isa: Isa, text: str) -> Decoded | None:
    decoded = isa.decode(text)
    return None if isinstance(decoded, NotDecoded) else decoded


def _plain(decoded: Decoded) -> bool:
    """One 32-bit VGPR result, nothing kept, no second result among the operands."""
    return (
        not decoded.halves
        and decoded.classes & Op.VALU != 0
        and not decoded.keeps
        and decoded.writes.bit_count() == 1
        and len(decoded.operands) > 1
        and decoded.operands[0].mask == decoded.writes
        and not decoded.reads & decoded.writes
        and not decoded.classes & (Op.DPP | Op.MFMA | Op.WMMA | Op.ACCVGPR)
    )


def _renamed(region: Slice, isa: Isa, rng: random.Random) -> tuple[Decoded, ...] | None:
    """Give one value that dies inside the region another register."""
    code = region.code
    places = [place for place, decoded in enumerate(code) if _plain(decoded) and decoded.writes < 1 << 256]
    rng.shuffle(places)
    for place in places:
        register = next(indices(code[place].writes))
        uses, dies = _uses_until_killed(code, place, register, region.live_out)
        if not dies or any(not _only_single(code[use], register) or code[use].halves for use in uses):
            continue
        if any(
            code[use].writes >> register & 1 and code[use].reads >> register & 1 and use != uses[-1] for use in uses
        ):
            continue
        if any(_sees_inactive_lanes(code[use], region.lane_active) for use in uses):
            continue
        free = _free_vgpr(region, code, rng)
        new = list(code)
        texts = {place: _replace(code[place].text, register, free, True, False)}
        for use in uses:
            texts[use] = _replace(code[use].text, register, free, False, True)
        for index, text in texts.items():
            decoded = _decode(isa, text)
            if decoded is None or (index != place and decoded.reads >> register & 1):
                break
            new[index] = decoded
        else:
            return tuple(new)
    return None


def _sees_inactive_lanes(decoded: Decoded, lane_active: bool) -> bool:
    """True where the value in lanes outside EXEC counts: there the new register holds something else."""
    if decoded.classes & _SEE_INACTIVE_LANES & ~Op.DPP:
        return True
    return "lane" in decoded.base and not (lane_active and decoded.base == "v_readfirstlane_b32")


def _uses_until_killed(code: tuple[Decoded, ...], place: int, register: int, live_out: int) -> tuple[list[int], bool]:
    """Where the value is read, and whether the region overwrites it (or nobody needs it) afterwards."""
    uses = []
    for index in range(place + 1, len(code)):
        decoded = code[index]
        if decoded.reads >> register & 1:
            uses.append(index)
        if decoded.writes & EXEC:
            return uses, False
        if decoded.writes >> register & 1 and not decoded.keeps >> register & 1:
            return uses, not decoded.halves
    return uses, not live_out >> register & 1


def _with_copy(region: Slice, isa: Isa, rng: random.Random) -> tuple[Decoded, ...] | None:
    """The region with one operand read through a copy."""
    code = region.code
    places = list(range(len(code)))
    rng.shuffle(places)
    for place in places:
        decoded = code[place]
        if not decoded.classes & Op.VALU or decoded.halves or decoded.classes & _SEE_INACTIVE_LANES:
            continue
        sources = [
            operand.start
            for operand in decoded.operands[1:]
            if operand.mask and operand.start < 256 and operand.length == 1
        ]
        if not sources or "lane" in decoded.base:
            continue
        register = rng.choice(sources)
        if not _only_single(decoded, register) or decoded.operands[0].mask >> register & 1:
            continue
        free = _free_vgpr(region, code, rng)
        copy = _decode(isa, f"v_mov_b32_e32 v{free}, v{register}")
        changed = _decode(isa, _replace(decoded.text, register, free, False, True))
        if copy is None or changed is None or changed.reads >> register & 1:
            continue
        return (*code[:place], copy, changed, *code[place + 1 :])
    return None


def _commuted(region: Slice, isa: Isa, rng: random.Random) -> Rewrite | None:
    places = [
        place
        for place, decoded in enumerate(region.code)
        if (_COMMUTES.match(decoded.mnemonic) or _FLOAT_COMMUTES.match(decoded.mnemonic))
        and not decoded.modifiers
        and not decoded.halves
    ]
    rng.shuffle(places)
    for place in places:
        text = region.code[place].text
        mnemonic, _, rest = text.partition(" ")
        operands = [part.strip() for part in rest.split(",")]
        first = 2 if "_co_" in mnemonic or "_cmp_" in mnemonic or "mad_u64" in mnemonic else 1
        if "_cmp_" in mnemonic:
            first = 1
        operands[first], operands[first + 1] = operands[first + 1], operands[first]
        decoded = _decode(isa, f"{mnemonic.replace('_e32', '_e64')} {', '.join(operands)}")
        if decoded is None or operands[first] == operands[first + 1]:
            continue
        nans = bool(_FLOAT_COMMUTES.match(mnemonic))
        new = (*region.code[:place], decoded, *region.code[place + 1 :])
        return Rewrite("commutation", region.code, new, nans)
    return None
