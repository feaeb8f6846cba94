"""Machine code -> instruction text, by llvm-objdump or by LLVM's C interface in a child process."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import msgspec

from asmevo_gate.isa.targets import Target
from asmevo_gate.program.destinations import MachineInstruction
from asmevo_gate.verify.discovery import LIBRARY_COMMAND, Tool, find_tools
from asmevo_gate.verify.limited_process import MEMORY_BYTES, TIMEOUT_SECONDS, Finished, run_limited

MAX_CODE_BYTES = 16 << 20
"""About three million instructions; the largest public kernels have a hundred thousand."""

_LINE = re.compile(r"^\s+(?P<text>\S.*?)\s*// (?P<address>[0-9A-F]{12}): (?P<words>(?:[0-9A-F]{8} ?)+)", re.M)

_DOUBT = "/*"
"""LLVM comments on operands that it takes for invalid: the word is of an instruction that this LLVM does not know."""


class Disassembled(msgspec.Struct, frozen=True):
    """The instructions of a code section in ascending order; ``offset`` is within the section."""

    instructions: tuple[MachineInstruction, ...]
    tool: Tool


class NotDisassembled(msgspec.Struct, frozen=True):
    """Why there is no disassembly, and what to do."""

    reason: str
    repair: str


def find_disassembler(option: str | None = None) -> Tool | NotDisassembled:
    """The first llvm-objdump with AMDGPU, else the library of rocm-llvm-python; ``option`` as in ``find_tools``."""
    tried = []
    for found in find_tools(("llvm-objdump", "llvm-c"), option):
        if isinstance(found, Tool):
            return found
        tried.append(f"{' '.join(found.command)}: {found.reason}")
    listed = "; ".join(tried) or "none was found"
    return NotDisassembled(f"no AMDGPU disassembler: {listed}", "pip install 'asmevo-gate[assembler]'")


def disassemble(
    code: bytes,
    target: Target,
    tool: Tool,
    wave_size: int | None = None,
    timeout: float = TIMEOUT_SECONDS,
    memory: int = MEMORY_BYTES,
) -> Disassembled | NotDisassembled:
    """The instructions of raw machine code (the bytes of a ``.text`` section)."""
    if len(code) > MAX_CODE_BYTES:
        return NotDisassembled(f"more than {MAX_CODE_BYTES >> 20} MiB of code", "split the code object")
    features = _features(target, wave_size)
    with tempfile.TemporaryDirectory(prefix="asmevo-gate-") as name:
        if tool.kind == "llvm-c":
            arguments = [*LIBRARY_COMMAND, *tool.command, target.name, features]
            given = code
        else:
            file = Path(name) / "code.o"
            file.write_bytes(elf_with_code(code))
            options = ["-d", f"--mcpu={target.name}", "--triple=amdgcn-amd-amdhsa", "-z", "-j", ".text"]
            options += [f"--mattr={features}"] if features else []
            arguments, given = [*tool.command, *options, str(file)], b""
        try:
            done = run_limited(arguments, given, timeout, memory)
        except OSError as error:
            return NotDisassembled(f"{tool} cannot be started: {error.strerror or error}", "install it again")
    if done.timed_out:
        return NotDisassembled(f"{tool} did not finish in {timeout:g} s", "raise the limit")
    if done.code or "not a recognized processor" in done.errors:
        return NotDisassembled(f"{tool} failed: {done.errors.strip()[:300]}", f"use a tool that knows {target.name}")
    parsed = _parse_library(done) if tool.kind == "llvm-c" else _parse_objdump(done)
    covered = sum(instruction.size for instruction in parsed)
    if covered != len(code) // 4 * 4:
        return NotDisassembled(f"{tool} covers {covered} of {len(code)} bytes of code", "report this")
    return Disassembled(parsed, tool)


def _features(target: Target, wave_size: int | None) -> str:
    other = wave_size is not None and wave_size in target.wave_sizes and wave_size != target.wave_sizes[0]
    return f"+wavefrontsize{wave_size},-wavefrontsize{target.wave_sizes[0]}" if other else ""


def _parse_library(done: Finished) -> tuple[MachineInstruction, ...]:
    lines = (line.split(" ", 2) for line in done.output.decode("utf-8", "replace").splitlines())
    return tuple(MachineInstruction(int(offset), int(size), text) for offset, size, text in lines)


def _parse_objdump(done: Finished) -> tuple[MachineInstruction, ...]:
    found = []
    for match in _LINE.finditer(done.output.decode("utf-8", "replace")):
        words = match["words"].split()
        text = match["text"].strip()
        if _DOUBT in text:
            text = f".long {', '.join(f'0x{word.lower()}' for word in words)}"
        found.append(MachineInstruction(int(match["address"], 16), 4 * len(words), text))
    return tuple(found)


def elf_with_code(code: bytes) -> bytes:
    """A minimal relocatable AMDGPU ELF file whose ``.text`` is the code, for tools that read nothing else."""
    names = b"\0.text\0.shstrtab\0"
    start = 64
    names_at = start + len(code)
    headers_at = (names_at + len(names) + 7) // 8 * 8
    identity = b"\x7fELF\x02\x01\x01\x40\x04" + bytes(7)
    header = identity + _pack(2, 1, 224) + _pack(4, 1) + _pack(8, 0, 0, headers_at) + _pack(4, 0)
    header += _pack(2, 64, 0, 0, 64, 3, 2)
    sections = bytes(64)
    sections += _pack(4, 1, 1) + _pack(8, 6, 0, start, len(code)) + _pack(4, 0, 0) + _pack(8, 4, 0)
    sections += _pack(4, 7, 3) + _pack(8, 0, 0, names_at, len(names)) + _pack(4, 0, 0) + _pack(8, 1, 0)
    return (header + code + names).ljust(headers_at, b"\0") + sections


def _pack(width: int, *values: int) -> bytes:
    return b"".join(value.to_bytes(width, "little") for value in values)
