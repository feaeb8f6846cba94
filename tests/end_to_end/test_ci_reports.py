"""The files that a CI job leaves, judged by the programs and schemas of those who read them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.forge.fake_server import git
from tests.report.reader_schemas import JUNIT_10, SARIF_2_1_0, schema_path

from .ci_templates import ROOT
from .npm_programs import sarif_multitool

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reports on the change of ``examples/``, with an error, a warning, and kernels with numbers."""
    root = tmp_path_factory.mktemp("project")
    git(root, "init", "--quiet", "--initial-branch=main")
    shutil.copytree(ROOT / "examples" / "kernels", root / "kernels")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "Add kernels")
    shutil.copytree(ROOT / "examples" / "change", root / "kernels", dirs_exist_ok=True)
    git(root, "commit", "--quiet", "--all", "--message", "Faster")
    command = [sys.executable, "-m", "asmevo_gate", "ci", "--base", "HEAD~1", "--no-assemble"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return root / "asmevo-reports"


@pytest.fixture(scope="module")
def multitool() -> Path:
    return sarif_multitool()


def read_json(path: Path) -> Any:
    return json.loads(path.read_text())


def test_jenkins_schema_takes_the_junit_report(reports: Path) -> None:
    lxml = pytest.importorskip("lxml.etree", reason="lxml is not installed")
    schema = lxml.XMLSchema(lxml.parse(str(schema_path(JUNIT_10))))
    schema.assertValid(lxml.parse(str(reports / "junit.xml")))


def test_the_sarif_schema_takes_the_log(reports: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    jsonschema.validate(read_json(reports / "asmevo.sarif"), read_json(schema_path(SARIF_2_1_0)))


def test_the_sarif_validator_finds_nothing(multitool: Path, reports: Path, tmp_path: Path) -> None:
    log, found = tmp_path / "log.sarif", tmp_path / "found.sarif"
    shutil.copy(reports / "asmevo.sarif", log)
    command = [str(multitool), "validate", str(log), "-o", str(found)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert found.exists(), done.stdout + done.stderr  # its exit status says nothing
    (run,) = json.loads(found.read_text("utf-8-sig"))["runs"]
    rules = {result["ruleId"] for result in run["results"]}
    assert rules <= {"SARIF2005"}  # asks for a web page of the tool


def test_the_sarif_validator_finds_a_fault(multitool: Path, reports: Path, tmp_path: Path) -> None:
    log, found = tmp_path / "log.sarif", tmp_path / "found.sarif"
    content = read_json(reports / "asmevo.sarif")
    content["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = -1
    log.write_text(json.dumps(content))
    command = [str(multitool), "validate", str(log), "-o", str(found)]
    subprocess.run(command, capture_output=True, check=False, timeout=120)
    assert json.loads(found.read_text("utf-8-sig"))["runs"][0]["results"]


def test_gitlab_reads_every_code_quality_entry(reports: Path) -> None:
    """The conditions of Gitlab::Ci::Parsers::Codequality::CodeClimate: the first invalid entry hides the rest."""
    entries = read_json(reports / "gl-code-quality-report.json")
    assert len(entries) == 2
    for entry in entries:
        assert entry["description"] and entry["fingerprint"] and entry["check_name"]
        assert entry["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert isinstance(entry["location"]["lines"]["begin"], int)
        assert not entry["location"]["path"].startswith(("/", "./"))
    assert len({entry["fingerprint"] for entry in entries}) == len(entries)


def test_gitlab_reads_every_metric(reports: Path) -> None:
    """Gitlab::Ci::Reports::Metrics: what follows a # is cut off, words are split as by a shell."""
    lines = (reports / "metrics.txt").read_text().splitlines()
    assert lines[-1] == "# EOF"
    read = [shlex.split(line.partition("#")[0]) for line in lines[:-1]]
    assert len(read) > 10 and all(len(words) == 2 for words in read)
    assert len({words[0] for words in read}) == len(read)
