"""The JSON Schema of the JSON report, made from the result model so that the two cannot disagree.

``python -m asmevo_gate.report.schema`` writes ``report.schema.json``; a test fails when it is out of date.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from asmevo_gate.gate.result import SCHEMA, Report

SCHEMA_FILE = Path(__file__).with_name("report.schema.json")
_LINE = {"minimum": 0, "description": "1-based; 0 where the whole file is meant."}
_UNITS = {
    "lds_bytes": "Bytes of LDS (group segment) a work-group.",
    "scratch_bytes": "Bytes of scratch (private segment) a work-item.",
    "occupancy_waves_per_simd": "Wavefronts that fit on one SIMD.",
    "vgpr_live_max": "The largest number of VGPRs that are live at once.",
    "vgpr_allocated": "VGPRs a wavefront, rounded up to the allocation granule.",
    "cycles": "Estimated cycles; an interval where only bounds are known.",
    "ipc": "Estimated instructions a cycle; an interval where only bounds are known.",
    "fingerprint": "Stable over moved lines: rule, kernel and normalised instruction context.",
    "suppressed": "The reason given in the suppression comment, or null.",
    "delta": "head - base for each metric known on both sides; intervals by their middle.",
}


def report_schema() -> dict[str, Any]:
    """The schema of a written report: every field is always there, and fields may be added within version
    1."""
    (reference,), definitions = msgspec.json.schema_components([Report], ref_template="#/$defs/{name}")
    for definition in definitions.values():
        properties = definition.get("properties", {})
        for name, field in properties.items():
            field.pop("default", None)
            if name in ("line", "end_line", "column"):
                field.update(_LINE)
            elif name in _UNITS:
                field["description"] = _UNITS[name]
        definition["required"] = list(properties)
    report = definitions["Report"]["properties"]
    report["schema"] = {"const": SCHEMA}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{SCHEMA.replace('/', ':')}",
        "title": "asmevo-gate report",
        **reference,
        "$defs": definitions,
    }


def schema_text() -> str:
    """The text of ``report.schema.json``."""
    return json.dumps(report_schema(), indent=2) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
