"""``asmevo-gate ci``: what it compares, whose settings hold, what it writes, and its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forge.fake_server import Answer, FakeServer, Request

EXAMPLES = Path(__file__).parents[2] / "examples"
CI_VARIABLES = ("CI", "GITLAB", "GITHUB", "JENKINS", "CHANGE_", "GIT_", "ASMEVO", "BUILD_", "BRANCH_")


class Job:
    """A clone in which a CI job runs."""

    def __init__(self, root: Path, upstream: Path) -> None:
        self.root = root
        self.upstream = upstream

    def git(self, *arguments: str, where: Path | None = None) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
        command = ["git", *identity, *arguments]
        done = subprocess.run(command, cwd=where or self.root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def ci(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(CI_VARIABLES)}
        command = [sys.executable, "-m", "asmevo_gate", "ci", "--no-assemble", *arguments]
        environment = {**kept, "PYTHONPATH": str(EXAMPLES.parent), **variables}
        return subprocess.run(
            command, cwd=self.root, env=environment, capture_output=True, text=True, check=False, timeout=300
        )

    def merge_request(self) -> dict[str, str]:
        """The variables of a GitLab merge request job."""
        base = self.git("merge-base", "main", "faster", where=self.upstream)
        return {
            "GITLAB_CI": "true",
            "CI_SERVER_URL": "http://127.0.0.1:9",
            "CI_PROJECT_ID": "42",
            "CI_MERGE_REQUEST_IID": "5",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        }

    def change(self, files: dict[str, str], branch: str = "faster") -> None:
        """Commit files to a branch of the upstream repository, and bring the job's clone to it."""
        self.git("checkout", "--quiet", branch, where=self.upstream)
        for name, text in files.items():
            (self.upstream / name).write_text(text)
        self.git("add", "--all", where=self.upstream)
        self.git("commit", "--quiet", "--message", "change", where=self.upstream)
        if branch == "faster":
            self.git("fetch", "--quiet", "--depth=1", "origin", "faster")
            self.git("checkout", "--quiet", "--detach", "FETCH_HEAD")


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """A shallow clone of a branch that drops a wait; ``main`` went on meanwhile."""
    upstream = tmp_path / "upstream"
    upstream.mkdir()
    made = Job(tmp_path / "job", upstream)
    made.git("init", "--quiet", "--initial-branch=main", where=upstream)
    for name in ("block_sum.s", "saxpy.s"):
        (upstream / name).write_text((EXAMPLES / "kernels" / name).read_text())
    made.git("add", "--all", where=upstream)
    made.git("commit", "--quiet", "--message", "base", where=upstream)
    made.git("branch", "faster", where=upstream)
    made.git("checkout", "--quiet", "faster", where=upstream)
    made.git("commit", "--quiet", "--allow-empty", "--message", "start", where=upstream)
    made.git("clone", "--quiet", "--depth=1", "--branch=faster", upstream.as_uri(), str(made.root), where=tmp_path)
    made.change({"block_sum.s": (EXAMPLES / "change" / "block_sum.s").read_text()})
    made.change({"saxpy.s": (EXAMPLES / "kernels" / "saxpy.s").read_text() + "; main went on\n"}, "main")
    return made


def report(job: Job) -> dict[str, object]:
    content: dict[str, object] = json.loads((job.root / "asmevo-reports" / "asmevo.json").read_text())
    return content


def test_a_shallow_clone_is_compared_with_the_base_of_the_merge_request(job: Job) -> None:
    done = job.ci(**job.merge_request())
    assert done.returncode == 1, done.stderr
    assert "error[wait.lgkmcnt.raw]" in done.stdout
    content = report(job)
    assert content["verdict"] == "fail"
    assert [one["file"] for one in content["inputs"]] == ["block_sum.s"]  # type: ignore[attr-defined]
    names = sorted(path.name for path in (job.root / "asmevo-reports").iterdir())
    assert {"asmevo.json", "asmevo.md", "asmevo.sarif", "junit.xml", "gitlab-junit.xml", "metrics.txt"} <= set(names)
    assert "gl-code-quality-report.json" in names
    job.git("am", "--quiet", "asmevo-reports/patches/0001.patch")
    assert (job.root / "block_sum.s").read_text() == (EXAMPLES / "kernels" / "block_sum.s").read_text()


