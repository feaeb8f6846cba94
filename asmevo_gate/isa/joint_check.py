"""What the operands and modifiers of one instruction must satisfy together, beside the place of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from asmevo_gate.isa.form_key import DPP_CONTROLS, DPP_MODIFIERS
from asmevo_gate.isa.instruction import Op
from asmevo_gate.isa.matrix_formats import has_matrix_formats
from asmevo_gate.isa.operand_text import Slot, evaluate

_WIDE = 4
"""Matrix results of more dwords must not overlap a part of the addend (LLVM, AMDGPUAsmParser::validateMFMA)."""
_IMAGE_CHANNELS = 4


def conflict(
    base: str, classes: int, slots: Sequence[Slot], data_widths: frozenset[int], modifiers: Mapping[str, str]
) -> str:
    """Why the operands do not go together; empty when they do, or when it is not known.

    ``data_widths`` are the register widths that the table has for the data of an image instruction without ``tfe``.
    """
    if classes & Op.MFMA and not classes & Op.SPARSE and not has_matrix_formats(base):
        return _matrix_overlap(slots)
    if "th" in modifiers:
        return _temporal_hint(classes, modifiers["th"])
    if classes & Op.SMEM and "offset" in modifiers and slots and not slots[-1].parts:
        return "the offset stands here twice, as operand and as modifier"
    if classes & Op.IMAGE and "dmask" in modifiers and slots and slots[0].parts:
        return _image_data(base, classes, slots[0], data_widths, modifiers)
    return ""


_HINTED = {"LOAD": Op.LOAD, "STORE": Op.STORE, "ATOMIC": Op.ATOMIC}


def _temporal_hint(classes: int, hint: str) -> str:
    kind = hint.removeprefix("TH_").partition("_")[0]
    wanted = Op.ATOMIC if classes & Op.ATOMIC else classes & (Op.LOAD | Op.STORE)
    if kind in _HINTED and wanted and not wanted & _HINTED[kind]:
        return f"{hint} is a temporal hint of another kind of instruction"
    return ""


def dpp_conflict(modifiers: Mapping[str, str]) -> str:
    """Why the modifiers of a DPP instruction do not go together: it has one control, and dpp8 has no masks."""
    controls = [name for name in modifiers if name in DPP_CONTROLS]
    if len(controls) != 1:
        return "a DPP instruction has one DPP control" + (f", not {' and '.join(controls)}" if controls else "")
    if controls == ["dpp8"] and (other := [name for name in modifiers if name in DPP_MODIFIERS - {"dpp8", "fi"}]):
        return f"dpp8 does not go with {' and '.join(other)}"
    return ""


def _matrix_overlap(slots: Sequence[Slot]) -> str:
    if len(slots) < 4 or not slots[0].parts or not slots[3].parts:
        return ""
    (result, length), (addend, _) = slots[0].parts[0], slots[3].parts[0]
    if length > _WIDE and result != addend and abs(result - addend) < length:
        return "the addend overlaps a part of the result; it has to be the same registers or others"
    return ""


def _image_data(base: str, classes: int, data: Slot, widths: frozenset[int], modifiers: Mapping[str, str]) -> str:
    """The data has a register for each channel of dmask, half of that when they are packed, and one for the status
    (AMDGPUAsmParser::validateMIMGDataSize, validateMIMGGatherDMask)."""
    mask = evaluate(modifiers["dmask"])
    if mask is None or classes & (Op.ATOMIC | Op.STORE):
        return ""
    status = 1 if "tfe" in modifiers else 0
    always_four = base.startswith("image_gather4") or widths == {_IMAGE_CHANNELS}
    if always_four and mask.bit_count() != 1:
        return "dmask of this instruction chooses one channel"
    wanted = _IMAGE_CHANNELS if always_four else max(mask.bit_count(), 1)
    if "d16" in modifiers:
        wanted = (wanted + 1) // 2
    length = sum(length for _, length in data.parts)
    return "" if length == wanted + status else f"{length} registers of data where dmask asks for {wanted + status}"
