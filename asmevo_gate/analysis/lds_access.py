"""Which bytes of LDS an instruction accesses, as far as its address is known."""

from __future__ import annotations

import re

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


def lds_accesses(function: Function, known: KnownOperands) -> list[LdsAccess]:
    """Every LDS access with an address register and plain offsets."""
    found = []
    for instruction, decoded in function.where(lambda decoded: decoded.of(Op.DS) and not decoded.of(Op.GDS)):
        access = _access(instruction, decoded, known)
        if access is not None:
            found.append(access)
    return found


def _access(instruction: Instruction, decoded: Decoded, known: KnownOperands) -> LdsAccess | None:
    base = decoded.base
    width = _WIDTH.search(base)
    if width is None or _NO_PLAIN_ADDRESS.search(base):
        return None
    size = max(int(width[1]) // 8, 1)
    if _TWO.match(base):
        step = size * (64 if _STRIDE.search(base) else 1)
        offsets = [immediate_offset(decoded, name) for name in ("offset0", "offset1")]
        starts = [offset * step for offset in offsets if offset is not None]
        if len(starts) != 2:
            return None
    else:
        offset = immediate_offset(decoded)
        if offset is None:
            return None
        starts = [offset]
    position = next(
        (number for number, one in enumerate(decoded.operands) if one.role & Role.READ and not one.role & Role.WRITE),
        None,
    )
    values = known.get(instruction.index)
    address = values[position][0] if values is not None and position is not None else None
    stores = decoded.of(Op.STORE | Op.ATOMIC)
    return LdsAccess(instruction, address, tuple(starts), size, bool(stores))
