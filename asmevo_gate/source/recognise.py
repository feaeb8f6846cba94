"""Is this text AMDGPU assembly? A quick look, so that the ``.s`` files of other processors are skipped quietly."""

from __future__ import annotations

import re

_SURE = re.compile(
    r"^[ \t]*\.(?:amdgcn_target|amdhsa_|amdgpu_metadata|hsa_code_object_|amdgpu_hsa_kernel|amd_kernel_code_t|amdgcn\.)",
    re.MULTILINE,
)
_MNEMONIC = re.compile(
    r"^[ \t]*(?:[\w.$]+:[ \t]*)*"
    r"(?P<gpu>[sv]_[a-z]\w+|(?:buffer|tbuffer|global|flat|scratch|ds|image|tensor)_[a-z]\w+)?(?P<other>[a-zA-Z.][\w.]*)?",
    re.MULTILINE,
)
_LOOK = 4_000
"""How many statements the quick look reads."""
_SHARE = 0.5


def not_amdgpu(text: str) -> str:
    """Why a text is not taken for AMDGPU assembly; ``""`` when it is.

    An AMD directive decides. Without one, half of the first instructions must have AMDGPU mnemonics (``s_``, ``v_``,
    ``buffer_``, ``ds_`` ...); macros of hand-written files count for neither side as long as AMDGPU mnemonics are the
    majority of what looks like an instruction.
    """
    if _SURE.search(text):
        return ""
    gpu = other = 0
    for match in _MNEMONIC.finditer(text):
        if match["gpu"]:
            gpu += 1
        elif match["other"] and not match["other"].startswith("."):
            other += 1
        if gpu + other >= _LOOK:
            break
    if gpu and gpu >= _SHARE * (gpu + other):
        return ""
    return "no AMDGPU assembly" if gpu + other else "no instructions"
