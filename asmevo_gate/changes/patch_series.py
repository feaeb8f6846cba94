"""Patches as commits on top of a commit, made beside the work tree: for ``git am`` and for a branch to pull from."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from asmevo_gate.changes.deepening import FETCH_SECONDS, REMOTE, without_credentials
from asmevo_gate.changes.repository import Repository
from asmevo_gate.errors import GateError, UsageError

IDENTITY = {
    "GIT_AUTHOR_NAME": "asmevo-gate",
    "GIT_AUTHOR_EMAIL": "asmevo-gate@localhost",
    "GIT_COMMITTER_NAME": "asmevo-gate",
    "GIT_COMMITTER_EMAIL": "asmevo-gate@localhost",
}
BRANCH_PREFIX = "asmevo/"


class Patch(NamedTuple):
    """A unified diff against the commit that it is for, with the message of its commit."""

    diff: str
    message: str


class Series(NamedTuple):
    """Commits, one a patch, on top of ``base``; ``files`` are their mails as of ``git format-patch``.
    ``left_out`` are the messages of patches that do not apply on top of the others."""

    base: str
    tip: str
    files: tuple[str, ...]
    left_out: tuple[str, ...]


def commit_patches(cwd: Path, revision: str, patches: Iterable[Patch]) -> Series:
    """The patches as commits on top of ``revision``. Work tree, index and branches stay as they are.

    The commits carry the date of ``revision``, so that equal patches give equal commits.

    Raises:
        GateError: the revision is not in this clone.
    """
    repository = Repository(cwd)
    base = tip = repository.commit(revision, "head")
    date = repository.run("show", "--no-patch", "--format=%ad", "--date=raw", base).decode("ascii").strip()
    identity = {**IDENTITY, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    left_out: list[str] = []
    with tempfile.TemporaryDirectory(prefix="asmevo-") as scratch:
        index = {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
        repository.run("read-tree", base, environment=index)
        for patch in patches:
            text = patch.diff.encode("utf-8", "surrogateescape")
            try:
                repository.run(
                    "-c", "core.autocrlf=false", "apply", "--cached", "--whitespace=nowarn", "-",
                    standard_input=text, environment=index,
                )  # fmt: skip
            except GateError:
                left_out.append(patch.message.partition("\n")[0])
                continue
            tree = repository.run("write-tree", environment=index).decode("ascii").strip()
            message = patch.message.encode("utf-8", "replace")
            made = repository.run("commit-tree", tree, "-p", tip, standard_input=message, environment=identity)
            tip = made.decode("ascii").strip()
    return Series(base, tip, _mails(repository, base, tip), tuple(left_out))


def push_branch(cwd: Path, commit: str, branch: str) -> None:
    """Push a commit to a branch of the remote, over what an earlier run left there.

    Raises:
        UsageError: the name is not below ``asmevo/``: a branch of someone else is never overwritten.
        GateError: the remote refuses it.
    """
    repository = Repository(cwd)
    if not branch.startswith(BRANCH_PREFIX):
        raise UsageError(f"suggestion branch '{branch}' is not below '{BRANCH_PREFIX}'", f"use {BRANCH_PREFIX}{branch}")
    try:
        repository.run("check-ref-format", f"refs/heads/{branch}")
    except GateError as error:
        raise UsageError(f"{branch!r} is not a branch name", "use letters, digits, - and /") from error
    try:
        repository.run(
            "push", "--quiet", "--force", "--no-verify", "--", REMOTE, f"{commit}:refs/heads/{branch}",
            timeout=FETCH_SECONDS,
        )  # fmt: skip
    except GateError as error:
        raise GateError(f"the branch '{branch}' cannot be pushed: {without_credentials(error.message)}") from error


def _mails(repository: Repository, base: str, tip: str) -> tuple[str, ...]:
    if base == tip:
        return ()
    mails = []
    commits = repository.run("rev-list", "--reverse", f"{base}..{tip}").decode("ascii").split()
    for number, commit in enumerate(commits, 1):
        mail = repository.run(
            "format-patch", "--stdout", "--no-signature", "--no-ext-diff", "--no-textconv", "--no-attach",
            f"--start-number={number}", "-1", commit,
        )  # fmt: skip
        mails.append(mail.decode("utf-8", "surrogateescape"))
    return tuple(mails)


def set_branch(cwd: Path, commit: str, branch: str) -> None:
    """Let a local branch point to a commit. It is made when it does not exist, and moved only forward or from one run
    of the tool to the next: never off commits of someone else.

    Raises:
        UsageError: the name is no branch name, or the branch holds other work or is checked out.
        GateError: git refuses.
    """
    repository = Repository(cwd)
    reference = f"refs/heads/{branch}"
    try:
        repository.run("check-ref-format", reference)
    except GateError as error:
        raise UsageError(f"{branch!r} is not a branch name", "use letters, digits, - and /") from error
    if repository.run("for-each-ref", "--format=%(HEAD)", reference).decode("ascii").strip() == "*":
        raise UsageError(f"the branch '{branch}' is checked out", "name another branch")
    old = repository.run("for-each-ref", "--format=%(objectname)", reference).decode("ascii").strip()
    if old:
        authors = repository.run("log", "--format=%ae", f"{commit}..{old}").decode("utf-8", "replace").split()
        if any(author != IDENTITY["GIT_AUTHOR_EMAIL"] for author in authors):
            raise UsageError(f"the branch '{branch}' holds commits of others", "name another branch")
    repository.run("update-ref", "-m", "asmevo-gate rewrite", reference, commit, old or "0" * len(commit))
