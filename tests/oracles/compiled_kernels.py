"""Kernels compiled by LLVM 22 from our own OpenCL C: clean compiler output for differential tests.

``compiled_kernels()`` yields ``(gpu, name, text)``. Sources stand in ``sources/*.cl``; each is compiled for
each GPU at several optimisation levels, wave sizes, work-group sizes, register budgets and problem sizes.
Outputs are cached by content (source, command line, compiler version) in the directory for temporary files.

Nothing here depends on pytest. Command line::

    python -m tests.oracles.compiled_kernels [--limit N] [--write DIR] [GPU ...]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

GPUS = (
    "gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030", "gfx1100", "gfx1151",
    "gfx1200", "gfx1201", "gfx1250",
)  # fmt: skip
COMPILER = "clang-22"
SOURCES = Path(__file__).parent / "sources"
TIMEOUT_SECONDS = 120

_SINGLE_WAVE_SIZE = ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1250")
_EVERYWHERE: tuple[tuple[str, ...], ...] = (
    ("-O2",),
    ("-O0",),
    ("-O1",),
    ("-O3",),
    ("-O3", "-DWG=64"),
    ("-O3", "-DWG=1024"),
    ("-O2", "-DWAVES=8"),
    ("-O2", "-DWAVES=4"),
)
_WAVE64 = ("-O2", "-mwavefrontsize64", "-DWAVE64")
_SIZED = (("-O2", "-DSIZE=3"), ("-O3", "-DSIZE=12"), ("-O2", "-DSIZE=14", "-DWG=128"))
_LOCAL = (
    ("-O2", "-DLDS_WORDS=513", "-DWG=64"),
    ("-O2", "-DLDS_WORDS=3000", "-DWG=128"),
    ("-O2", "-DLDS_WORDS=6000", "-DWG=256"),
    ("-O2", "-DLDS_WORDS=16000", "-DWG=512"),
)


class CompiledKernel(NamedTuple):
    """One compiler output: ``name`` is source and options (``softmax -O2 -DWG=64``)."""

    gpu: str
    name: str
    text: str


class Job(NamedTuple):
    """What to compile: a source file for a GPU with compiler options."""

    gpu: str
    source: Path
    options: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name of the output."""
        return " ".join((self.source.stem, *self.options))


class CompileError(Exception):
    """The compiler rejected one of our sources; the message holds its output."""


@cache
def compiler() -> str | None:
    """Path of the compiler, or ``None`` when it is not installed."""
    return shutil.which(COMPILER)


def jobs(gpus: Sequence[str] = GPUS) -> list[Job]:
    """Every job for the GPUs."""
    found = []
    for source in sorted(SOURCES.glob("*.cl")):
        text = source.read_text("utf-8")
        options = _EVERYWHERE + (_SIZED if "SIZE" in text else ()) + (_LOCAL if "LDS_WORDS" in text else ())
        for gpu in gpus:
            wave64 = () if gpu in _SINGLE_WAVE_SIZE else (_WAVE64,)
            found += [Job(gpu, source, option) for option in options + wave64]
    return found


def sample(limit: int | None, gpus: Sequence[str] = GPUS) -> list[Job]:
    """``limit`` jobs in a fixed shuffled order (all when ``None``): a larger sample contains a smaller one."""
    everything = jobs(gpus)
    random.Random(0).shuffle(everything)
    return everything[:limit]


def compile_job(job: Job) -> str:
    """The assembly of one job, from the cache when it was compiled before.

    Raises:
        CompileError: no compiler, or it rejected the source.
    """
    path = compiler()
    if path is None:
        raise CompileError(f"{COMPILER} is not installed")
    arguments = [
        "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={job.gpu}", "-nogpulib", "-w",
        *job.options, "-S", job.source.name, "-o", "-",
    ]  # fmt: skip
    cached = _cache_directory() / f"{_key(path, job, arguments)}.s"
    if cached.is_file():
        return cached.read_text("utf-8")
    done = subprocess.run(
        [path, *arguments], cwd=SOURCES, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
    )
    if done.returncode:
        raise CompileError(f"{job.gpu} {job.name}: {done.stderr.strip()[:2000]}")
    descriptor, temporary = tempfile.mkstemp(dir=cached.parent)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(done.stdout)
    Path(temporary).replace(cached)
    return done.stdout


def compiled_kernels(limit: int | None = None, gpus: Sequence[str] = GPUS) -> Iterator[CompiledKernel]:
    """Compiler outputs (each a file with one or two kernels), as :func:`sample` orders them.

    Raises:
        CompileError: see :func:`compile_job`.
    """
    for job in sample(limit, gpus):
        yield CompiledKernel(job.gpu, job.name, compile_job(job))


def _cache_directory() -> Path:
    directory = Path(tempfile.gettempdir()) / f"asmevo-gate-compiled-{os.getuid()}"
    directory.mkdir(mode=0o700, exist_ok=True)
    return directory


@cache
def _version(path: str) -> str:
    return subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=True).stdout


@cache
def _header() -> bytes:
    return (SOURCES / "device.h").read_bytes()


def _key(path: str, job: Job, arguments: list[str]) -> str:
    digest = hashlib.sha256()
    for part in (_version(path).encode(), _header(), job.source.read_bytes(), "\0".join(arguments).encode()):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:32]


def main() -> None:
    """Compile and report; with ``--write`` put the outputs into a directory."""
    parser = argparse.ArgumentParser(description="Compile the oracle's kernels.")
    parser.add_argument("gpus", nargs="*", default=list(GPUS))
    parser.add_argument("--limit", type=int)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    count = lines = 0
    for gpu, name, text in compiled_kernels(arguments.limit, arguments.gpus):
        count += 1
        lines += text.count("\n")
        if arguments.write:
            target = arguments.write / gpu / (name.replace(" ", "_") + ".s")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8")
    print(f"{count} outputs, {lines} lines, cached in {_cache_directory()}")


if __name__ == "__main__":
    main()
