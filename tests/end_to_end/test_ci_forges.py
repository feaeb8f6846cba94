"""A merge request that worsens a kernel, on each forge: the template's own script runs in the job's environment, the
note and the suggestion are posted, the suggestion is applied with the forge's button, and the gate is green again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from asmevo_gate.forge.github import SETTLED
from asmevo_gate.isa.targets import find_target
from asmevo_gate.verify.assembler import NotAssembled, find_assembler
from tests.forge import fake_github, fake_gitlab
from tests.forge.fake_github import FakeGitHub
from tests.forge.fake_gitlab import FakeGitLab
from tests.forge.fake_server import git

from .ci_templates import ROOT, command_on_path, github_step, gitlab_job, jenkins_script, run_script

pytestmark = pytest.mark.slow
KERNEL = "kernels/block_sum.s"


class Project:
    """A repository on a forge, and the shallow clone of each of its jobs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.upstream = folder / "upstream"
        self.job = folder / "job"
        self.path = command_on_path(folder / "bin")

    def variables(self, **more: str) -> dict[str, str]:
        """The environment of a job: nothing of this machine but PATH."""
        quiet = {"GIT_CONFIG_NOSYSTEM": "1", "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}
        return {"PATH": self.path, "HOME": str(self.folder), "CI": "true", **quiet, **more}

    def checkout(self, branch: str, depth: int = 1) -> None:
        """What the runner does before the script."""
        shutil.rmtree(self.job, ignore_errors=True)
        options = ("--quiet", f"--depth={depth}", f"--branch={branch}")
        git(self.folder, "clone", *options, self.upstream.as_uri(), str(self.job))

    def merged(self) -> None:
        """The merge commit of GitHub's ``refs/pull/9/merge``, as a branch."""
        git(self.upstream, "checkout", "--quiet", "-B", "pull-9-merge", "main")
        git(self.upstream, "merge", "--quiet", "--no-ff", "--message", "merge", "faster")
        git(self.upstream, "checkout", "--quiet", "faster")

    @property
    def kernel(self) -> str:
        return (self.upstream / KERNEL).read_text()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    made = Project(tmp_path)
    made.upstream.mkdir()
    git(made.upstream, "init", "--quiet", "--initial-branch=main")
    shutil.copytree(ROOT / "examples" / "kernels", made.upstream / "kernels")
    git(made.upstream, "add", "--all")
    git(made.upstream, "commit", "--quiet", "--message", "Add kernels")
    git(made.upstream, "branch", "faster")
    (made.upstream / "README").write_text("kernels\n")
    git(made.upstream, "add", "--all")
    git(made.upstream, "commit", "--quiet", "--message", "main goes on")
    git(made.upstream, "checkout", "--quiet", "faster")
    shutil.copytree(ROOT / "examples" / "change", made.upstream / "kernels", dirs_exist_ok=True)
    git(made.upstream, "commit", "--quiet", "--all", "--message", "Faster")
    return made


@pytest.fixture
def gitlab(project: Project) -> Iterator[FakeGitLab]:
    server = FakeGitLab(project.upstream)
    yield server
    server.close()
    assert server.faults == []


@pytest.fixture
def github(project: Project) -> Iterator[FakeGitHub]:
    server = FakeGitHub(project.upstream)
    yield server
    server.close()
    assert server.faults == []


def test_gitlab(project: Project, gitlab: FakeGitLab) -> None:
    settings, job = gitlab_job()
    script = "\n".join([*job["before_script"], *job["script"]])

    def run() -> int:
        project.checkout("faster")
        variables = {
            **settings,
            "GITLAB_CI": "true",
            "CI_SERVER_URL": gitlab.url,
            "CI_PROJECT_ID": "42",
            "CI_PROJECT_DIR": str(project.job),
            "CI_MERGE_REQUEST_IID": "5",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": gitlab.diff.base,
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
            "CI_JOB_URL": f"{gitlab.url}/jobs/1",
            "ASMEVO_GATE_TOKEN": fake_gitlab.TOKEN,
        }
        done = run_script(script, project.job, project.variables(**variables))
        assert fake_gitlab.TOKEN not in done.stdout + done.stderr
        assert "posting failed" not in done.stderr, done.stderr
        for path in job["artifacts"]["reports"].values():
            assert (project.job / path).stat().st_size > 0
        return done.returncode

    assert run() == 1
    (note,) = gitlab.notes
    assert "## asmevo-gate: fail" in note["body"] and "1 suggestion at the lines of the diff" in note["body"]
    assert "saxpy" in note["body"] and "**worse**" in note["body"]
    (discussion,) = gitlab.open_suggestions()
    assert "s_waitcnt lgkmcnt(0)" in discussion["notes"][0]["body"]
    gitlab.apply(discussion)
    assert project.kernel == (ROOT / "examples" / "kernels" / "block_sum.s").read_text()

    assert run() == 0
    assert len(gitlab.notes) == 1 and "## asmevo-gate: warn" in gitlab.notes[0]["body"]
    assert gitlab.open_suggestions() == [] and len(gitlab.discussions) == 1


def test_github(project: Project, github: FakeGitHub) -> None:
    step = github_step("Check")

    def run() -> int:
        project.merged()
        project.checkout("pull-9-merge")
        event = {"pull_request": {"number": 9, "head": {"sha": github.diff.head}, "base": {"ref": "main"}}}
        (project.folder / "event.json").write_text(json.dumps(event))
        variables = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_EVENT_PATH": str(project.folder / "event.json"),
            "GITHUB_BASE_REF": "main",
            "GITHUB_REPOSITORY": "owner/name",
            "GITHUB_API_URL": github.url,
            "GITHUB_SERVER_URL": github.url,
            "GITHUB_RUN_ID": "77",
            "GITHUB_STEP_SUMMARY": str(project.folder / "summary.md"),
            "GITHUB_TOKEN": fake_github.TOKEN,
            "POST": "suggestions",
            "ASMEVO_GATE_OPTIONS": "",
        }
        done = run_script(step["run"], project.job, project.variables(**variables))
        assert fake_github.TOKEN not in done.stdout + done.stderr
        assert "posting failed" not in done.stderr, done.stderr
        return done.returncode

    assert run() == 1
    (note,) = github.comments
    assert "## asmevo-gate: fail" in note["body"]
    assert f"[The job]({github.url}/owner/name/actions/runs/77)" in note["body"]
    (comment,) = github.review_comments
    assert comment["path"] == KERNEL
    github.apply(comment)
    assert project.kernel == (ROOT / "examples" / "kernels" / "block_sum.s").read_text()

    assert run() == 0
    assert len(github.comments) == 1 and "## asmevo-gate: warn" in github.comments[0]["body"]
    assert [one["body"].startswith(SETTLED) for one in github.review_comments] == [True]
    assert "## asmevo-gate: warn" in (project.folder / "summary.md").read_text()


