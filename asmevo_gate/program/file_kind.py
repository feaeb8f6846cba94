"""What a file is, by its first bytes: enough to know that no code object has to be read."""

from __future__ import annotations

ELF = b"\x7fELF"
BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_BUNDLE = b"CCOB"
_AMDGPU = b"\xe0\0"
"""EM_AMDGPU, 224, as e_machine of a little-endian file."""


def is_code_object(data: bytes) -> bool:
    """True when the bytes start like an AMDGPU ELF file or an offload bundle."""
    return data.startswith((BUNDLE, COMPRESSED_BUNDLE)) or (data.startswith(ELF) and data[18:20] == _AMDGPU)
