"""House rules and profiles through the gate: off by default, on by a profile or a file of the project, explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from asmevo_gate.cli.main import run

_KERNEL = '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n.text\nk:\n  s_nop 0\n  v_fma_f32 v0, v1, v1, v1\n  s_endpgm\n'
_FILE = '{"schema": "asmevo-gate/constraints/1", "name": "team", "title": "our rules", "overrides": %s}'


def _checked(folder: Path, settings: str, files: dict[str, str] | None = None, *options: str) -> int:
    (folder / "k.s").write_text(_KERNEL)
    (folder / ".asmevo-gate.yaml").write_text(settings)
    for name, text in (files or {}).items():
        (folder / name).write_text(text)
    return run(["check", "k.s", *options])


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


Captured = pytest.CaptureFixture[str]


def test_a_house_rule_is_off_until_a_profile_switches_it_on(tmp_path: Path, capsys: Captured) -> None:
    _checked(tmp_path, "")
    assert "house." not in capsys.readouterr().out
    _checked(tmp_path, "profiles: [mac_merge]\n")
    text = capsys.readouterr().out
    assert "warning[house.mac_merge]" in text
    assert "k.s:5" in text


def test_its_severity_is_that_of_the_settings(tmp_path: Path, capsys: Captured) -> None:
    assert _checked(tmp_path, "profiles: [mac_merge]\nseverities: {house.mac_merge: error}\n") == 1
    assert "error[house.mac_merge]" in capsys.readouterr().out


def test_an_unknown_profile_is_an_error(tmp_path: Path, capsys: Captured) -> None:
    assert _checked(tmp_path, "profiles: [mac_merg]\n") == 2
    said = capsys.readouterr().err
    assert "unknown profile 'mac_merg'" in said
    assert "did you mean 'mac_merge'" in said


def test_a_file_of_the_project_switches_it_on_with_a_reason(tmp_path: Path, capsys: Captured) -> None:
    settings = "constraints: [team.json]\n"
    on = '{"house.mac_merge": {"reason": "results equal bit for bit", "enabled": true}}'
    _checked(tmp_path, settings, {"team.json": _FILE % on})
    assert "warning[house.mac_merge]" in capsys.readouterr().out
    off = '{"haz.sgpr.vmem": {"reason": "", "enabled": false}}'
    assert _checked(tmp_path, settings, {"team.json": _FILE % off}) == 2
    assert "has no reason" in capsys.readouterr().err


def test_it_is_explained_like_a_hazard(tmp_path: Path, capsys: Captured) -> None:
    _checked(tmp_path, "profiles: [mac_merge]\n", {}, "--debug-constraint")
    said = capsys.readouterr().err
    assert "failed edge: house.mac_merge" in said
    assert "consumer state: instruction at line 5" in said
    assert "root cause: mac_merge_enabled: false" in said