def test_the_command_of_the_report_repeats_the_run(job: Job) -> None:
    job.ci(**job.merge_request())
    command = str(report(job)["command"]).split()
    assert command[:3] == ["asmevo-gate", "check", "--base"]
    again = [sys.executable, "-m", "asmevo_gate", *command[1:], "--no-assemble"]
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
    done = subprocess.run(again, cwd=job.upstream, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "error[wait.lgkmcnt.raw]" in done.stdout


@pytest.mark.parametrize(
    "settings", ["fail_on: never\n", "ignore: ['**']\n", "severities: {wait.lgkmcnt.raw: 'off'}\n"]
)
def test_a_merge_request_cannot_switch_the_gate_off(job: Job, settings: str) -> None:
    job.change({".asmevo-gate.yaml": settings})
    assert job.ci(**job.merge_request()).returncode == 1
    assert job.ci("--trust-head-config", **job.merge_request()).returncode == 0


def test_a_merge_request_cannot_bring_its_own_baseline(job: Job) -> None:
    assert job.ci("--trust-head-config", **job.merge_request()).returncode == 1
    finding = report(job)["findings"][0]  # type: ignore[index]
    known = {key: finding[key] for key in ("fingerprint", "rule", "file", "kernel", "message")}
    baseline = json.dumps({"schema": "asmevo-gate/baseline/1", "findings": [known]})
    job.change({"known.json": json.dumps({"schema": "asmevo-gate/baseline/1", "findings": []})}, "main")
    job.change({".asmevo-gate.yaml": "baseline: known.json\n"}, "main")
    job.change({".asmevo-gate.yaml": "baseline: known.json\n", "known.json": baseline})
    assert job.ci(**job.merge_request()).returncode == 1
    assert job.ci("--baseline", "known.json", **job.merge_request()).returncode == 1
    assert job.ci("--trust-head-config", **job.merge_request()).returncode == 0


def test_the_settings_of_the_target_branch_hold(job: Job) -> None:
    job.change({".asmevo-gate.yaml": "fail_on: never\nreports: {json: out/gate.json}\n"}, "main")
    assert job.ci(**job.merge_request()).returncode == 0
    assert json.loads((job.root / "out" / "gate.json").read_text())["verdict"] == "warn"


def test_wrong_settings_end_with_2_and_leave_no_old_report(job: Job) -> None:
    assert job.ci(**job.merge_request()).returncode == 1
    job.change({".asmevo-gate.yaml": "severities: {no.such.rule: 'off'}\n"}, "main")
    done = job.ci(**job.merge_request())
    assert done.returncode == 2
    assert "unknown rule 'no.such.rule'" in done.stderr
    assert [path for path in (job.root / "asmevo-reports").rglob("*") if path.is_file()] == []


def test_a_base_that_cannot_be_had_ends_with_2(job: Job) -> None:
    job.git("remote", "set-url", "origin", "file:///nowhere")
    done = job.ci(**job.merge_request())
    assert done.returncode == 2
    assert "not in this shallow clone, and cannot be fetched" in done.stderr
    assert not (job.root / "asmevo-reports" / "asmevo.json").exists()


def test_outside_of_ci_it_asks_for_a_base(job: Job) -> None:
    done = job.ci()
    assert done.returncode == 2 and "--base main" in done.stderr
    assert job.ci("--base", "origin/faster").returncode == 0


def test_a_dry_run_prints_what_would_be_posted_and_needs_no_network(job: Job) -> None:
    done = job.ci("--post", "suggestions", "--dry-run", "--suggestion-branch", "asmevo/5", **job.merge_request())
    assert done.returncode == 1
    assert "would post this suggestion" in done.stderr
    assert "suggestion:-0+0" in done.stderr and "  s_waitcnt lgkmcnt(0)" in done.stderr
    assert "would post this note" in done.stderr and "<!-- asmevo-gate:note -->" in done.stderr
    assert "would push 1 commits" in done.stderr
    assert '"new_line": 29' in done.stderr


def test_a_note_shows_pictures_only_where_readers_find_them(job: Job) -> None:
    posted = ("--post", "note", "--dry-run")
    plain = job.ci(*posted, **job.merge_request())
    assert "live VGPRs by line" in plain.stderr
    assert "![" not in plain.stderr
    pictures = job.root / "asmevo-reports" / "asmevo-pictures"
    stale = pictures / "007-gone-time.svg"
    stale.write_text("<svg/>")
    shown = job.ci(*posted, "--pictures-at", "https://pages.example/42/", **job.merge_request())
    assert "](https://pages.example/42/asmevo-pictures/001-block_sum-time.svg)" in shown.stderr
    assert "](asmevo-pictures/001-block_sum-time.svg)" in (pictures.parent / "asmevo.md").read_text()
    assert not stale.exists()


@pytest.mark.parametrize("address", ["pages", "javascript:alert(1)", "https://a.example/) [x](y"])
def test_pictures_are_only_at_a_web_address(job: Job, address: str) -> None:
    assert job.ci("--pictures-at", address, **job.merge_request()).returncode == 2


@pytest.mark.parametrize(("strict", "code"), [((), 1), (("--strict-posting",), 2)])
@pytest.mark.parametrize("token", ["", "secret-token"])
def test_posting_that_fails_is_reported_and_changes_the_exit_code_only_when_asked(
    job: Job, strict: tuple[str, ...], code: int, token: str
) -> None:
    done = job.ci("--post", "note", *strict, **job.merge_request(), ASMEVO_GATE_TOKEN=token, no_proxy="127.0.0.1")
    assert done.returncode == code
    assert "posting failed" in done.stderr
    assert "secret-token" not in done.stderr + done.stdout
    assert report(job)["verdict"] == "fail"


def test_a_suggestion_branch_has_the_patches(job: Job) -> None:
    done = job.ci("--suggestion-branch", "asmevo/mr-5", **job.merge_request())
    assert done.returncode == 1 and "pushed 1 commits" in done.stderr
    text = job.git("show", "asmevo/mr-5:block_sum.s", where=job.upstream)
    assert text == (EXAMPLES / "kernels" / "block_sum.s").read_text().rstrip("\n")
    assert job.ci("--suggestion-branch", "main", **job.merge_request()).returncode == 2


def test_github_gets_annotations_and_a_step_summary(job: Job, tmp_path: Path) -> None:
    head = job.git("rev-parse", "HEAD")
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 9, "head": {"sha": head}}}))
    summary = tmp_path / "summary.md"
    summary.write_text("an earlier step\n")
    variables = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_BASE_REF": "main",
        "GITHUB_REPOSITORY": "owner/name",
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    done = job.ci(**variables)
    assert done.returncode == 1
    assert "\n::error file=block_sum.s,line=29,col=3,title=wait.lgkmcnt.raw in block_sum::" in done.stdout
    assert summary.read_text().startswith("an earlier step\n<!-- asmevo-gate:note -->")


