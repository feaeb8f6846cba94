"""Instructions as a language model sees them: registers, numbers and the hardware's own words, nothing that the source
may call as it likes. Comments, symbols, labels and quoted text never get through."""

from __future__ import annotations

import re

from asmevo_gate.isa.instruction import Decoded, Operand
from asmevo_gate.isa.registers import SPECIAL, interval_name
from asmevo_gate.rewrite.edit_script import ScriptError, with_operand

SYMBOL = "symbol"
_SAFE = re.compile(r"[A-Za-z0-9_.,:|&()\[\] +\-*/]{1,300}")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.$@]*")
_REGISTER = re.compile(r"(?:v|s|a|acc|ttmp)(?:\d+(?:\.[lh])?)?|vcc|exec|flat_scratch|xnack_mask|off|null")
_NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]+|[0-9.]+(?:e-?[0-9]+)?)")
_OF_HARDWARE = re.compile(
    r"hwreg|HW_REG_\w+|sendmsg|MSG_\w+|(?:vm|exp|lgkm|vs|load|store|ds|km|sample|bvh|async|tensor|x)cnt|depctr_\w+"
    r"|instid[01]|instskip|(?:VALU|TRANS32)_DEP_\d|SALU_CYCLE_\d|FMA_ACCUM_CYCLE_\d|NO_DEP|SAME|NEXT|SKIP_\d"
    r"|abs|neg|sext|lit|src_\w+|x[0-9a-fA-F]+|BYTE_\d|WORD_\d|DWORD|UNUSED_(?:PAD|SEXT|PRESERVE)|v_dual_\w+"
)
"""Words of LLVM's "AMDGPU Instruction Syntax" that are neither registers nor modifiers."""


def canonical(decoded: Decoded) -> str:
    """The instruction with its number for every symbolic operand, and ``symbol`` where there is none."""
    text = " ".join(decoded.text.split())
    try:
        for place, operand in enumerate(decoded.operands):
            if not _plain(operand):
                text = with_operand(text, place, _shown(operand))
    except ScriptError:
        return f"{decoded.mnemonic} {SYMBOL}"
    rest = text[len(text.split(" ", 1)[0]) :]
    known = {*decoded.modifiers, SYMBOL}
    foreign = [word for word in _WORD.findall(rest) if word not in known and not _of_hardware(word)]
    return text if _SAFE.fullmatch(text) and not foreign else f"{decoded.mnemonic} {SYMBOL}"


def _of_hardware(word: str) -> bool:
    return word in SPECIAL or bool(_REGISTER.fullmatch(word) or _OF_HARDWARE.fullmatch(word))


def _plain(operand: Operand) -> bool:
    if operand.value is not None and not operand.length:
        return bool(_NUMBER.fullmatch(operand.text))
    return all(map(_of_hardware, _WORD.findall(operand.text)))


def _shown(operand: Operand) -> str:
    if operand.length:
        return interval_name(operand.start, operand.length)
    return (
        SYMBOL
        if operand.value is None
        else f"{operand.value:g}"
        if isinstance(operand.value, float)
        else str(operand.value)
    )
