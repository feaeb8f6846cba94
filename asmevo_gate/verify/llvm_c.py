"""Disassembles AMDGPU code with the C interface of an LLVM shared library. Run as a child process only.

LLVM may abort the process on bad input, so nothing here runs inside the gate::

    python -I llvm_c.py --probe LIBRARY               prints the version, exit code 0 when it works
    python -I llvm_c.py LIBRARY CPU FEATURES < code   one line an instruction: offset, size, text
"""

from __future__ import annotations

import ctypes
import sys

_TRIPLE = b"amdgcn-amd-amdhsa"
_PARTS = ("TargetInfo", "Target", "TargetMC", "Disassembler")
_PROBE_CODE = bytes.fromhex("000081bf")
"""s_endpgm on gfx9."""


def main(arguments: list[str]) -> int:
    """Probe a library or disassemble standard input."""
    if arguments[0] == "--probe":
        library = _load(arguments[1])
        if [text for _, _, text in _disassemble(library, b"gfx90a", b"", _PROBE_CODE)] != ["s_endpgm"]:
            print("does not disassemble AMDGPU code", file=sys.stderr)
            return 1
        print(_version(library))
        return 0
    path, cpu, features = arguments
    for offset, size, text in _disassemble(_load(path), cpu.encode(), features.encode(), sys.stdin.buffer.read()):
        print(offset, size, text)
    return 0


def _load(path: str) -> ctypes.CDLL:
    library = ctypes.CDLL(path)
    if hasattr(library, "LLVMInitializeAMDGPUDisassembler"):
        for part in _PARTS:
            getattr(library, f"LLVMInitializeAMDGPU{part}")()
    else:
        for part in _PARTS:
            getattr(library, f"LLVMInitializeAll{part}s")()
    return library


def _version(library: ctypes.CDLL) -> str:
    if not hasattr(library, "LLVMGetVersion"):
        return "version not known"
    parts = [ctypes.c_uint() for _ in range(3)]
    library.LLVMGetVersion(*(ctypes.byref(part) for part in parts))
    return ".".join(str(part.value) for part in parts)


def _disassemble(library: ctypes.CDLL, cpu: bytes, features: bytes, code: bytes) -> list[tuple[int, int, str]]:
    """(offset, size, text) of each instruction; a word that is none is ``.long``."""
    create = library.LLVMCreateDisasmCPUFeatures
    create.restype = ctypes.c_void_p
    create.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    step = library.LLVMDisasmInstruction
    step.restype = ctypes.c_size_t
    step.argtypes = [
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_uint64,
        ctypes.c_uint64,
        ctypes.c_char_p,
        ctypes.c_size_t,
    ]
    context = create(_TRIPLE, cpu, features, None, 0, None, None)
    if not context:
        raise SystemExit(f"no disassembler for {cpu.decode()}")
    # A buffer with room behind the code: the decoder looks ahead for literals.
    buffer = ctypes.create_string_buffer(code + bytes(32))
    start = ctypes.addressof(buffer)
    line = ctypes.create_string_buffer(1024)
    found = []
    offset = 0
    while offset + 4 <= len(code):
        size = step(context, start + offset, len(code) - offset, offset, line, len(line))
        if size:
            text = line.value.decode("utf-8", "replace").strip()
        else:
            size, text = 4, f".long 0x{int.from_bytes(code[offset : offset + 4], 'little'):08x}"
        found.append((offset, size, text))
        offset += size
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
