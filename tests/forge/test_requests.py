"""Failing forges: retries have limits, nothing is posted twice, and no token is shown."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from asmevo_gate.errors import GateError
from asmevo_gate.forge.github import GitHub
from asmevo_gate.forge.gitlab import GitLab
from asmevo_gate.forge.job import MergeRequest
from asmevo_gate.forge.posting import post_note
from asmevo_gate.forge.publication import find_token, open_forge
from asmevo_gate.forge.retrying import RequestFailed, with_retries
from asmevo_gate.report.markdown import MARKER

from . import fake_github, fake_gitlab
from .fake_github import FakeGitHub
from .fake_gitlab import FakeGitLab

BODY = f"{MARKER}\nfail"


def test_gitlab_reading_is_tried_again(on_gitlab: GitLab, gitlab_server: FakeGitLab) -> None:
    for status in (502, 500, 429):
        gitlab_server.fail_next("GET .*/notes", status, {"message": "wait"})
    post_note(on_gitlab, BODY)
    assert len(gitlab_server.notes) == 1


def test_github_reading_is_tried_again(on_github: GitHub, github_server: FakeGitHub) -> None:
    github_server.fail_next("GET .*/comments", 502, {"message": "wait"})
    github_server.fail_next("GET .*/comments", 403, {"message": "secondary rate limit"}, Retry_After="0")
    post_note(on_github, BODY)
    assert len(github_server.comments) == 1


def test_gitlab_tries_end(on_gitlab: GitLab, gitlab_server: FakeGitLab) -> None:
    for _ in range(10):
        gitlab_server.fail_next("GET .*/notes", 503, {"message": "down"})
    with pytest.raises(GateError, match="GitLab: 503: down"):
        post_note(on_gitlab, BODY)
    assert len(gitlab_server.sent("GET", "notes")) == 4


@pytest.mark.parametrize("status", [500, 502, 504])
def test_what_may_have_been_posted_is_not_posted_again(
    on_gitlab: GitLab, gitlab_server: FakeGitLab, on_github: GitHub, github_server: FakeGitHub, status: int
) -> None:
    gitlab_server.fail_next("POST", status, {"message": "lost"})
    github_server.fail_next("POST", status, {"message": "lost"})
    for forge in (on_gitlab, on_github):
        with pytest.raises(GateError, match=f"{status}: lost"):
            post_note(forge, BODY)
    assert len(gitlab_server.sent("POST")) == len(github_server.sent("POST")) == 1


def test_what_was_refused_for_the_rate_is_posted_later(
    on_gitlab: GitLab, gitlab_server: FakeGitLab, on_github: GitHub, github_server: FakeGitHub
) -> None:
    gitlab_server.fail_next("POST", 429, {"message": "slow down"}, Retry_After="0")
    github_server.fail_next("POST", 429, {"message": "slow down"}, Retry_After="0")
    post_note(on_gitlab, BODY)
    post_note(on_github, BODY)
    assert len(gitlab_server.notes) == len(github_server.comments) == 1


def test_a_long_pause_is_not_waited_for() -> None:
    def refuse() -> None:
        raise RequestFailed("slow down", 429, 3600.0)

    slept: list[float] = []
    with pytest.raises(RequestFailed):
        with_retries(refuse, repeatable=True, sleep=slept.append)
    assert slept == []


@pytest.mark.parametrize("status", [401, 403, 404, 301, 302])
def test_no_message_and_no_traceback_shows_the_token(
    on_gitlab: GitLab, gitlab_server: FakeGitLab, on_github: GitHub, github_server: FakeGitHub, status: int
) -> None:
    echo = f"no access with {fake_gitlab.TOKEN} {fake_github.TOKEN}"
    for server in (gitlab_server, github_server):
        for _ in range(4):
            server.fail_next("GET", status, {"message": echo}, Location="http://elsewhere.invalid/")
    for forge in (on_gitlab, on_github):
        with pytest.raises(GateError) as caught:
            forge.refs()
        shown = "".join(traceback.format_exception(caught.value)) + str(caught.value) + repr(caught.value)
        own = fake_gitlab.TOKEN if forge is on_gitlab else fake_github.TOKEN
        assert own not in shown


def test_a_redirect_is_not_followed(on_gitlab: GitLab, gitlab_server: FakeGitLab, github_server: FakeGitHub) -> None:
    target = f"{github_server.url}/stolen"
    gitlab_server.fail_next("GET", 302, {}, Location=target)
    with pytest.raises(GateError, match="another address"):
        on_gitlab.refs()
    thief = github_server
    forge = GitHub(MergeRequest("github", gitlab_server.url, "owner/name", 9), fake_github.TOKEN)
    gitlab_server.fail_next("GET", 302, {}, Location=target)
    with pytest.raises(GateError, match="302"):
        forge.refs()
    assert thief.requests == []


def test_a_server_that_is_not_there(repository: Path) -> None:
    for forge in (
        GitLab(MergeRequest("gitlab", "http://127.0.0.1:9", "1", 1), "secret-token"),
        GitHub(MergeRequest("github", "http://127.0.0.1:9", "a/b", 1), "secret-token"),
    ):
        with pytest.raises(GateError) as caught:
            forge.refs()
        assert "secret-token" not in str(caught.value)


@pytest.mark.parametrize(
    "request_",
    [
        MergeRequest("github", "file:///etc", "owner/name", 1),
        MergeRequest("github", "https://api.github.com", "owner/../name", 1),
        MergeRequest("github", "https://api.github.com", "", 1),
        MergeRequest("gitlab", "", "1", 1),
    ],
)
def test_addresses_and_names_that_are_none(request_: MergeRequest) -> None:
    with pytest.raises(GateError):
        open_forge(request_, "t")


def test_the_token_comes_from_the_environment() -> None:
    request = MergeRequest("gitlab", "https://gitlab.example", "1", 1)
    assert find_token(request, {"GITLAB_TOKEN": "b", "ASMEVO_GATE_TOKEN": " a\n"}) == "a"
    assert find_token(request, {"GITLAB_TOKEN": "b", "GITHUB_TOKEN": "c"}) == "b"
    with pytest.raises(GateError, match="no token") as caught:
        find_token(request, {"GITHUB_TOKEN": "c", "ASMEVO_GATE_TOKEN": " "})
    assert "ASMEVO_GATE_TOKEN or GITLAB_TOKEN" in caught.value.repair
