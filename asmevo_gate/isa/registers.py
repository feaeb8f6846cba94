"""Every architectural register at a fixed place on one line.

A register is an index (one 32-bit dword), an operand is ``(start, length)`` on that line, and a set of
registers is a Python ``int`` used as a bit set (bit *i* = register *i*). Liveness over a large kernel is then
arithmetic on big integers instead of loops over registers.

The line, in dwords::

    v0..v1023 | a0..a255 | s0..s127 | ttmp0..ttmp15 | vcc_lo, vcc_hi, exec_lo, ... (SPECIAL)

gfx1250 addresses 1,024 VGPRs (``s_set_vgpr_msb``); every other target at most 512 VGPRs and AGPRs together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Bank(NamedTuple):
    """A numbered register file: its assembler prefix and its interval on the line."""

    prefix: str
    start: int
    count: int  # type: ignore[assignment]  # shadows tuple.count, which nobody needs

    @property
    def mask(self) -> int:
        """The bit set of the whole bank."""
        return ((1 << self.count) - 1) << self.start


VGPR = Bank("v", 0, 1024)
AGPR = Bank("a", 1024, 256)
SGPR = Bank("s", 1280, 128)
TTMP = Bank("ttmp", 1408, 16)
BANKS = (VGPR, AGPR, SGPR, TTMP)

_SPECIAL_NAMES = (
    "vcc_lo", "vcc_hi", "exec_lo", "exec_hi", "m0", "scc", "flat_scratch_lo", "flat_scratch_hi",
    "xnack_mask_lo", "xnack_mask_hi", "mode", "vccz", "execz", "lds_direct",
    "tba_lo", "tba_hi", "tma_lo", "tma_hi", "shared_base", "shared_limit", "private_base", "private_limit",
    "pops_exiting_wave_id", "flat_scratch_base_lo", "flat_scratch_base_hi", "vgpr_msb", "asynccnt", "tensorcnt",
)  # fmt: skip
SPECIAL_START = TTMP.start + TTMP.count
SPECIAL: dict[str, int] = {name: SPECIAL_START + i for i, name in enumerate(_SPECIAL_NAMES)}
LINE_LENGTH = SPECIAL_START + len(_SPECIAL_NAMES)
"""Number of registers on the line."""

PAIRS: dict[str, str] = {
    "vcc": "vcc_lo", "exec": "exec_lo", "flat_scratch": "flat_scratch_lo", "xnack_mask": "xnack_mask_lo",
    "tba": "tba_lo", "tma": "tma_lo", "flat_scratch_base": "flat_scratch_base_lo",
}  # fmt: skip
"""Names of 64-bit special registers: name of the pair -> name of its low half."""


def bits(start: int, length: int = 1) -> int:
    """The bit set of ``length`` registers from ``start``."""
    return ((1 << length) - 1) << start


VCC = bits(SPECIAL["vcc_lo"], 2)
EXEC = bits(SPECIAL["exec_lo"], 2)
SCC = bits(SPECIAL["scc"])
M0 = bits(SPECIAL["m0"])
MODE = bits(SPECIAL["mode"])
VGPRS = VGPR.mask
AGPRS = AGPR.mask
VECTOR = VGPRS | AGPRS
SGPRS = SGPR.mask


def indices(register_set: int) -> Iterator[int]:
    """The registers of a bit set in ascending order."""
    while register_set:
        low = register_set & -register_set
        yield low.bit_length() - 1
        register_set ^= low


def register_name(index: int) -> str:
    """The assembler's name of one register, such as ``v12`` or ``vcc_hi``.

    Raises:
        ValueError: the index is not on the line.
    """
    for bank in BANKS:
        if bank.start <= index < bank.start + bank.count:
            return f"{bank.prefix}{index - bank.start}"
    if SPECIAL_START <= index < LINE_LENGTH:
        return _SPECIAL_NAMES[index - SPECIAL_START]
    raise ValueError(f"register index {index} is not on the register line (0..{LINE_LENGTH - 1})")


def interval_name(start: int, length: int) -> str:
    """An operand as the assembler writes it: ``v3``, ``s[4:7]``, ``vcc``."""
    if length == 1:
        return register_name(start)
    for bank in BANKS:
        if bank.start <= start < bank.start + bank.count:
            first = start - bank.start
            return f"{bank.prefix}[{first}:{first + length - 1}]"
    low = register_name(start)
    for pair, first_half in PAIRS.items():
        if first_half == low and length == 2:
            return pair
    return ", ".join(register_name(start + i) for i in range(length))


def intervals(register_set: int) -> Iterator[tuple[int, int]]:
    """Maximal runs ``(start, length)`` of a bit set, never across the end of a bank."""
    start = -1
    length = 0
    bank_starts = {bank.start for bank in BANKS} | set(range(SPECIAL_START, LINE_LENGTH))
    for index in indices(register_set):
        follows = length and index == start + length
        if follows and (index not in bank_starts or _second_half(start, length, index)):
            length += 1
            continue
        if length:
            yield start, length
        start, length = index, 1
    if length:
        yield start, length


def _second_half(start: int, length: int, index: int) -> bool:
    return length == 1 and index == start + 1 and start >= SPECIAL_START and register_name(start) in PAIRS.values()


def set_name(register_set: int) -> str:
    """A bit set for people: ``v[0:3], s4, vcc``; ``none`` when empty."""
    return ", ".join(interval_name(start, length) for start, length in intervals(register_set)) or "none"
