"""What :mod:`compatibility` found, as counts, as a Markdown table and on the page ``docs/compatibility.md``."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from repository_snapshot import DELETED, Snapshot

ROOT = Path(__file__).resolve().parent.parent
ENTRIES = ROOT / "benchmarks" / "data" / "public_repositories.yaml"
RESULTS = ROOT / "benchmarks" / "results" / "compatibility.json"
DOCUMENT = ROOT / "docs" / "compatibility.md"
BEGIN, END = "<!-- table: benchmarks/compatibility.py -->", "<!-- end of table -->"


def message_class(message: str) -> str:
    """A message without its names and numbers, so that equal reasons count together."""
    return re.sub(r"\s+", " ", re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\b0x[0-9a-f]+\b|\b\d[\d,.]*\b", "_", message))[:120]


@dataclass
class Outcome:
    """What became of one file."""

    repository: str
    path: str
    kind: str = "text"
    gpu: str = ""
    chosen_by: str = ""
    llvm: str = ""
    """``accepts``, ``rejects``, or why the question was not answered."""
    llvm_message: str = ""
    understood: bool = False
    reasons: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)
    instructions: int = 0
    modelled: int = 0
    kernels: int = 0
    findings: dict[str, int] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    seconds: float = 0.0
    llvm_seconds: float = 0.0


def table(results: dict[str, dict[str, Any]]) -> str:
    """The Markdown table: a row a repository."""
    columns = ("files tried", "LLVM accepts", "understood", "of those LLVM accepts", "instructions", "CPU s (LLVM)")
    lines = [f"| repository | commit | {' | '.join(columns)} |", "|---|---|" + "--:|" * len(columns)]
    for name, one in results.items():
        tried = f"{one['tried']} of {one['found']}" if one["tried"] != one["found"] else str(one["tried"])
        seconds = f"{one['seconds']:.0f} ({one['llvm_seconds']:.0f})"
        accepted = f"{one['llvm_accepts']} | {one['understood']} | {one['understood_of_accepted']}"
        commit = f"{one['commit'][:10]} ({one['date']})"
        lines.append(f"| {name} | {commit} | {tried} | {accepted} | {one['instructions']:,} | {seconds} |")
    return "\n".join(lines) + "\n"


def summary(snapshot: Snapshot, outcomes: list[Outcome]) -> dict[str, Any]:
    """The counts of one repository."""
    ours = [one for one in outcomes if one.kind != "other"]
    accepted = [one for one in ours if one.llvm == "accepts"]
    reasons: Counter[str] = Counter()
    files: Counter[str] = Counter()
    with_finding: Counter[str] = Counter()
    for one in ours:
        files.update(one.findings)
        with_finding.update(one.findings.keys())
        if one.llvm == "accepts":
            reasons.update(one.reasons.keys())
    rejected = (one.llvm_message.partition(": ")[2] for one in ours if one.llvm == "rejects")
    rejections = Counter(message_class(message) for message in rejected)
    return {
        "commit": snapshot.commit,
        "date": snapshot.date,
        "found": snapshot.found - (len(outcomes) - len(ours)),
        "tried": len(ours),
        "not_amdgpu": len(outcomes) - len(ours),
        "objects": sum(one.kind == "object" for one in ours),
        "deleted": sum(one.path.startswith(DELETED) for one in ours),
        "gpu_unknown": sum(one.llvm == "not tried" for one in ours),
        "llvm_accepts": len(accepted),
        "understood": sum(one.understood for one in ours),
        "understood_of_accepted": sum(one.understood for one in accepted),
        "kernels": sum(one.kernels for one in ours),
        "instructions": sum(one.instructions for one in ours),
        "modelled": sum(one.modelled for one in ours),
        "seconds": round(sum(one.seconds for one in ours), 1),
        "llvm_seconds": round(sum(one.llvm_seconds for one in ours), 1),
        "gpus": dict(Counter(one.gpu for one in ours).most_common()),
        "reasons_where_llvm_accepts": dict(reasons.most_common()),
        "not_understood_where_llvm_accepts": {one.path: sorted(one.reasons) for one in accepted if not one.understood},
        "llvm_rejects": dict(rejections.most_common(12)),
        "findings": dict(sorted(files.items())),
        "files_with_finding": dict(sorted(with_finding.items())),
    }


def write_results(results: dict[str, dict[str, Any]]) -> None:
    """Lay the results over those of earlier runs, in the order of the entries, and put the table into the page."""
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    order = list(yaml.safe_load(ENTRIES.read_text(encoding="utf-8"))["repositories"])
    known |= results
    known = {
        name: known[name]
        for name in sorted(known, key=lambda name: (order.index(name) if name in order else 999, name))
    }
    RESULTS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    if DOCUMENT.is_file():
        text = DOCUMENT.read_text(encoding="utf-8")
        head, _, rest = text.partition(BEGIN)
        _, _, tail = rest.partition(END)
        DOCUMENT.write_text(f"{head}{BEGIN}\n\n{table(known)}\n{END}{tail}", encoding="utf-8")