@pytest.mark.parametrize("forge", ["gitlab", "github"])
def test_jenkins(project: Project, forge: str) -> None:
    environment, script = jenkins_script()
    server: FakeGitLab | FakeGitHub
    if forge == "gitlab":
        server = FakeGitLab(project.upstream)
        address, token = f"{server.url}/group/project/-/merge_requests/5", fake_gitlab.TOKEN
    else:
        server = FakeGitHub(project.upstream, prefix="/api/v3")
        address, token = f"{server.url}/owner/name/pull/9", fake_github.TOKEN

    def run() -> int:
        project.checkout("faster")
        variables = {
            **environment,
            "POST": "suggestions",
            "JENKINS_URL": "https://jenkins.invalid/",
            "BUILD_URL": "https://jenkins.invalid/job/1/",
            "CHANGE_ID": "5",
            "CHANGE_TARGET": "main",
            "CHANGE_URL": address,
            "ASMEVO_GATE_TOKEN": token,
        }
        done = run_script(script, project.job, project.variables(**variables))
        assert token not in done.stdout + done.stderr
        assert "posting failed" not in done.stderr, done.stderr
        assert (project.job / "asmevo-reports" / "junit.xml").is_file()
        assert (project.job / "asmevo-reports" / "asmevo.sarif").is_file()
        return done.returncode

    try:
        assert run() == 1
        if isinstance(server, FakeGitLab):
            server.apply(server.open_suggestions()[0])
        else:
            server.apply(server.review_comments[0])
        assert run() == 0
        notes = server.notes if isinstance(server, FakeGitLab) else server.comments
        assert [note["body"].split("\n")[1] for note in notes] == ["## asmevo-gate: warn"]
    finally:
        server.close()
    assert server.faults == []


