"""Which bytes of LDS an instruction accesses, as far as its address is known."""

from __future__ import annotations

import re
from functools import cache

import msgspec

from asmevo_gate.analysis.known_state import immediate_offset
from asmevo_gate.analysis.known_values import KnownOperands
from asmevo_gate.analysis.symbolic_values import Value
from asmevo_gate.isa.instruction import Decoded, Op, Role
from asmevo_gate.program.model import Function, Instruction

_WIDTH = re.compile(r"_(?:pk_)?(?:[a-z_]*?)(?:b|u|i|f|bf)(\d+)")
_NO_PLAIN_ADDRESS = re.compile(
    r"addtid|permute|swizzle|append|consume|gws|ordered|bvh|param|direct|_nop|tr\d+_|barrier"
)
_TWO = re.compile(r"^ds_\w*?(?:2|2addr|2st64|2addr_stride64|_2addr\w*)_")
_STRIDE = re.compile(r"st64|stride64")


class LdsAccess(msgspec.Struct, frozen=True):
    """``starts`` are the byte offsets that are added to the address register, ``width`` the bytes at each.

    ``address`` is the value of the address register where it is known.
    """

    instruction: Instruction
    address: Value | None
    starts: tuple[int, ...]
    width: int
    stores: bool

    @property
    def lowest(self) -> int:
        """The least byte that the access can begin at, with an address register of at least 0."""
        known = self.address.constant if self.address is not None else None
        return min(self.starts) + (known or 0)

    def end_for(self, origin: int) -> int | None:
        """The byte behind the access, with the origin of the address at ``origin``; ``None`` when it is not known."""
        if self.address is None:
            return None
        at = self.address.scale * origin + self.address.add
        return (at + max(self.starts) + self.width) if at < 1 << 31 else None


def lds_accesses(function: Function, known: KnownOperands) -> tuple[LdsAccess, ...]:
    """Every LDS access with an address register and plain offsets, in program order."""
    found = []
    for instruction, place in function.judged(_place):
        values = known.get(instruction.index)
        address = values[place.operand][0] if values is not None and place.operand is not None else None
        found.append(LdsAccess(instruction, address, place.starts, place.width, place.stores))
    return tuple(found)


class _Place(msgspec.Struct, frozen=True, gc=False):
    """What the text of an access tells; ``operand`` is the number of the address register."""

    operand: int | None
    starts: tuple[int, ...]
    width: int
    stores: bool


def _place(decoded: Decoded) -> _Place | None:
    if not decoded.of(Op.DS) or decoded.of(Op.GDS):
        return None
    form = _form(decoded.base)
    if form is None:
        return None
    width, step = form
    if step:
        offsets = [immediate_offset(decoded, name) for name in ("offset0", "offset1")]
        starts = tuple(offset * step for offset in offsets if offset is not None)
        if len(starts) != 2:
            return None
    else:
        offset = immediate_offset(decoded)
        if offset is None:
            return None
        starts = (offset,)
    for number, operand in enumerate(decoded.operands):
        if operand.role & Role.READ and not operand.role & Role.WRITE:
            return _Place(number, starts, width, decoded.of(Op.STORE | Op.ATOMIC))
    return _Place(None, starts, width, decoded.of(Op.STORE | Op.ATOMIC))


@cache
def _form(base: str) -> tuple[int, int] | None:
    """The bytes of an access and, where it has two offsets, the bytes that these count (else 0); ``None`` without a
    plain address."""
    width = _WIDTH.search(base)
    if width is None or _NO_PLAIN_ADDRESS.search(base):
        return None
    size = max(int(width[1]) // 8, 1)
    return size, size * (64 if _STRIDE.search(base) else 1) if _TWO.match(base) else 0
