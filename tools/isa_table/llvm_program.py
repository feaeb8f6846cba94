"""Builds and runs ``llvm_tables``, the program that reads LLVM's instruction descriptions."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from shutil import which
from typing import Any

SOURCE = Path(__file__).with_name("llvm_tables.cpp")
LLVM_MAJOR = 22
_COMPONENTS = ("amdgpuasmparser", "amdgpudesc", "amdgpuinfo", "amdgpuutils", "mcparser", "mc", "support")


class MissingTool(Exception):
    """A program or library that the extractor needs is not installed."""


def build(directory: Path) -> Path:
    """Compile the program into ``directory`` (once; again when its source is newer) and return its path.

    Raises:
        MissingTool: no C++ compiler, or no LLVM development files (Debian: ``llvm-22-dev``, ``g++``,
            ``libzstd-dev``, ``zlib1g-dev``, ``libxml2-dev``).
    """
    program = directory / f"llvm_tables-{LLVM_MAJOR}"
    if program.exists() and program.stat().st_mtime >= SOURCE.stat().st_mtime:
        return program
    config = which(f"llvm-config-{LLVM_MAJOR}")
    compiler = which("g++") or which(f"clang++-{LLVM_MAJOR}")
    if config is None or compiler is None:
        raise MissingTool(f"needs g++ and llvm-config-{LLVM_MAJOR} (packages g++ and llvm-{LLVM_MAJOR}-dev)")

    def ask(*arguments: str) -> list[str]:
        return subprocess.run([config, *arguments], check=True, capture_output=True, text=True).stdout.split()

    archive = Path(ask("--libdir")[0]) / "libLLVMAMDGPUAsmParser.a"
    if not archive.exists():
        raise MissingTool(f"needs LLVM's static libraries ({archive}; package llvm-{LLVM_MAJOR}-dev)")
    directory.mkdir(parents=True, exist_ok=True)
    command = [
        compiler, "-O1", "-std=c++17", "-fno-rtti", str(SOURCE), "-o", str(program),
        f"-I{ask('--includedir')[0]}", "-D__STDC_CONSTANT_MACROS", "-D__STDC_FORMAT_MACROS", "-D__STDC_LIMIT_MACROS",
        f"-L{ask('--libdir')[0]}", "-Wl,--start-group",
        *ask("--link-static", "--libs", *_COMPONENTS), "-Wl,--end-group",
        *ask("--link-static", "--system-libs"),
    ]  # fmt: skip
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise MissingTool(f"cannot link against LLVM's static libraries:\n{result.stderr[-2000:]}")
    return program


def describe(program: Path) -> dict[str, Any]:
    """Every opcode, register and scheduling class of LLVM's AMDGPU target."""
    result = subprocess.run([program, "describe"], check=True, capture_output=True)
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def synthesize(program: Path, cpu: str) -> list[str]:
    """One or more texts of every opcode, whether or not the CPU has it."""
    result = subprocess.run([program, "synthesize", cpu], check=True, capture_output=True, text=True)
    return [line for line in result.stdout.splitlines() if line]


class Assembled:
    """What LLVM made of one line: opcode and operands, or the error that it reported."""

    __slots__ = ("error", "opcode", "operands")

    def __init__(self, opcode: int, operands: list[Any], error: str) -> None:
        self.opcode = opcode
        self.operands = operands
        """Registers as ``"r12"`` (LLVM's number), immediates as numbers, expressions as ``None``."""
        self.error = error


def assemble(program: Path, cpu: str, lines: Iterable[str]) -> Iterator[tuple[str, Assembled]]:
    """Assemble lines (one instruction each) for ``cpu``, which may carry features: ``gfx1100,+wavefrontsize64``."""
    texts = list(lines)
    source = "\n".join(texts) + "\n"
    result = subprocess.run([program, "assemble", cpu], capture_output=True, text=True, input=source)
    if result.returncode < 0:
        raise RuntimeError(f"llvm_tables assemble {cpu} died of signal {-result.returncode}")
    answers: dict[int, Assembled] = {}
    for line in result.stdout.splitlines():
        item = json.loads(line)
        number = item["line"]
        if "error" in item:
            answers[number] = Assembled(-1, [], item["error"])
        elif number not in answers:
            answers[number] = Assembled(item["opcode"], item["operands"], "")
    for number, text in enumerate(texts, 1):
        yield text, answers.get(number, Assembled(-1, [], "no answer"))