def test_a_github_job_that_checks_out_the_target_branch_is_an_error(job: Job, tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 9, "head": {"sha": job.git("rev-parse", "HEAD")}}}))
    job.git("fetch", "--quiet", "--depth=1", "origin", "main")
    job.git("checkout", "--quiet", "--detach", "FETCH_HEAD")
    done = job.ci(GITHUB_ACTIONS="true", GITHUB_EVENT_PATH=str(event), GITHUB_BASE_REF="main", GITHUB_REPOSITORY="o/n")
    assert done.returncode == 2 and "is not the pull request's" in done.stderr


def test_a_merge_commit_made_by_the_ci_system_is_compared_with_the_target_branch(job: Job) -> None:
    job.git("checkout", "--quiet", "-B", "merged", "main", where=job.upstream)
    job.git("merge", "--quiet", "--no-ff", "--message", "merge", "faster", where=job.upstream)
    job.git("fetch", "--quiet", "--depth=1", "origin", "merged")
    job.git("checkout", "--quiet", "--detach", "FETCH_HEAD")
    merged = {**job.merge_request(), "CI_MERGE_REQUEST_EVENT_TYPE": "merged_result"}
    done = job.ci(**merged)
    assert done.returncode == 1, done.stderr
    assert [one["file"] for one in report(job)["inputs"]] == ["block_sum.s"]  # type: ignore[attr-defined]


def test_an_answer_that_no_forge_gives_is_a_failure_of_posting_and_no_verdict(job: Job) -> None:
    class Strange(FakeServer):
        def handle(self, request: Request) -> Answer:
            return Answer(200, [["unexpected"]])

    server = Strange()
    variables = {**job.merge_request(), "CI_SERVER_URL": server.url}
    done = job.ci("--post", "note", **variables, ASMEVO_GATE_TOKEN="t", no_proxy="127.0.0.1")
    server.close()
    assert done.returncode == 1
    assert "posting failed" in done.stderr
    assert report(job)["verdict"] == "fail"


@pytest.mark.parametrize("link", ["asmevo-reports", "asmevo-reports/patches", "asmevo-reports/asmevo-pictures", "out"])
def test_nothing_is_written_or_removed_through_a_link_of_the_change(job: Job, tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("junit.xml", "gate.json", "0001.patch", "001-k-time.svg"):
        (outside / name).write_text("precious")
    job.change({".asmevo-gate.yaml": "reports: {json: out/gate.json}\n"}, "main")
    (job.root / link).parent.mkdir(exist_ok=True)
    (job.root / link).symlink_to(outside)
    done = job.ci(**job.merge_request())
    assert done.returncode == 2 and "symbolic link" in done.stderr
    assert {path.name: path.read_text() for path in outside.iterdir()} == dict.fromkeys(
        ("junit.xml", "gate.json", "0001.patch", "001-k-time.svg"), "precious"
    )
