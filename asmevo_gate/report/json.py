"""JSON: the published contract (``report.schema.json``), whole, in the same bytes for the same result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from asmevo_gate.report.arrangement import arranged

if TYPE_CHECKING:
    from asmevo_gate.gate.result import Report
    from asmevo_gate.report.context import RenderContext


def render(report: Report, context: RenderContext) -> str:
    """The report as JSON: two blanks of indentation, ``schema`` first, fields in the order of the contract.

    Numbers that are not finite are ``null``, as they are not known. A lone surrogate (from a file name that
    is no UTF-8) is written as its escape, since no JSON reader agrees on it.
    """
    fields: dict[str, Any] = msgspec.to_builtins(arranged(report, context.root), order="deterministic")
    ordered = {"schema": fields.pop("schema"), **fields}
    try:
        encoded = msgspec.json.encode(ordered)
    except UnicodeEncodeError:
        encoded = msgspec.json.encode(_encodable(ordered))
    return msgspec.json.format(encoded, indent=2).decode() + "\n"


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(entry) for entry in value]
    return value
