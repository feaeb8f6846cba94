"""Is this file AMDGPU assembly at all? Quick answers, so that other ``.s`` files cost next to nothing."""

from __future__ import annotations

import re
from typing import NamedTuple

from asmevo_gate.errors import GateError


class Recognition(NamedTuple):
    """The answer and what it rests on."""

    is_amdgpu: bool
    reason: str


_AMDGPU_DIRECTIVES = (
    ".amdgcn_target",
    ".amdhsa_kernel",
    ".amdhsa_code_object_version",
    ".amdgpu_metadata",
    ".amdgpu_hsa_kernel",
    ".hsa_code_object_",
    ".amd_kernel_code_t",
    ".amdgcn.",
)
_OTHER_MARKS = re.compile(
    r"^\s*(?:\.intel_syntax|\.att_syntax|\.syntax\s+unified|\.thumb|\.arch\s+arm|\.arch\s+armv|\.cpu\s|\.option\s+(?:rvc|norvc"
    r"|pic|nopic|arch)|\.attribute\s+arch|\.abiversion|\.machine\s|\.set\s+(?:no)?reorder|\.set\s+noat|\.target\s+sm_)",
    re.MULTILINE,
)
_STATEMENT = re.compile(r"^[ \t]*(?:[\w.$]+:[ \t]*)*([A-Za-z]\w*)", re.MULTILINE)
_AMDGPU_MNEMONIC = re.compile(
    r"(?:[sv]_[a-z0-9]+|ds_[a-z0-9]+|buffer_(?:load|store|atomic|inv|wbl2|gl)|tbuffer_|global_(?:load|store|atomic|inv|wb)"
    r"|flat_(?:load|store|atomic)|scratch_(?:load|store)|image_|tensor_|cluster_load)\w*$|exp$"
)
_SAMPLE_CHARACTERS = 256 * 1024
_LEAST_SHARE = 0.1


def recognise(text: str) -> Recognition:
    """Whether a text is AMDGPU assembly: by its directives, else by the share of its statements that are named like
    AMDGPU instructions."""
    for directive in _AMDGPU_DIRECTIVES:
        if directive in text:
            return Recognition(True, f"it uses {directive}")
    sample = text[:_SAMPLE_CHARACTERS]
    names = _STATEMENT.findall(sample)
    ours = sum(1 for name in names if _AMDGPU_MNEMONIC.match(name))
    if not ours:
        return Recognition(False, "no directive and no instruction of AMDGPU occurs")
    if other := _OTHER_MARKS.search(sample):
        return Recognition(False, f"'{other[0].strip()}' belongs to another processor")
    share = ours / len(names)
    if share < _LEAST_SHARE:
        return Recognition(False, f"{ours} of {len(names)} statements are named like AMDGPU instructions")
    return Recognition(True, f"{ours} of {len(names)} statements are named like AMDGPU instructions")


def looks_like_amdgpu(text: str) -> bool:
    """True for AMDGPU assembly; see :func:`recognise` for the reason."""
    return recognise(text).is_amdgpu


def decode_source(path: str, data: bytes) -> str:
    """The text of a file, line ends untouched.

    Raises:
        GateError: the bytes are no UTF-8 text; the message says what they look like and where that shows.
    """
    if data.startswith(b"\x7fELF"):
        raise GateError(
            "this is an ELF object, not assembly text", "give code objects a name that says so (.o, .co, .hsaco)", path
        )
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise GateError("the file is UTF-16 text", "save it as UTF-8", path, 1)
    nul = data.find(b"\0")
    if nul >= 0:
        line = data.count(b"\n", 0, nul) + 1
        raise GateError("the file is binary: it holds a NUL byte", "check in assembly text", path, line)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise GateError(
            f"the file is not UTF-8 text (byte 0x{data[error.start]:02x})", "save it as UTF-8", path, line
        ) from error
