"""Short programs for constraint tests: one kernel around some lines."""

from __future__ import annotations

from asmevo_gate.constraints.files import graph_for
from asmevo_gate.constraints.reference import violations
from asmevo_gate.constraints.violation import HazardViolation
from asmevo_gate.isa.targets import parse_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.model import Function
from asmevo_gate.source.parser import parse_source

_DESCRIPTOR = """.rodata
.amdhsa_kernel k
.amdhsa_next_free_vgpr {vgprs}
.amdhsa_next_free_sgpr 100
{offset}.end_amdhsa_kernel
"""


def kernel(gpu: str, text: str, wave: int | None = None, vgprs: int | None = None) -> Function:
    """A kernel of one target; every line must decode. ``vgprs`` are the VGPRs that its descriptor allocates; without
    it the kernel has no descriptor."""
    target = parse_target(gpu)
    size = wave or target.wave_sizes[0]
    source = f'.amdgcn_target "amdgcn-amd-amdhsa--{gpu}"\n.text\nk:\n{text}\n'
    if vgprs is not None:
        offset = f".amdhsa_accum_offset {vgprs}\n" if target.name in ("gfx90a", "gfx942", "gfx950") else ""
        source += _DESCRIPTOR.format(vgprs=vgprs, offset=offset)
    (function,) = build_program(parse_source("k.s", source), target, size).functions
    unknown = [one.statement.text for one in function.instructions if one.decoded is None]
    assert not unknown, unknown
    return function


def found(gpu: str, text: str, wave: int | None = None) -> list[HazardViolation]:
    """Violations of a kernel by the reference engine."""
    function = kernel(gpu, text, wave)
    return violations(function, graph_for(function.target))


def rules(gpu: str, text: str, wave: int | None = None) -> set[str]:
    """Rules that a kernel breaks."""
    return {violation.edge.rule for violation in found(gpu, text, wave)}
