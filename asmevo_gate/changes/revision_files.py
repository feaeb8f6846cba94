"""Single files of one commit: the settings, baseline and constraint files of a target branch."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from asmevo_gate.changes.model import Selection
from asmevo_gate.changes.objects import Objects
from asmevo_gate.changes.repository import Repository
from asmevo_gate.changes.sides import Listing


class RevisionFiles:
    """The files of the commit ``revision`` of the repository around ``cwd``. Used as a context manager.

    Raises:
        UsageError, GateError: the text is no revision, or the clone lacks it.
    """

    def __init__(self, cwd: Path, revision: str) -> None:
        repository = Repository(cwd)
        self.root = repository.root
        self._objects = Objects(repository.directory, Selection().max_file_bytes)
        self._listing = Listing(repository, self._objects, repository.commit(revision, "settings"))

    def read(self, path: str) -> bytes | None:
        """The bytes of a regular file by its path from the root; ``None``: there is none.

        Raises:
            LimitError: the file is too large.
            GateError: it cannot be read.
        """
        return self._listing.read(path)

    def __enter__(self) -> RevisionFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._objects.close()
