"""Blocks as text for tests."""

from __future__ import annotations

from asmevo_gate.isa.decoder import isa_for
from asmevo_gate.isa.instruction import Decoded, NotDecoded
from asmevo_gate.isa.registers import EXEC, M0, MODE, SCC, SGPRS, VCC, VECTOR, bits
from asmevo_gate.isa.targets import find_target
from asmevo_gate.proof.equivalence import Proof, ProofOptions, prove_block

EVERYTHING = VECTOR | SGPRS | VCC | EXEC | SCC | M0 | MODE


def decode(text: str, gpu: str = "gfx942", wave_size: int | None = None) -> list[Decoded]:
    """Instructions separated by semicolons or lines."""
    target = find_target(gpu)
    isa = isa_for(target, wave_size or target.wave_sizes[0])
    found = []
    for line in text.replace(";", "\n").splitlines():
        if line.strip():
            meaning = isa.decode(line.strip())
            assert not isinstance(meaning, NotDecoded), meaning
            found.append(meaning)
    return found


def prove(
    old: str,
    new: str,
    gpu: str = "gfx942",
    wave_size: int | None = None,
    dead: int = 0,
    options: ProofOptions | None = None,
) -> Proof:
    """The proof of a change; every register is live behind it except the ``dead`` ones."""
    target = find_target(gpu)
    wave = wave_size or target.wave_sizes[0]
    live = EVERYTHING & ~dead
    if wave == 32:
        live &= ~bits(1425) & ~bits(1427)
    return prove_block(
        decode(old, gpu, wave), decode(new, gpu, wave), live, target=target, wave_size=wave, options=options
    )


def vgprs(*numbers: int) -> int:
    """Bit set of VGPRs."""
    return sum(1 << number for number in numbers)
