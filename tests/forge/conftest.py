"""A repository with a branch that changes a file, and the servers of both forges in front of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from asmevo_gate.forge import retrying
from asmevo_gate.forge.github import GitHub
from asmevo_gate.forge.gitlab import GitLab
from asmevo_gate.forge.job import MergeRequest
from asmevo_gate.forge.suggestion import Suggestion
from asmevo_gate.gate.repairs import unified_diff

from . import fake_github, fake_gitlab
from .fake_server import git

PATH = "kernels/k.s"


@pytest.fixture(autouse=True)
def quiet_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No proxy, no configuration of the machine, no waiting."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setattr(retrying, "WAITS", (0.0, 0.0, 0.0))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """``faster`` replaces line 20 of 60 by two lines and appends one; ``main`` went on meanwhile."""
    root = tmp_path / "repository"
    (root / "kernels").mkdir(parents=True)
    git(root, "init", "--quiet", "--initial-branch=main")
    lines = [f"  s_nop {number % 8} ; {number}" for number in range(1, 61)]
    (root / PATH).write_text("\n".join(lines) + "\n")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "base")
    git(root, "branch", "faster")
    (root / "README").write_text("x")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "main goes on")
    git(root, "checkout", "--quiet", "faster")
    lines[19:20] = ["  s_sleep 1", "  s_sleep 2"]
    (root / PATH).write_text("\n".join([*lines, "  s_endpgm"]) + "\n")
    git(root, "commit", "--quiet", "--all", "--message", "faster")
    return root


@pytest.fixture
def gitlab_server(repository: Path) -> Iterator[fake_gitlab.FakeGitLab]:
    server = fake_gitlab.FakeGitLab(repository)
    yield server
    server.close()
    assert server.faults == []


@pytest.fixture
def github_server(repository: Path) -> Iterator[fake_github.FakeGitHub]:
    server = fake_github.FakeGitHub(repository)
    yield server
    server.close()
    assert server.faults == []


@pytest.fixture
def on_gitlab(gitlab_server: fake_gitlab.FakeGitLab) -> GitLab:
    return GitLab(MergeRequest("gitlab", gitlab_server.url, "group/project", 5), fake_gitlab.TOKEN)


@pytest.fixture
def on_github(github_server: fake_github.FakeGitHub) -> GitHub:
    return GitHub(MergeRequest("github", github_server.url, "owner/name", 9), fake_github.TOKEN)


def suggest(root: Path, first: int, last: int, *replacement: str, key: str = "a") -> Suggestion:
    """A suggestion for the file at head."""
    text = (root / PATH).read_text()
    lines = text.split("\n")
    after = "\n".join([*lines[: first - 1], *replacement, *lines[last:]])
    patch = unified_diff(PATH, text, after)
    return Suggestion(PATH, first, last, replacement, f"Edit {first}", "Because.", "Because.", (key * 20)[:20], patch)
