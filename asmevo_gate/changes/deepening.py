"""History that a CI clone lacks: the target branch, a base commit, the way back to their merge base.

CI systems clone with little history (GitLab 20 commits, GitHub one). What is missing is fetched from the remote that
the clone came from; what cannot be fetched ends the run, because a comparison with a wrong base hides findings.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from asmevo_gate.changes.repository import Repository
from asmevo_gate.errors import GateError, UsageError

REMOTE = "origin"
DEPTHS = (50, 200, 1000)
"""Commits by which the clone is deepened, one step after the other; after them comes all of the history."""
FETCH_SECONDS = 600


class History:
    """The history of the clone around ``cwd``. ``say`` hears what is fetched, one line a fetch."""

    def __init__(self, cwd: Path, say: Callable[[str], None] = lambda line: None, remote: str = REMOTE) -> None:
        self._cwd = cwd
        self._say = say
        self._remote = remote
        self.repository = Repository(cwd)

    def branch_tip(self, branch: str) -> str:
        """The commit at the end of a branch of the remote, fetched now.

        Where the remote cannot be asked, the end that the clone knows is taken: an older one only takes in more.

        Raises:
            UsageError: the text is no branch name.
            GateError: the branch can neither be fetched nor is it known.
        """
        known = f"refs/remotes/{self._remote}/{branch}"
        if branch.startswith("-") or not self._succeeds("check-ref-format", f"refs/heads/{branch}"):
            raise UsageError(f"{branch!r} is not a branch name", "check the variables of the CI job")
        try:
            self._fetch(f"+refs/heads/{branch}:{known}")
        except GateError as error:
            if not self.has(known):
                raise GateError(
                    f"the target branch '{branch}' cannot be fetched: {error.message}",
                    f"fetch it before the gate runs: git fetch {self._remote} {branch}; or give the base with --base",
                ) from error
            self._say(f"'{branch}' could not be fetched ({error.message}); its state of the clone is used")
        return self.repository.commit(known, "target branch")

    def commit(self, revision: str, role: str) -> str:
        """The commit that a revision names, fetched if the clone lacks it.

        Raises:
            UsageError, GateError: as :meth:`Repository.commit`.
        """
        try:
            return self.repository.commit(revision, role)
        except UsageError:
            raise
        except GateError as missing:
            if not re.fullmatch(r"[0-9a-f]{40}([0-9a-f]{24})?", revision) or set(revision) == {"0"}:
                raise
            try:
                self._fetch(revision)
                return self.repository.commit(revision, role)
            except GateError as error:
                raise GateError(f"{missing.message}, and cannot be fetched: {error.message}", missing.repair) from error

    def deepen_to_merge_base(self, base: str, head: str) -> str:
        """The merge base of two commits; a shallow clone is deepened until it has one.

        Raises:
            GateError: there is none, or the history cannot be fetched.
        """
        names = (base[:12], head[:12])
        failure: GateError | None = None
        for step in (*(f"--deepen={depth}" for depth in DEPTHS), "--unshallow"):
            try:
                return self.repository.merge_base(base, head, names)
            except GateError:
                if not self.repository.shallow:
                    raise
            try:
                self._deepen(step, base, head)
            except GateError as error:
                failure = error
                break
        try:
            return self.repository.merge_base(base, head, names)
        except GateError as error:
            why = f"; deepening failed: {failure.message}" if failure else ""
            raise GateError(f"{error.message}{why}", error.repair) from error

    def has(self, revision: str) -> bool:
        """Whether the clone has the commit."""
        return self._succeeds("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")

    def parents(self, commit: str) -> tuple[str, ...]:
        """The parents that the commit itself names, also where the clone ends at it."""
        head, _, _ = self.repository.run("cat-file", "commit", commit).partition(b"\n\n")
        lines = head.decode("ascii", "replace").splitlines()
        return tuple(line.removeprefix("parent ") for line in lines if line.startswith("parent "))

    def _deepen(self, step: str, base: str, head: str) -> None:
        try:
            self._fetch(base, head, depth=step)
        except GateError:
            self._fetch(depth=step)  # a server that gives no single commits gives its branches
        self.repository = Repository(self._cwd)

    def _fetch(self, *what: str, depth: str = "") -> None:
        shallow = depth or ("--depth=1" if self.repository.shallow else "")
        self._say(f"git fetch {' '.join([*([shallow] if shallow else []), self._remote, *what])}")
        options = ["--quiet", "--no-tags", "--no-recurse-submodules", *([shallow] if shallow else [])]
        try:
            self.repository.run("fetch", *options, "--", self._remote, *what, timeout=FETCH_SECONDS)
        except GateError as error:
            raise GateError(without_credentials(error.message), error.repair) from error

    def _succeeds(self, *arguments: str) -> bool:
        try:
            self.repository.run(*arguments)
        except GateError:
            return False
        return True


def without_credentials(text: str) -> str:
    """``text`` with the user and password of addresses hidden."""
    return re.sub(r"://[^/@\s]+@", "://[hidden]@", text)
