"""What selects the form of an instruction: base mnemonic, encoding variant, number of operands, features."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from asmevo_gate.isa.operand_text import evaluate

_SUFFIX = re.compile(r"_(e64_dpp|e32|e64|dpp|sdwa)$")
DPP_CONTROLS = frozenset(
    [
        *("quad_perm", "row_shl", "row_shr", "row_ror", "row_mirror", "row_half_mirror", "row_bcast", "row_newbcast"),
        *("row_share", "row_xmask", "wave_shl", "wave_rol", "wave_shr", "wave_ror", "dpp8"),
    ]
)
"""Modifiers that say which lane a DPP instruction reads."""
DPP_MODIFIERS = DPP_CONTROLS | {"bank_mask", "row_mask", "bound_ctrl", "fi"}
_MOST_MNEMONICS = 20_000
_SDWA_MODIFIERS = frozenset(("dst_sel", "dst_unused", "src0_sel", "src1_sel"))
_FEATURES = ("lds", "lwe", "row_en", "tfe")
_SELECTING = frozenset((*DPP_CONTROLS, *_SDWA_MODIFIERS, *_FEATURES, "glc", "sc0", "th"))
"""Modifiers that have a say in the choice of the form; the others only have to be allowed."""


class FormKey(NamedTuple):
    """``variant`` is one of ``"" e32 e64 dpp e64_dpp bare_dpp sdwa vopd``; ``bare_dpp`` has DPP modifiers behind a
    mnemonic that leaves the choice of the encoding to the assembler. ``features`` is a sorted, ``+``-joined part of
    ``lds lwe ret row_en tfe`` (modifiers that change what is read and written), or ``x`` / ``y`` for a half of a
    VOPD."""

    base: str
    variant: str
    count: int  # type: ignore[assignment]  # shadows tuple.count
    features: str


def form_key(mnemonic: str, count: int, modifiers: dict[str, str]) -> FormKey:
    """The key of an instruction with ``count`` operands (see :func:`operand_text.split`)."""
    if not modifiers or modifiers.keys().isdisjoint(_SELECTING):
        return _plain_key(mnemonic, count)
    base, variant = _parts(mnemonic)
    if not variant and mnemonic.startswith("v_"):
        if not modifiers.keys().isdisjoint(DPP_CONTROLS):
            variant = "bare_dpp"
        elif not modifiers.keys().isdisjoint(_SDWA_MODIFIERS):
            variant = "sdwa"
    return FormKey(base, variant, count, _features(modifiers))


@lru_cache(_MOST_MNEMONICS)
def _plain_key(mnemonic: str, count: int) -> FormKey:
    return FormKey(*_parts(mnemonic), count, "")


@lru_cache(_MOST_MNEMONICS)
def _parts(mnemonic: str) -> tuple[str, str]:
    """The mnemonic without its encoding suffix, and the suffix."""
    suffix = _SUFFIX.search(mnemonic)
    return (mnemonic[: suffix.start()], suffix[1]) if suffix else (mnemonic, "")


def _features(modifiers: dict[str, str]) -> str:
    found: list[str] = [name for name in _FEATURES if name in modifiers]
    if _returns(modifiers):
        found.append("ret")
    return "+".join(sorted(found))


def _returns(modifiers: dict[str, str]) -> bool:
    """True when an atomic is told to return the old value (TH_ATOMIC_RETURN is bit 0 of the temporal hint)."""
    if "glc" in modifiers or "sc0" in modifiers:
        return True
    hint = modifiers.get("th", "")
    return ("TH_ATOMIC" in hint and "RETURN" in hint) or bool((evaluate(hint) or 0) & 1)
