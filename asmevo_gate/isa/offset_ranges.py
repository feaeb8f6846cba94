"""The immediate offsets that memory instructions of each GPU can hold; data in ``data/offset_ranges.json``."""

from __future__ import annotations

from functools import cache

import msgspec

from asmevo_gate.isa.data_files import read_data
from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.isa.targets import Target


class _Document(msgspec.Struct, frozen=True):
    schema: str
    sources: list[str]
    ranges: dict[str, dict[str, tuple[int, int]]]


@cache
def _ranges() -> dict[str, dict[str, tuple[int, int]]]:
    text = read_data("offset_ranges.json")
    return msgspec.json.decode(text, type=_Document).ranges


_KINDS = (
    (Op.BUFFER, "buffer"),
    (Op.DS, "ds"),
    (Op.SCRATCH, "scratch"),
    (Op.GLOBAL, "global"),
    (Op.FLAT, "flat"),
)
_ADDRESSED = Op.BUFFER | Op.DS | Op.SCRATCH | Op.GLOBAL | Op.FLAT


def offset_range(decoded: Decoded, modifier: str, target: Target) -> tuple[int, int] | None:
    """The least and the greatest value of ``offset``, ``offset0`` or ``offset1`` of an instruction; ``None`` when the
    instruction has no such field or the GPU is not in the data."""
    return _range(decoded.classes & _ADDRESSED, modifier, target.table)


@cache
def _range(classes: int, modifier: str, table: str) -> tuple[int, int] | None:
    kind = next((name for bits, name in _KINDS if classes & bits), None)
    if kind == "ds" and modifier != "offset":
        kind = "ds_pair"
    elif modifier != "offset":
        return None
    return _ranges().get(table, {}).get(kind or "")
