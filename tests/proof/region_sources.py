"""Regions of compiled kernels, for mutation and for rewrites that are known to be equal."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from asmevo_gate.analysis.regions import Region, find_regions
from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.isa.targets import Target, parse_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.parser import parse_source
from tests.oracles.compiled_kernels import compile_job, sample


@dataclass(frozen=True)
class Slice:
    """A region with what a prover needs to know about it."""

    gpu: str
    name: str
    target: Target
    wave_size: int
    code: tuple[Decoded, ...]
    live_out: int
    live_in: int
    lane_active: bool = False


def slices(limit: int, seed: int = 1, smallest: int = 5, largest: int = 40, per_kernel: int = 3) -> Iterator[Slice]:
    """Up to ``limit`` different regions from compiled kernels, over all targets.

    Raises:
        CompileError: the compiler is missing.
    """
    rng = random.Random(seed)
    seen: set[tuple[str, ...]] = set()
    count = 0
    for job in sample(None):
        text = compile_job(job)
        regions = _regions(text, job.gpu, smallest, largest)
        rng.shuffle(regions)
        for region in regions[:per_kernel]:
            code = tuple(one.decoded for one in region.instructions if one.decoded is not None)
            key = (job.gpu, *(decoded.text for decoded in code))
            if key in seen:
                continue
            seen.add(key)
            function = region.function
            yield Slice(job.gpu, job.name, function.target, function.wave_size, code, region.live_out, region.live_in)
            count += 1
            if count >= limit:
                return


def _regions(text: str, gpu: str, smallest: int, largest: int) -> list[Region]:
    program = build_program(parse_source("kernel.s", text, SourceOptions()), parse_target(gpu))
    return [
        region
        for function in program.functions
        for region in find_regions(function).regions
        if smallest <= region.end - region.first - len(region.timing) and region.end - region.first <= largest
    ]
