"""One git repository, asked through short-lived git processes.

Environment that a running hook sets (``GIT_DIR``, ``GIT_INDEX_FILE``: the temporary index of ``git commit
-a`` and ``git commit -- path``) is passed on, and git runs in the caller's directory, since relative values
count from there.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from asmevo_gate.errors import GateError, UsageError

TIMEOUT_SECONDS = 120

# Variables that would change what a pathspec or a diff means.
_DROPPED = (
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_DIFF_OPTS",
    "GIT_EXTERNAL_DIFF",
)


def git_environment() -> dict[str, str]:
    """The environment of every git process: messages in English, no locks taken, no questions asked."""
    environment = {name: value for name, value in os.environ.items() if name not in _DROPPED}
    environment.update(LC_ALL="C", LANGUAGE="C", GIT_OPTIONAL_LOCKS="0", GIT_TERMINAL_PROMPT="0")
    return environment


def decode_path(raw: bytes) -> str:
    """A path as git gives it; bytes that are not UTF-8 become lone surrogates."""
    return raw.decode("utf-8", "surrogateescape")


def encode_path(path: str) -> bytes:
    """The bytes of a path that :func:`decode_path` gave."""
    return path.encode("utf-8", "surrogateescape")


class NoRepositoryError(GateError):
    """The directory is not in a git repository."""


class Repository:
    """The repository around a directory.

    Raises:
        NoRepositoryError: there is none.
        GateError: git refuses it, it has no work tree, or git is not installed.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        status, out, err = self._call("rev-parse", "--is-shallow-repository", "--absolute-git-dir", "--show-toplevel")
        if status != 0:
            raise _no_repository(directory, err)
        lines = out.removesuffix(b"\n").split(b"\n")
        self.shallow = lines[0] == b"true"
        if len(lines) == 3:
            git_dir, root = lines[1:]
        else:  # a path with a line break in it
            git_dir = self.run("rev-parse", "--absolute-git-dir").removesuffix(b"\n")
            root = self.run("rev-parse", "--show-toplevel").removesuffix(b"\n")
        self.git_dir = Path(os.fsdecode(git_dir))
        self.root = Path(os.fsdecode(root))

    def run(
        self,
        *arguments: str,
        standard_input: bytes = b"",
        accept: tuple[int, ...] = (0,),
        timeout: int = TIMEOUT_SECONDS,
        environment: Mapping[str, str] | None = None,
    ) -> bytes:
        """What a git command prints. ``timeout`` is in seconds; ``environment`` adds to that of git.

        Raises:
            GateError: git ends with a status that is not in ``accept``, or takes too long.
        """
        status, out, err = self._call(
            *arguments, standard_input=standard_input, timeout=timeout, environment=environment
        )
        if status not in accept:
            raise GateError(f"git {arguments[0]} failed: {_message(err)}", "check the repository with: git fsck")
        return out

    def head(self) -> str | None:
        """The commit that HEAD names; ``None`` before the first commit.

        Raises:
            GateError: HEAD names something that is missing or damaged. (It must not pass for a first commit, in
                which everything is new.)
        """
        found = self._commit("HEAD")
        if found is not None:
            return found
        _, branch, _ = self._call("symbolic-ref", "--quiet", "HEAD")
        name = os.fsdecode(branch.removesuffix(b"\n"))
        if name:
            place = os.fsdecode(self.run("rev-parse", "--git-path", name).removesuffix(b"\n"))
            status, _, _ = self._call("rev-parse", "--verify", "--quiet", "HEAD")
            if status != 0 and not (self.directory / place).exists():
                return None
        raise GateError("HEAD names a commit that is missing or damaged", "check the repository with: git fsck")

    def commit(self, revision: str, role: str) -> str:
        """The commit that a revision names. ``role`` ("base", "head") is for the message.

        Raises:
            UsageError: the text is no revision.
            GateError: the revision is not in this clone.
        """
        if not revision or revision.startswith("-") or any(ord(letter) < 32 for letter in revision):
            raise UsageError(f"{role} revision {revision!r} is not a revision", "give a commit, a branch or a tag")
        if set(revision) == {"0"} and len(revision) >= 40:
            raise GateError(
                f"{role} revision is the null revision: the CI system knows no earlier commit",
                "compare with the target branch instead, for example --base origin/main",
            )
        if (found := self._commit(revision)) is not None:
            return found
        if self.shallow:
            raise GateError(
                f"{role} revision '{revision}' is not in this shallow clone",
                f"fetch it: git fetch --unshallow origin, or git fetch --depth=200 origin {revision} "
                "(GitLab: GIT_DEPTH: 0; GitHub: fetch-depth: 0)",
            )
        raise GateError(
            f"{role} revision '{revision}' is not in this repository",
            f"check the name, or fetch it: git fetch origin {revision}",
        )

    def merge_base(self, base: str, head: str, names: tuple[str, str]) -> str:
        """The best common ancestor of two commits.

        In a shallow clone the true one can be newer than the one found; then the comparison takes in more
        than the change, never less.

        Raises:
            GateError: there is none in this clone.
        """
        status, out, err = self._call("merge-base", base, head)
        if status == 0:
            return out.split(b"\n", 1)[0].decode("ascii")
        if status != 1:
            raise GateError(f"git merge-base failed: {_message(err)}", "check the repository with: git fsck")
        between = f"'{names[0]}' and '{names[1]}'"
        if self.shallow:
            raise GateError(
                f"the merge base of {between} is not in this shallow clone",
                "fetch more history: git fetch --unshallow origin, or git fetch --deepen=200 origin "
                "(GitLab: GIT_DEPTH: 0; GitHub: fetch-depth: 0)",
            )
        raise GateError(
            f"{between} have no common ancestor: nothing says what changed",
            "give a base that head comes from",
        )

    def merged_commits(self) -> list[str]:
        """The other parents of a merge that is being committed; empty when there is none.

        A ``pre-merge-commit`` hook runs before git writes ``MERGE_HEAD``; there the parents are in the names of
        variables (``GITHEAD_<commit>``).
        """
        try:
            return (self.git_dir / "MERGE_HEAD").read_text("ascii").split()
        except FileNotFoundError:
            names = [name.removeprefix("GITHEAD_") for name in os.environ if name.startswith("GITHEAD_")]
            return sorted(name for name in names if self._commit(name) == name)

    def empty_tree(self) -> str:
        """The id of the tree without files, in the hash of this repository."""
        return self.run("hash-object", "-t", "tree", "--stdin").decode("ascii").strip()

    def _commit(self, revision: str) -> str | None:
        status, out, _ = self._call("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
        return out.decode("ascii").strip() if status == 0 else None

    def _call(
        self,
        *arguments: str,
        standard_input: bytes = b"",
        timeout: int = TIMEOUT_SECONDS,
        environment: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes, bytes]:
        try:
            done = subprocess.run(
                ["git", *arguments],
                cwd=self.directory,
                env={**git_environment(), **(environment or {})},
                input=standard_input,
                capture_output=True,
                timeout=timeout,
                check=False,
            )
        except FileNotFoundError as error:
            if not self.directory.is_dir():
                raise GateError("no such directory", file=str(self.directory)) from error
            raise git_missing() from error
        except NotADirectoryError as error:
            raise GateError("not a directory", file=str(self.directory)) from error
        except subprocess.TimeoutExpired as error:
            raise GateError(
                f"git {arguments[0]} took longer than {timeout} s",
                "run it by hand to see what it waits for",
            ) from error
        return done.returncode, done.stdout, done.stderr


def git_missing() -> GateError:
    """The error for a machine without git."""
    return GateError("git was not found", "install git, or add its directory to PATH")


def _message(err: bytes) -> str:
    lines = err.decode("utf-8", "replace").strip().splitlines()
    chosen = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[0] if lines else "")
    return chosen.removeprefix("fatal: ").removeprefix("error: ") or "no message"


def _no_repository(directory: Path, err: bytes) -> GateError:
    message = _message(err)
    if "dubious ownership" in message:
        return GateError(
            f"git refuses the repository: {message}",
            f"if you trust it: git config --global --add safe.directory {directory}",
        )
    if "must be run in a work tree" in message:
        return GateError(
            "this is a bare repository or a .git directory: there is no work tree",
            "run in a clone with a work tree",
        )
    if "not a git repository" in message:
        return NoRepositoryError(
            f"'{directory}' is not in a git repository", "run inside a repository, or name the files to check"
        )
    return GateError(f"git cannot open the repository: {message}", "check it with: git status")
