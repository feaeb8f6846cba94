"""Files of a commit, whatever the work tree has."""

from __future__ import annotations

import pytest

from asmevo_gate.changes.revision_files import RevisionFiles
from asmevo_gate.errors import GateError

from .conftest import Scratch


def test_the_commit_counts_and_not_the_work_tree(scratch: Scratch) -> None:
    scratch.stage(".asmevo-gate.yaml", b"fail_on: warning\n")
    first = scratch.commit()
    scratch.stage(".asmevo-gate.yaml", b"fail_on: never\n")
    scratch.commit()
    with RevisionFiles(scratch.root / "kernels", first) as files:
        assert files.root == scratch.root
        assert files.read(".asmevo-gate.yaml") == b"fail_on: warning\n"
        assert files.read("missing.yaml") is None


def test_a_revision_that_is_missing_is_an_error(scratch: Scratch) -> None:
    with pytest.raises(GateError, match="settings revision"):
        RevisionFiles(scratch.root, "f" * 40)
