"""Names in the settings, and the baseline and constraint files that they name."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from asmevo_gate.changes import named_files
from asmevo_gate.errors import UsageError
from asmevo_gate.gate.baseline import make_baseline
from asmevo_gate.gate.known_names import check_settings, rule_names
from asmevo_gate.gate.project_files import read_project_files
from asmevo_gate.gate.run import Request, run_gate
from asmevo_gate.gate.settings import load_settings
from asmevo_gate.report.formats import FORMATS

ROOT = Path(__file__).parents[2]
# v1 is read two wait states too early by DPP.
HAZARD = """\
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
kernel:
  v_mov_b32 v1, 0
  v_mov_b32_dpp v2, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
  s_endpgm
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / "k.s").write_text(HAZARD)
    return tmp_path


def hazards(root: Path) -> list[str]:
    settings = load_settings(root)
    files = read_project_files(settings)
    check_settings(settings, files.constraints, FORMATS)
    with named_files(["k.s"], root) as changes:
        request = Request(constraints=files.constraints, named=True, count_known=True, assemble=False)
        found = run_gate(changes, settings, request, files.baseline).findings
    return [one.rule for one in found if one.new and one.rule.startswith("haz")]


def test_a_constraint_file_of_the_project_switches_a_hazard_off_with_a_reason(project: Path) -> None:
    (rule,) = hazards(project)
    shipped = json.loads((ROOT / "constraints" / "gfx942_rocm613.json").read_text())
    override = {"enabled": False, "reason": "the lanes are masked here"}
    own = {"schema": shipped["schema"], "name": "house", "overrides": {rule: override}}
    (project / "house.json").write_text(json.dumps(own))
    (project / ".asmevo-gate.yaml").write_text("constraints: [house.json]\n")
    assert hazards(project) == []


def test_a_hazard_is_switched_off_by_its_own_id(project: Path) -> None:
    (rule,) = hazards(project)
    (project / ".asmevo-gate.yaml").write_text(f"severities: {{{rule}: 'off'}}\n")
    assert hazards(project) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("severities: {wait.vmcnt.rav: 'off'}", "unknown rule 'wait.vmcnt.rav'"),
        ("gpus: [gfx943]", "unknown GPU 'gfx943'"),
        ("reports: {junid: out.xml}", "unknown report format 'junid'"),
    ],
)
def test_an_unknown_name_is_an_error_with_the_nearest_known_one(project: Path, settings: str, message: str) -> None:
    (project / ".asmevo-gate.yaml").write_text(settings + "\n")
    with pytest.raises(UsageError, match=message) as caught:
        hazards(project)
    assert "did you mean" in caught.value.repair
    assert (caught.value.file, caught.value.line) == (".asmevo-gate.yaml", 1)


def test_findings_can_be_named_as_reports_name_them() -> None:
    assert {"wait.vmcnt.raw", "wait.loadcnt.war", "haz", "enc.assembles", "gate.suppression"} <= rule_names()
    assert any(name.startswith("haz.mfma.") for name in rule_names())


@pytest.mark.parametrize("key", ["baseline: known.json", "constraints: [house.json]"])
def test_a_missing_file_is_an_error_and_no_empty_default(project: Path, key: str) -> None:
    (project / ".asmevo-gate.yaml").write_text(key + "\n")
    with pytest.raises(UsageError, match=r"cannot be read") as caught:
        hazards(project)
    assert caught.value.file == ".asmevo-gate.yaml"
    with pytest.raises(UsageError, match="no such file in the commit"):
        read_project_files(load_settings(project), read=lambda path: None)


def test_files_of_a_commit_are_read_from_it(project: Path) -> None:
    (project / ".asmevo-gate.yaml").write_text("baseline: known.json\n")
    asked: list[str] = []

    def read(path: str) -> bytes:
        asked.append(path)
        return make_baseline([])

    baseline = read_project_files(load_settings(project), read).baseline
    assert baseline is not None and baseline.findings == ()
    assert asked == ["known.json"]
