"""LLVM's instruction descriptions, with registers turned into bit sets of the package's register line."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from llvm_program import Assembled

from asmevo_gate.isa.registers import AGPR, PAIRS, SGPR, SPECIAL, TTMP, VGPR, bits

_NUMBERED = re.compile(r"(VGPR|AGPR|SGPR|TTMP)(\d+)")
_BANKS = {"VGPR": VGPR, "AGPR": AGPR, "SGPR": SGPR, "TTMP": TTMP}
_SUFFIX = re.compile(r"_(LO16|HI16|vi|ci|gfx9plus|gfxpre11|gfx11plus)$")
_SAME_AS = {"flat_scr": "flat_scratch", "flat_scr_lo": "flat_scratch_lo", "flat_scr_hi": "flat_scratch_hi"}
_ONE_DWORD = re.compile(r"(shared|private)_(base|limit)_lo$")


class Opcode(NamedTuple):
    """One opcode: what its MC operands are and what it touches besides."""

    name: str
    mnemonic: str
    defs: int
    size: int
    flags: int
    tsflags: int
    schedule: str
    register_classes: tuple[str | None, ...]
    tied: tuple[int, ...]
    names: tuple[int, ...]
    implicit_defs: tuple[str, ...]
    implicit_uses: tuple[str, ...]


class Descriptions:
    """All opcodes and registers."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.llvm: str = document["llvm"]
        self.masks = [_mask(roots) for _, _, roots in document["registers"]]
        self.register_names: list[str] = [name for name, _, _ in document["registers"]]
        schedule = [_short(name) for name in document["schedule"]]
        self.opcodes = [
            Opcode(
                row["name"],
                row["mnemonic"],
                row["defs"],
                row["size"],
                int(row["flags"], 16),
                int(row["tsflags"], 16),
                schedule[row["schedule"]],
                tuple(operand[0] for operand in row["operands"]),
                tuple(operand[1] for operand in row["operands"]),
                tuple(operand[2] for operand in row["operands"]),
                tuple(row["implicit_defs"]),
                tuple(row["implicit_uses"]),
            )
            for row in document["opcodes"]
        ]
        self.by_name = {opcode.name: opcode for opcode in self.opcodes}

    def explicit(self, assembled: Assembled) -> tuple[int, int]:
        """The bit sets of the registers that stand in the MC operands: (written, read)."""
        written = read = 0
        defs = self.opcodes[assembled.opcode].defs
        for position, operand in enumerate(assembled.operands):
            if isinstance(operand, str):
                if position < defs:
                    written |= self.masks[int(operand[1:])]
                else:
                    read |= self.masks[int(operand[1:])]
        return written, read


def implicit_mask(name: str, wave_size: int) -> int:
    """The bit set of an implicit register; VCC and EXEC are 64 bits wide in LLVM's descriptions in either wave size."""
    name = name.lower()
    name = _SAME_AS.get(name, name)
    if name in PAIRS:
        return bits(SPECIAL[PAIRS[name]], 1 if wave_size == 32 and name in ("vcc", "exec") else 2)
    return bits(SPECIAL[name])


def _mask(roots: list[str]) -> int:
    mask = 0
    for root in roots:
        name = root
        while True:
            shorter = _SUFFIX.sub("", name)
            if shorter == name:
                break
            name = shorter
        numbered = _NUMBERED.fullmatch(name)
        if numbered:
            mask |= bits(_BANKS[numbered[1]].start + int(numbered[2]))
            continue
        name = name.lower().removeprefix("src_")
        name = _ONE_DWORD.sub(r"\1_\2", _SAME_AS.get(name, name))
        if name in SPECIAL:
            mask |= bits(SPECIAL[name])
    return mask


def _short(name: str) -> str:
    """Classes that LLVM made for single instructions bear the names of all of them: keep the first."""
    return name if len(name) < 64 else name[: name.index("_e64") + 4] if "_e64" in name else name[:48]
