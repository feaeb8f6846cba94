"""The resource figures that LLVM prints as comments behind each kernel, and the comparison with ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from asmevo_gate.analysis.resources import Resources, kernel_resources
from asmevo_gate.isa.resource_limits import extra_sgprs, has_xnack, resource_limits, total_vgprs
from asmevo_gate.isa.targets import Target, parse_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.model import Function, Program
from asmevo_gate.program.symbol_values import SymbolValues
from asmevo_gate.source.parser import parse_source
from tests.oracles.compiled_kernels import CompiledKernel

_FIGURES = (
    "TotalNumSgprs", "NumVgprs", "NumAgprs", "TotalNumVgprs", "ScratchSize", "LDSByteSize", "Occupancy",
    "NumSGPRsForWavesPerEU", "NumVGPRsForWavesPerEU", "VGPRBlocks",
)  # fmt: skip
_COMMENT = re.compile(rf"^; (?P<name>{'|'.join(_FIGURES)}): (?P<value>.+)$")


class Difference(NamedTuple):
    """One figure in which ours and the compiler's differ."""

    output: str
    kernel: str
    figure: str
    compiler: int
    ours: int | None


def comments_by_kernel(text: str) -> dict[str, dict[str, str]]:
    """The figures behind each kernel, unevaluated: a kernel's stand after its ``.amdhsa_kernel`` block."""
    found: dict[str, dict[str, str]] = {}
    kernel = ""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith(".amdhsa_kernel "):
            kernel = stripped.split()[1]
        elif "-- Begin function" in line:
            kernel = ""
        elif kernel and (match := _COMMENT.match(line)):
            value = match["value"].removesuffix("bytes/workgroup (compile time only)")
            found.setdefault(kernel, {})[match["name"]] = value
    return found


def program_of(output: CompiledKernel) -> Program:
    """Our program of a compiler output, for the target that the file names."""
    source = parse_source(f"{output.gpu} {output.name}", output.text)
    return build_program(source, target_of(output))


def target_of(output: CompiledKernel) -> Target:
    """The target of ``.amdgcn_target``."""
    match = re.search(r'\.amdgcn_target "([^"]+)"', output.text)
    assert match, output.name
    return parse_target(match[1])


def differences(output: CompiledKernel) -> tuple[int, list[Difference]]:
    """Number of kernels in a compiler output, and every figure that differs."""
    program = program_of(output)
    symbols = SymbolValues(program.source, program.target)
    kernels = {function.name: function for function in program.kernels}
    found = []
    comments = comments_by_kernel(output.text)
    for name, figures in comments.items():
        expected = {figure: symbols.evaluate(text) for figure, text in figures.items()}
        ours = dict(_our_figures(kernels[name], kernel_resources(kernels[name])))
        for figure, value in expected.items():
            if figure in ours and ours[figure] != value:
                found.append(Difference(f"{output.gpu} {output.name}", name, figure, value, ours[figure]))
    return len(comments), found


def _our_figures(kernel: Function, ours: Resources) -> Iterator[tuple[str, int | None]]:
    yield "Occupancy", ours.occupancy_waves_per_simd
    yield "NumSGPRsForWavesPerEU", ours.sgpr_declared
    yield "NumVGPRsForWavesPerEU", ours.vgpr_total
    yield "LDSByteSize", ours.lds_bytes
    yield "ScratchSize", ours.scratch_bytes
    file = resource_limits(kernel.target).vgpr[kernel.wave_size]
    if ours.vgpr_total is not None:
        yield "VGPRBlocks", (max(ours.vgpr_total, 1) - 1) // file.encoding_granule
    if ours.used.complete:
        used, target = ours.used, kernel.target
        yield "NumVgprs", used.vgprs
        yield (
            "TotalNumSgprs",
            used.sgprs + extra_sgprs(target, used.vcc, used.flat_scratch, has_xnack(target)),
        )
        if target.facts["agpr"]:
            yield "NumAgprs", used.agprs
            yield "TotalNumVgprs", total_vgprs(target, used.vgprs, used.agprs)
