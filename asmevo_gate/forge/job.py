"""Which CI job this is, read from its variables: the system, what to compare, the merge request. No network.

Variables: GitLab "Predefined CI/CD variables reference", GitHub "Variables reference" (default environment variables)
and the webhook payload ``pull_request``, Jenkins "Pipeline: Multibranch" (``CHANGE_*``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from asmevo_gate.errors import GateError, UsageError

System = Literal["gitlab", "github", "jenkins"]
Kind = Literal["gitlab", "github"]
_MAX_EVENT_BYTES = 16 << 20
_NULL = re.compile(r"0{40,}")


class MergeRequest(NamedTuple):
    """A merge request (GitHub: pull request). ``server`` is the address of GitLab, or that of GitHub's REST API;
    ``project`` a number or ``group/name``. ``head`` is the last commit of its branch, where the job says it.
    ``ca_file`` holds the certificates by which the server is known, where it is not by public ones."""

    kind: Kind
    server: str
    project: str
    number: int
    head: str | None = None
    ca_file: str | None = None


class Job(NamedTuple):
    """A CI job.

    ``base`` is the exact commit to compare with; without it, what is compared with is the merge base with the branch
    ``target``. ``settings_at_head``: the job is for the target branch itself, so that its settings are those at head.
    ``address`` shows the job to people.
    """

    system: System
    base: str | None
    target: str | None
    request: MergeRequest | None = None
    settings_at_head: bool = False
    address: str = ""


def detect_job(environment: Mapping[str, str]) -> Job | None:
    """The job that the variables describe; ``None`` outside of the three CI systems.

    Raises:
        UsageError: the job has nothing to compare with; the message says which variable was expected.
        GateError: the event file of GitHub cannot be read.
    """
    if environment.get("GITLAB_CI"):
        return _gitlab(environment)
    if environment.get("GITHUB_ACTIONS"):
        return _github(environment)
    if environment.get("JENKINS_URL") or environment.get("JENKINS_HOME"):
        return _jenkins(environment)
    return None


def _gitlab(environment: Mapping[str, str]) -> Job:
    address = environment.get("CI_JOB_URL", "")
    if number := environment.get("CI_MERGE_REQUEST_IID"):
        # In a pipeline for merged results HEAD holds the target branch too: its merge base with the target branch is
        # then newer than the base of the merge request's diff.
        merged = environment.get("CI_MERGE_REQUEST_EVENT_TYPE") in ("merged_result", "merge_train")
        base = None if merged else _commit(environment.get("CI_MERGE_REQUEST_DIFF_BASE_SHA"))
        request = MergeRequest(
            "gitlab",
            environment.get("CI_SERVER_URL", ""),
            environment.get("CI_MERGE_REQUEST_PROJECT_ID") or environment.get("CI_PROJECT_ID", ""),
            _number(number, "CI_MERGE_REQUEST_IID"),
            _commit(environment.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA")),
            environment.get("CI_SERVER_TLS_CA_FILE") or None,
        )
        target = environment.get("CI_MERGE_REQUEST_TARGET_BRANCH_NAME")
        if not base and not target:
            raise _nothing("CI_MERGE_REQUEST_TARGET_BRANCH_NAME")
        return Job("gitlab", base, target, request, address=address)
    branch, default = environment.get("CI_COMMIT_BRANCH"), environment.get("CI_DEFAULT_BRANCH")
    before = _commit(environment.get("CI_COMMIT_BEFORE_SHA"))
    if branch and default and branch != default:
        return Job("gitlab", None, default, address=address)
    if branch and before:
        return Job("gitlab", before, None, settings_at_head=True, address=address)
    raise _nothing("CI_MERGE_REQUEST_IID (a merge request pipeline) or CI_COMMIT_BEFORE_SHA (a push)")


def _github(environment: Mapping[str, str]) -> Job:
    server = environment.get("GITHUB_SERVER_URL", "https://github.com")
    project = environment.get("GITHUB_REPOSITORY", "")
    run = environment.get("GITHUB_RUN_ID", "")
    address = f"{server}/{project}/actions/runs/{run}" if project and run else ""
    event = _event(environment.get("GITHUB_EVENT_PATH"))
    pull = event.get("pull_request")
    if isinstance(pull, dict):
        target = environment.get("GITHUB_BASE_REF") or _text(pull, "base", "ref")
        if not target:
            raise _nothing("GITHUB_BASE_REF")
        request = MergeRequest(
            "github",
            environment.get("GITHUB_API_URL", "https://api.github.com"),
            project,
            _number(str(pull.get("number", "")), "pull_request.number of GITHUB_EVENT_PATH"),
            _commit(_text(pull, "head", "sha")),
        )
        return Job("github", None, target, request, address=address)
    if group := event.get("merge_group"):
        base = _commit(_text({"merge_group": group}, "merge_group", "base_sha"))
        if base:
            return Job("github", base, None, address=address)
    default = _text(event, "repository", "default_branch")
    branch = environment.get("GITHUB_REF_NAME") if environment.get("GITHUB_REF_TYPE") == "branch" else None
    before = _commit(_text(event, "before"))
    if branch and default and branch != default:
        return Job("github", None, default, address=address)
    if branch and before:
        return Job("github", before, None, settings_at_head=True, address=address)
    raise _nothing("a pull_request, merge_group or push event in GITHUB_EVENT_PATH")


def _jenkins(environment: Mapping[str, str]) -> Job:
    address = environment.get("BUILD_URL", "")
    if target := environment.get("CHANGE_TARGET"):
        return Job("jenkins", None, target, _change(environment.get("CHANGE_URL", "")), address=address)
    if before := _commit(environment.get("GIT_PREVIOUS_SUCCESSFUL_COMMIT")):
        return Job("jenkins", before, None, settings_at_head=True, address=address)
    raise _nothing("CHANGE_TARGET (a multibranch job for changes) or GIT_PREVIOUS_SUCCESSFUL_COMMIT")


_CHANGE = re.compile(r"/(?P<project>.+?)/(?:-/)?(?P<kind>pull|merge_requests)/(?P<number>\d+)")


def _change(address: str) -> MergeRequest | None:
    """The merge request at the address that Jenkins' branch sources give; ``None`` for another forge."""
    parts = urlsplit(address)
    match = _CHANGE.match(parts.path)
    if match is None or parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    server = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if match["kind"] == "merge_requests":
        return MergeRequest("gitlab", server, match["project"], int(match["number"]))
    api = "https://api.github.com" if parts.hostname == "github.com" else f"{server}/api/v3"
    return MergeRequest("github", api, match["project"], int(match["number"]))


def _event(path: str | None) -> dict[str, Any]:
    if not path:
        return {}
    try:
        with Path(path).open("rb") as file:
            content = file.read(_MAX_EVENT_BYTES + 1)
        event = json.loads(content) if len(content) <= _MAX_EVENT_BYTES else None
    except (OSError, ValueError) as error:
        raise GateError(f"the event of the GitHub run cannot be read: {error}", file=path) from error
    if not isinstance(event, dict):
        raise GateError("the event of the GitHub run is no JSON object, or too large", file=path)
    return event


def _text(content: Any, *keys: str) -> str | None:
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content if isinstance(content, str) and content else None


def _commit(text: str | None) -> str | None:
    """A commit id; ``None`` also for the null id that CI systems give where there is none."""
    return text if text and not _NULL.fullmatch(text) else None


def _number(text: str, where: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,18}", text):
        raise UsageError(f"{where} is {text!r}, not the number of a merge request", "check the variables of the job")
    return int(text)


def _nothing(expected: str) -> UsageError:
    return UsageError(
        f"this job says nothing to compare with; expected {expected}",
        "run the gate for merge requests, or name a revision: asmevo-gate ci --base origin/main",
    )
