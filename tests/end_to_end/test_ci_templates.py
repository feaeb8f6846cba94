"""The templates as their readers take them: schemas, structure, and that of GitLab run by gitlab-ci-local."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.forge import fake_gitlab
from tests.forge.fake_gitlab import FakeGitLab
from tests.forge.fake_server import git

from .ci_templates import (
    ROOT,
    TEMPLATES,
    command_on_path,
    github_step,
    github_workflow,
    gitlab_component,
    gitlab_job,
    jenkins_script,
    jenkinsfile,
)
from .npm_programs import npm_program

GITLAB_CI_LOCAL = "4.61.1"
"""The last version that runs on Node 18 and 20, which the distributions ship."""


def check_schema(schema: str, file: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# GitLab


def test_the_gitlab_template_is_valid() -> None:
    check_schema("vendor.gitlab-ci", TEMPLATES / "gitlab" / "asmevo-gate.yml")


def test_the_schema_check_finds_a_wrong_key(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text((TEMPLATES / "gitlab" / "asmevo-gate.yml").read_text().replace("  script:", "  skript:"))
    with pytest.raises(AssertionError):
        check_schema("vendor.gitlab-ci", wrong)


def test_the_component_with_its_defaults_is_the_template(tmp_path: Path) -> None:
    inputs, text = gitlab_component()
    (tmp_path / "component.yml").write_text(text)
    check_schema("vendor.gitlab-ci", tmp_path / "component.yml")
    variables, job = gitlab_job()
    made: dict[str, Any] = yaml.safe_load(text)["asmevo-gate"]
    assert made.pop("image") == variables.pop("ASMEVO_GATE_IMAGE")
    assert made.pop("variables") == {**job.pop("variables"), **variables}
    job.pop("image")
    assert made == job
    used = set(re.findall(r"inputs\.([\w-]+)", (TEMPLATES / "gitlab" / "component" / "template.yml").read_text()))
    assert used == set(inputs)
    assert all(entry["description"] and "default" in entry for entry in inputs.values())


def test_a_failing_gitlab_job_keeps_its_reports_and_fails_the_pipeline() -> None:
    _, job = gitlab_job()
    assert job["artifacts"]["when"] == "always"
    assert "allow_failure" not in job
    assert "|| true" not in "\n".join(job["script"])
    assert set(job["artifacts"]["reports"]) == {"junit", "codequality", "metrics"}


@pytest.fixture
def gitlab_ci_local() -> Path:
    if shutil.which("rsync") is None:
        pytest.skip("rsync is not installed: gitlab-ci-local needs it")
    return npm_program("gitlab-ci-local", GITLAB_CI_LOCAL, "gitlab-ci-local")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A clone with a branch that drops a wait, and the template as its pipeline."""
    root = tmp_path / "upstream"
    root.mkdir()
    git(root, "init", "--quiet", "--initial-branch=main")
    shutil.copytree(ROOT / "examples" / "kernels", root / "kernels")
    (root / "ci").mkdir()
    shutil.copy(TEMPLATES / "gitlab" / "asmevo-gate.yml", root / "ci")
    (root / ".gitlab-ci.yml").write_text("include:\n  - local: ci/asmevo-gate.yml\n")
    (root / ".gitignore").write_text(".gitlab-ci-local\n")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "Add kernels")
    git(root, "checkout", "--quiet", "-b", "faster")
    shutil.copytree(ROOT / "examples" / "change", root / "kernels", dirs_exist_ok=True)
    git(root, "commit", "--quiet", "--all", "--message", "Faster")
    git(tmp_path, "clone", "--quiet", root.as_uri(), "clone")
    git(tmp_path / "clone", "remote", "set-url", "origin", "git@127.0.0.1:group/project.git")
    return tmp_path / "clone"


@pytest.fixture
def server(repository: Path) -> Iterator[FakeGitLab]:
    made = FakeGitLab(repository.parent / "upstream")
    yield made
    made.close()
    assert made.faults == []


@pytest.mark.slow
def test_gitlab_ci_local_runs_the_template(
    gitlab_ci_local: Path, repository: Path, server: FakeGitLab, tmp_path: Path
) -> None:
    def run() -> subprocess.CompletedProcess[str]:
        variables = {
            "CI_PIPELINE_SOURCE": "merge_request_event",
            "CI_SERVER_URL": server.url,
            "CI_PROJECT_ID": "42",
            "CI_MERGE_REQUEST_IID": "5",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": server.diff.base,
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
            "ASMEVO_GATE_TOKEN": fake_gitlab.TOKEN,
            "ASMEVO_GATE_OPTIONS": "--verbose --fail-on error",
        }
        options = [part for name, value in variables.items() for part in ("--variable", f"{name}={value}")]
        environment = {
            "PATH": command_on_path(tmp_path / "bin"),
            "HOME": str(tmp_path),
            "GIT_CONFIG_NOSYSTEM": "1",
            "no_proxy": "127.0.0.1",
        }
        command = [str(gitlab_ci_local), "--force-shell-executor", "--shell-isolation", *options, "asmevo-gate"]
        return subprocess.run(
            command, cwd=repository, env=environment, capture_output=True, text=True, check=False, timeout=300
        )

    done = run()
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert "error[wait.lgkmcnt.raw]" in said
    assert "posting failed" not in said
    kept = repository / ".gitlab-ci-local" / "artifacts" / "asmevo-gate" / "asmevo-reports"
    assert {"asmevo.json", "gitlab-junit.xml", "metrics.txt"} <= {path.name for path in kept.iterdir()}
    (discussion,) = server.open_suggestions()
    server.apply(discussion)
    git(repository, "fetch", "--quiet", (tmp_path / "upstream").as_uri(), "faster")
    git(repository, "reset", "--quiet", "--hard", "FETCH_HEAD")
    again = run()
    assert again.returncode == 0, again.stdout + again.stderr
    assert "## asmevo-gate: warn" in server.notes[0]["body"] and len(server.notes) == 1