REDUNDANT = """\
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.text
.globl shift
.p2align 8
.type shift,@function
shift:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[2:3]
  s_waitcnt vmcnt(0)
  v_mov_b32_e32 v2, v1
  v_mov_b32_e32 v3, v2
  v_add_f32_e32 v2, 1.0, v3
  global_store_dword v0, v2, s[2:3]
  s_endpgm
.rodata
.amdhsa_kernel shift
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 4
  .amdhsa_accum_offset 4
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
.end_amdhsa_kernel
"""


def test_a_rewrite_that_is_proved_is_suggested_at_its_lines(project: Project, gitlab: FakeGitLab) -> None:
    tool = find_assembler(find_target("gfx90a"))
    if isinstance(tool, NotAssembled):
        pytest.skip(f"no assembler confirms a rewrite: {tool.reason}")
    git(project.upstream, "checkout", "--quiet", "main", "--", "kernels")
    (project.upstream / "kernels" / "shift.s").write_text(REDUNDANT)
    git(project.upstream, "add", "--all")
    git(project.upstream, "commit", "--quiet", "--message", "Add shift")
    settings, job = gitlab_job()

    def run() -> int:
        project.checkout("faster")
        variables = {
            **settings,
            "ASMEVO_GATE_OPTIONS": "--rewrite",
            "GITLAB_CI": "true",
            "CI_SERVER_URL": gitlab.url,
            "CI_PROJECT_ID": "42",
            "CI_MERGE_REQUEST_IID": "5",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": gitlab.diff.base,
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
            "ASMEVO_GATE_TOKEN": fake_gitlab.TOKEN,
        }
        done = run_script("\n".join(job["script"]), project.job, project.variables(**variables))
        assert "posting failed" not in done.stderr, done.stderr
        return done.returncode

    assert run() == 0
    (discussion,) = gitlab.open_suggestions()
    assert "line_range" in discussion["notes"][0]["position"]
    assert "Shown equal" in discussion["notes"][0]["body"]
    gitlab.apply(discussion)
    assert "v_mov_b32" not in (project.upstream / "kernels" / "shift.s").read_text()
    assert run() == 0
    assert gitlab.open_suggestions() == []


def wrong_settings(project: Project) -> None:
    git(project.upstream, "checkout", "--quiet", "main")
    (project.upstream / ".asmevo-gate.yaml").write_text("gpus: [gfx94]\n")
    git(project.upstream, "add", "--all")
    git(project.upstream, "commit", "--quiet", "--message", "Wrong settings")
    git(project.upstream, "checkout", "--quiet", "faster")
    project.checkout("faster")


def no_base(project: Project) -> None:
    project.checkout("faster")
    git(project.job, "remote", "set-url", "origin", "file:///nowhere")


@pytest.mark.parametrize(("fault", "words"), [(wrong_settings, "unknown GPU"), (no_base, "cannot be fetched")])
def test_a_gate_that_cannot_do_its_work_says_so_in_the_place_of_an_older_verdict(
    project: Project, gitlab: FakeGitLab, fault: Callable[[Project], None], words: str
) -> None:
    settings, job = gitlab_job()
    gitlab.add_note("<!-- asmevo-gate:note -->\n## asmevo-gate: pass\n")
    fault(project)
    variables = {
        **settings,
        "GITLAB_CI": "true",
        "CI_SERVER_URL": gitlab.url,
        "CI_PROJECT_ID": "42",
        "CI_MERGE_REQUEST_IID": "5",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": gitlab.diff.base,
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "ASMEVO_GATE_TOKEN": fake_gitlab.TOKEN,
    }
    done = run_script("\n".join(job["script"]), project.job, project.variables(**variables))
    assert done.returncode == 2
    (note,) = gitlab.notes
    assert "## asmevo-gate: not done" in note["body"] and words in note["body"]
