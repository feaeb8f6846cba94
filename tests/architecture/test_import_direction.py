"""The layers of docs/architecture.md: imports go down the list only, and there are no cycles."""

from __future__ import annotations

import ast
from pathlib import Path

import asmevo_gate

PACKAGE = Path(asmevo_gate.__file__).parent

BELOW: dict[str, set[str]] = {
    "changes": set(),
    "source": set(),
    "isa": {"source"},
    "program": {"isa", "source"},
    "analysis": {"program"},
    "constraints": {"analysis"},
    "cost": {"analysis"},
    "proof": {"analysis"},
    "rules": {"constraints", "cost", "proof"},
    "rewrite": {"constraints", "cost", "proof"},
    "verify": {"program"},
    "gate": {"rules", "rewrite", "verify", "changes"},
    "report": {"gate"},
    "forge": {"report"},
    "cli": {"forge", "report", "gate"},
}


def reachable(room: str) -> set[str]:
    found: set[str] = set()
    pending = [room]
    while pending:
        for lower in BELOW[pending.pop()]:
            if lower not in found:
                found.add(lower)
                pending.append(lower)
    return found


def imported_rooms(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    names = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("asmevo_gate.")}


def test_every_room_is_in_the_plan() -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name not in ("__pycache__", "data")}
    assert rooms <= set(BELOW)


def test_imports_go_down() -> None:
    wrong = []
    for room in BELOW:
        allowed = reachable(room) | {room, "errors", "file_writing"}
        for path in sorted((PACKAGE / room).rglob("*.py")):
            wrong += [f"{path.relative_to(PACKAGE)} imports {other}" for other in imported_rooms(path) - allowed]
    assert wrong == []


def test_the_plan_has_no_cycle() -> None:
    assert [room for room in BELOW if room in reachable(room)] == []
