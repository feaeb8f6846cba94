"""Kernels on which proposers are measured: clang's output for GEMM, attention, FFT, reductions and convolutions.

``benchmarks/rewrite_gain.py --region-set`` writes the data file from sources in this repository.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import msgspec

from asmevo_gate.analysis.liveness import live_registers
from asmevo_gate.analysis.regions import Region
from asmevo_gate.errors import UsageError
from asmevo_gate.program.model import Function, Program
from asmevo_gate.rewrite.gain import computing
from asmevo_gate.rewrite.scope import editable_regions
from asmevo_gate.source.recognise import decode_source

SMALLEST = 4
"""Computing instructions from which on a region counts."""
FILE = "data/region_set.json.gz"


class SetKernel(msgspec.Struct, frozen=True):
    """One file of the set: its text with the family of algorithms it belongs to."""

    family: str
    name: str
    text: str


def shipped_kernels() -> list[SetKernel]:
    """The set that comes with the gate."""
    content = gzip.decompress(files("asmevo_gate.rewrite").joinpath(FILE).read_bytes())
    return msgspec.json.decode(content, type=list[SetKernel])


def packed(kernels: Sequence[SetKernel]) -> bytes:
    """The content of the data file, the same for the same kernels."""
    return gzip.compress(msgspec.json.encode(list(kernels)), 9, mtime=0)


def kernels_at(paths: Sequence[Path]) -> list[SetKernel]:
    """Files, and the ``.s`` files in directories, as kernels of the family ``given``.

    Raises:
        UsageError: there is none, or one cannot be read.
    """
    found = [file for path in paths for file in (sorted(path.rglob("*.s")) if path.is_dir() else [path])]
    if not found:
        raise UsageError("there are no .s files to measure on", "name kernels, or leave --kernels out")
    try:
        return [SetKernel("given", str(file), decode_source(str(file), file.read_bytes())) for file in found]
    except OSError as error:
        raise UsageError(f"cannot read {error.filename}: {error.strerror}", "pass assembly files") from error


def counted_regions(program: Program) -> list[Region]:
    """The regions of the kernels of a program that count."""
    functions: Sequence[Function] = program.kernels or program.functions
    return [
        region
        for function in functions
        for region in editable_regions(program, function, live_registers(function)).regions
        if computing([one.decoded for one in region.instructions if one.decoded is not None]) >= SMALLEST
    ]