# GitHub


def test_the_github_workflow_is_valid() -> None:
    check_schema("vendor.github-workflows", TEMPLATES / "github" / "asmevo-gate.yml")


def test_a_failing_github_job_keeps_its_reports_and_fails() -> None:
    check = github_step("Check")
    assert "continue-on-error" not in check and "|| true" not in check["run"]
    for name in ("Keep the reports", "Code scanning"):
        assert github_step(name)["if"].startswith("always()")
    assert set(github_workflow()[True]) == {"pull_request", "merge_group", "push"}


def test_no_text_of_a_pull_request_gets_into_a_script() -> None:
    for step in github_workflow()["jobs"]["asmevo-gate"]["steps"]:
        assert "${{" not in step.get("run", "")


# Jenkins


class Section:
    """A block of a declarative pipeline: its name (with arguments), its statements, and the blocks in it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.statements: list[str] = []
        self.sections: list[Section] = []

    def section(self, name: str) -> Section:
        found = [one for one in self.sections if one.name == name]
        assert len(found) == 1, f"{self.name} has {len(found)} sections {name}"
        return found[0]

    def names(self) -> set[str]:
        return {one.name for one in self.sections}


def sections(text: str) -> Section:
    """The blocks of a Jenkinsfile. Comments and strings are taken out first, so that every brace is one."""
    text = re.sub(r"(?m)^\s*//.*$", "", text)
    text = re.sub(r"'''.*?'''|'[^'\n]*'|\"[^\"\n]*\"", "''", text, flags=re.DOTALL)
    stack = [Section("")]
    for line in text.splitlines():
        line = line.strip()
        if match := re.fullmatch(r"(\w+)\s*(?:\(.*?\))?\s*\{(?:\s*(.*?)\s*\})?", line):
            made = Section(match[1])
            stack[-1].sections.append(made)
            if match[2] is not None:
                made.statements.append(match[2])
            else:
                stack.append(made)
        elif line == "}":
            stack.pop()
        elif line:
            stack[-1].statements.append(line)
    assert len(stack) == 1, "braces do not match"
    return stack[0]


DECLARATIVE = {"agent", "options", "environment", "stages", "post", "parameters", "triggers", "tools", "libraries"}
STAGE = {"agent", "when", "steps", "post", "environment", "options", "tools", "input"}


def check_declarative(text: str) -> Section:
    """The rules of "Pipeline Syntax" for what the Jenkinsfile uses; gives its only stage."""
    pipeline = sections(text).section("pipeline")
    assert pipeline.names() <= DECLARATIVE and {"agent", "stages"} <= pipeline.names()
    assert pipeline.statements == []
    stages = pipeline.section("stages")
    assert stages.names() == {"stage"} and stages.statements == []
    stage = stages.section("stage")
    assert stage.names() <= STAGE and stage.statements == []
    assert stage.section("steps").statements
    for line in pipeline.section("environment").statements:
        assert re.fullmatch(r"\w+ = ''", line), line
    return stage


def test_the_jenkinsfile_is_declarative() -> None:
    stage = check_declarative(jenkinsfile())
    always = stage.section("post").section("always")
    steps = "\n".join(always.statements)
    assert re.search(r"^junit testResults: ''", steps, re.MULTILINE)
    assert re.search(r"^recordIssues enabledForFailure: true", steps, re.MULTILINE)
    assert re.search(r"^archiveArtifacts ", steps, re.MULTILINE)
    text = jenkinsfile()
    assert "pattern: 'asmevo-reports/asmevo.sarif'" in text and "testResults: 'asmevo-reports/junit.xml'" in text
    assert "catchError" not in text and "returnStatus" not in text and "|| true" not in text


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("steps {", "stepz {"), ("stages {", "stage {"), ("      post {", "      posts {"), ("  agent {", "  agents {")],
)
def test_the_structure_check_finds_faults(right: str, wrong: str) -> None:
    assert right in jenkinsfile()
    with pytest.raises(AssertionError):
        check_declarative(jenkinsfile().replace(right, wrong, 1))


def test_a_groovy_parser_reads_the_jenkinsfile() -> None:
    parser = pytest.importorskip("groovy_parser.parser", reason="groovy-parser is not installed")
    assert parser.parse_groovy_content(jenkinsfile()) is not None
    with pytest.raises(Exception, match=r"."):
        parser.parse_groovy_content(jenkinsfile().replace("sarif(", "sarif((", 1))


def test_the_scripts_of_the_templates_are_valid_for_a_posix_shell() -> None:
    _, job = gitlab_job()
    scripts = ["\n".join([*job["before_script"], *job["script"]]), jenkins_script()[1], github_step("Check")["run"]]
    for script in scripts:
        done = subprocess.run(["sh", "-n", "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
