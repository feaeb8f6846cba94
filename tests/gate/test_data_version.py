"""The version of the data that a report names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from asmevo_gate.constraints.files import constraint_directory
from asmevo_gate.cost.fingerprint import data_directory
from asmevo_gate.gate import data_version as module


@pytest.mark.parametrize("room", ["constraint_directory", "data_directory"])
def test_a_changed_constraint_or_fingerprint_changes_the_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: str
) -> None:
    place = {"constraint_directory": constraint_directory, "data_directory": data_directory}[room]()
    copy = tmp_path / "copy"
    shutil.copytree(str(place), copy)
    monkeypatch.setattr(module, room, lambda: copy)
    whole = module.data_version.__wrapped__
    before = whole()
    assert before == whole()
    next(copy.glob("gfx*.json")).write_text("{}")
    assert whole() != before
