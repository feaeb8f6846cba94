"""What a CI job is about, from the variables that its system sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from asmevo_gate.errors import GateError, UsageError
from asmevo_gate.forge.job import Job, MergeRequest, detect_job

NULL = "0" * 40
BASE, HEAD = "b" * 40, "c" * 40
GITLAB = {
    "GITLAB_CI": "true",
    "CI_SERVER_URL": "https://gitlab.example/self/hosted",
    "CI_PROJECT_ID": "42",
    "CI_JOB_URL": "https://gitlab.example/jobs/1",
    "CI_DEFAULT_BRANCH": "main",
    "CI_COMMIT_BEFORE_SHA": NULL,
}
MERGE_REQUEST = {
    **GITLAB,
    "CI_MERGE_REQUEST_IID": "5",
    "CI_MERGE_REQUEST_PROJECT_ID": "41",
    "CI_MERGE_REQUEST_DIFF_BASE_SHA": BASE,
    "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "release/1",
}


def test_outside_of_ci_there_is_no_job() -> None:
    assert detect_job({"CI": "true", "HOME": "/root"}) is None


def test_a_gitlab_merge_request_has_its_exact_base() -> None:
    request = MergeRequest("gitlab", "https://gitlab.example/self/hosted", "41", 5)
    job = detect_job(MERGE_REQUEST)
    assert job == Job("gitlab", BASE, "release/1", request, address="https://gitlab.example/jobs/1")


@pytest.mark.parametrize("event", ["merged_result", "merge_train"])
def test_a_merged_result_is_compared_with_the_target_branch(event: str) -> None:
    source = {"CI_MERGE_REQUEST_EVENT_TYPE": event, "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": HEAD}
    job = detect_job({**MERGE_REQUEST, **source})
    assert job is not None and job.request is not None
    assert (job.base, job.target, job.request.head) == (None, "release/1", HEAD)


def test_a_gitlab_branch_is_compared_with_the_default_branch() -> None:
    job = detect_job({**GITLAB, "CI_COMMIT_BRANCH": "faster"})
    assert job == Job("gitlab", None, "main", address="https://gitlab.example/jobs/1")


def test_a_push_to_the_default_branch_is_compared_with_what_was_there_and_rules_itself() -> None:
    job = detect_job({**GITLAB, "CI_COMMIT_BRANCH": "main", "CI_COMMIT_BEFORE_SHA": BASE})
    assert job is not None
    assert (job.base, job.target, job.settings_at_head) == (BASE, None, True)


@pytest.mark.parametrize("more", [{"CI_COMMIT_BRANCH": "main"}, {"CI_COMMIT_TAG": "v1"}, {}])
def test_a_gitlab_job_with_nothing_to_compare_is_an_error(more: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="nothing to compare with") as caught:
        detect_job({**GITLAB, **more})
    assert "--base origin/main" in caught.value.repair


def github(tmp_path: Path, event: Any, **more: str) -> Job | None:
    path = tmp_path / "event.json"
    path.write_text(json.dumps(event))
    variables = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_PATH": str(path),
        "GITHUB_REPOSITORY": "owner/name",
        "GITHUB_RUN_ID": "77",
        "GITHUB_API_URL": "https://github.example/api/v3",
        "GITHUB_SERVER_URL": "https://github.example",
    }
    return detect_job({**variables, **more})


def test_a_pull_request_is_compared_with_its_target_branch(tmp_path: Path) -> None:
    event = {"pull_request": {"number": 9, "head": {"sha": HEAD}, "base": {"ref": "main", "sha": BASE}}}
    request = MergeRequest("github", "https://github.example/api/v3", "owner/name", 9, HEAD)
    address = "https://github.example/owner/name/actions/runs/77"
    assert github(tmp_path, event) == Job("github", None, "main", request, address=address)
    changed = github(tmp_path, event, GITHUB_BASE_REF="release")
    assert changed is not None and changed.target == "release"


def test_other_github_events(tmp_path: Path) -> None:
    queue = github(tmp_path, {"merge_group": {"base_sha": BASE, "head_sha": HEAD}})
    assert queue is not None and queue.base == BASE
    push = {"before": BASE, "repository": {"default_branch": "main"}}
    branch = {"GITHUB_REF_TYPE": "branch", "GITHUB_REF_NAME": "main"}
    pushed = github(tmp_path, push, **branch)
    assert pushed is not None and (pushed.base, pushed.settings_at_head) == (BASE, True)
    other = github(tmp_path, push, GITHUB_REF_TYPE="branch", GITHUB_REF_NAME="faster")
    assert other is not None and (other.base, other.target, other.settings_at_head) == (None, "main", False)
    with pytest.raises(UsageError, match="nothing to compare with"):
        github(tmp_path, {**push, "before": NULL}, **branch)


@pytest.mark.parametrize("event", [[], "text", {"pull_request": {"number": "9/../1"}}])
def test_an_event_that_is_none_is_an_error(tmp_path: Path, event: Any) -> None:
    with pytest.raises(GateError):
        github(tmp_path, event, GITHUB_BASE_REF="main")


def test_an_event_file_that_is_missing_is_an_error() -> None:
    with pytest.raises(GateError, match="cannot be read"):
        detect_job({"GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": "/nowhere/event.json"})


@pytest.mark.parametrize(
    ("address", "request_"),
    [
        (
            "https://github.com/owner/name/pull/12",
            MergeRequest("github", "https://api.github.com", "owner/name", 12),
        ),
        (
            "https://user:secret@ghe.example:8443/owner/name/pull/12",
            MergeRequest("github", "https://ghe.example:8443/api/v3", "owner/name", 12),
        ),
        (
            "https://gitlab.example/group/sub/name/-/merge_requests/3",
            MergeRequest("gitlab", "https://gitlab.example", "group/sub/name", 3),
        ),
        ("https://bitbucket.example/projects/A/repos/b/pull-requests/3", None),
        ("ftp://github.com/owner/name/pull/12", None),
        ("", None),
    ],
)
def test_jenkins_knows_the_forge_by_the_address_of_the_change(address: str, request_: MergeRequest | None) -> None:
    variables = {"JENKINS_URL": "https://ci.example/", "CHANGE_TARGET": "main", "CHANGE_URL": address}
    assert detect_job({**variables, "BUILD_URL": "https://ci.example/1/"}) == Job(
        "jenkins", None, "main", request_, address="https://ci.example/1/"
    )


def test_a_jenkins_build_of_a_branch_is_compared_with_the_last_good_one() -> None:
    job = detect_job({"JENKINS_URL": "x", "GIT_PREVIOUS_SUCCESSFUL_COMMIT": BASE})
    assert job is not None and job.base == BASE
    with pytest.raises(UsageError, match="CHANGE_TARGET"):
        detect_job({"JENKINS_URL": "x"})
