"""What a rewrite gains, in words: pairs of numbers before and after it, those that differ only."""

from __future__ import annotations

from collections.abc import Mapping

from asmevo_gate.report.deltas import number_text

_LABELS = {
    "cycles": "cycles of one wave",
    "busy": "cycles a wave at this occupancy",
    "block_cycles": "cycles of the block",
    "block_cycles_high": "cycles of the block with slow memory",
    "ipc": "IPC",
    "instructions": "instructions",
    "vgprs_live": "live VGPRs",
    "vgprs_named": "VGPRs named",
}
"""Measures of ``rewrite/gain.py``, each with a number ``..._before`` and ``..._after``, in the order of reading."""
_MOST = 8


def rewrite_gains(metrics: Mapping[str, float]) -> list[str]:
    """``cycles of one wave 2 -> 1 (-50 %)`` for each measure that changes; what is no such pair as it stands."""
    names = [name.removesuffix("_before") for name in sorted(metrics) if name.endswith("_before")]
    pairs = [name for name in [*_LABELS, *names] if f"{name}_before" in metrics and f"{name}_after" in metrics]
    gains = [
        _pair(_LABELS.get(name, name), metrics[f"{name}_before"], metrics[f"{name}_after"])
        for name in dict.fromkeys(pairs)
        if metrics[f"{name}_before"] != metrics[f"{name}_after"]
    ]
    told = {f"{name}_{side}" for name in pairs for side in ("before", "after")} | {"gain_percent"}
    gains += [f"{name} {number_text(value)}" for name, value in sorted(metrics.items()) if name not in told]
    return gains[:_MOST]


def _pair(label: str, before: float, after: float) -> str:
    share = f" ({(after - before) / before * 100:+.0f} %)" if before > 0 else ""
    return f"{label} {number_text(before)} -> {number_text(after)}{share}"
