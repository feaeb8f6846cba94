"""Short programs for the tests of the cost model."""

from __future__ import annotations

from asmevo_gate.cost.block import BlockCost, block_cost
from asmevo_gate.cost.fingerprint import load_fingerprint
from asmevo_gate.isa.decoder import isa_for
from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.model import Function
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.parser import parse_source


def decode(target: str, text: str, wave_size: int | None = None) -> list[Decoded]:
    """The instructions of a text, one a line; every one must have a meaning on the target."""
    size = wave_size or load_fingerprint(target).wave_sizes[0]
    isa = isa_for(find_target(target), size)
    found = [isa.decode(line.strip()) for line in text.strip().splitlines() if line.strip()]
    assert all(isinstance(one, Decoded) for one in found), [one for one in found if not isinstance(one, Decoded)]
    return [one for one in found if isinstance(one, Decoded)]


def cost(
    target: str,
    text: str,
    waves: int = 1,
    *,
    loop: bool = True,
    wave_size: int | None = None,
    active_simds: int | None = None,
    pending: dict[str, float] | None = None,
) -> BlockCost:
    """The cost of a text, as a loop body unless told otherwise."""
    return block_cost(
        decode(target, text, wave_size), load_fingerprint(target), waves, wave_size=wave_size, loop=loop,
        active_simds=active_simds, pending=pending,
    )  # fmt: skip


def function(target: str, text: str, wave_size: int | None = None) -> Function:
    """The first function of an assembly file."""
    source = parse_source("kernel.s", text, SourceOptions())
    return build_program(source, find_target(target), wave_size).functions[0]
