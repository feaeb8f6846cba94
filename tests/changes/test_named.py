"""Files that are named, and standard input."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from asmevo_gate.changes import Selection, named_files, standard_input
from asmevo_gate.errors import GateError, LimitError

from .conftest import KERNEL, Scratch

EDITED = KERNEL.replace(b"offset:4", b"offset:8")


def test_named_file_is_compared_with_its_commit(scratch: Scratch) -> None:
    scratch.write("kernels/copy.s", EDITED)
    found = named_files(["kernels/copy.s"], scratch.root)
    (change,) = found.changes
    assert (change.kind, change.path) == ("modified", "kernels/copy.s")
    assert change.base is not None and change.base.data == KERNEL
    assert change.head is not None and change.head.data == EDITED
    assert (found.base_name, found.head_name) == ("HEAD", "work tree")


def test_unchanged_file_is_looked_at(scratch: Scratch) -> None:
    (change,) = named_files(["kernels/copy.s"], scratch.root).changes
    assert change.kind == "unchanged"
    assert change.base is not None


def test_names_count_from_the_current_directory(scratch: Scratch) -> None:
    found = named_files(["copy.s", "../kernels/copy.s", scratch.root / "kernels/copy.s"], scratch.root / "kernels")
    assert [change.path for change in found.changes] == ["kernels/copy.s"]


def test_untracked_file_has_no_base(scratch: Scratch) -> None:
    scratch.write("new.s")
    (change,) = named_files(["new.s"], scratch.root).changes
    assert (change.kind, change.base) == ("added", None)


def test_staged_rename_has_its_base(scratch: Scratch) -> None:
    scratch.git("mv", "kernels/copy.s", "moved.s")
    scratch.write("moved.s", EDITED)
    (change,) = named_files(["moved.s"], scratch.root).changes
    assert (change.kind, change.old_path) == ("renamed", "kernels/copy.s")
    assert change.base is not None and change.base.data == KERNEL


def test_any_name_is_taken_when_it_is_named(scratch: Scratch) -> None:
    scratch.write("kernel.txt")
    assert named_files(["kernel.txt"], scratch.root).changes[0].path == "kernel.txt"


def test_directory_stands_for_its_assembly_files(scratch: Scratch) -> None:
    scratch.write("kernels/deep/b.S")
    scratch.write("kernels/notes.txt")
    scratch.write("skip/c.s")
    found = named_files([""], scratch.root, Selection(ignore=("skip/",)))
    assert [change.path for change in found.changes] == ["kernels/copy.s", "kernels/deep/b.S"]
    assert [item.path for item in found.skipped] == ["skip/c.s"]


def test_outside_a_repository_there_is_no_base(tmp_path: Path) -> None:
    place = tmp_path / "plain"
    place.mkdir()
    (place / "a.s").write_bytes(KERNEL)
    (place / "tile.inc").write_bytes(b"tile")
    found = named_files(["a.s"], place)
    (change,) = found.changes
    assert (change.base, found.base_name) == (None, "nothing")
    assert found.read("head", "tile.inc") == b"tile"
    assert found.read("base", "tile.inc") is None


def test_file_in_another_repository_is_compared_there(scratch: Scratch, tmp_path: Path) -> None:
    scratch.write("kernels/copy.s", EDITED)
    found = named_files([scratch.root / "kernels/copy.s"], tmp_path)
    assert (found.changes[0].kind, found.root) == ("modified", scratch.root)


def test_file_outside_of_the_repository_has_no_base(scratch: Scratch, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    place = tmp_path / "far" / "a.s"
    place.write_bytes(KERNEL)
    (tmp_path / "far" / "near.inc").write_bytes(b"near")
    (tmp_path / "secret").write_bytes(b"secret")
    found = named_files([place, "kernels/copy.s"], scratch.root)
    outside, inside = found.changes
    assert (outside.path, outside.base) == (str(place.resolve()), None)
    assert inside.base is not None
    assert found.read("head", str(tmp_path / "far" / "near.inc")) == b"near"
    assert found.read("head", str(tmp_path / "secret")) is None


def test_missing_file_is_an_error(scratch: Scratch) -> None:
    with pytest.raises(GateError, match="no such file") as caught:
        named_files(["nothing.s"], scratch.root)
    assert caught.value.file == "nothing.s"


def test_large_file_is_an_error_that_names_the_limit(scratch: Scratch) -> None:
    scratch.write("big.s", b";" * 2000)
    with pytest.raises(LimitError, match="max_file_bytes"):
        named_files(["big.s"], scratch.root, Selection(max_file_bytes=1999))


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes on Windows")
def test_named_pipe_is_an_error_and_does_not_block(scratch: Scratch) -> None:
    os.mkfifo(scratch.root / "pipe.s")
    with pytest.raises(GateError, match="not a regular file"):
        named_files(["pipe.s"], scratch.root)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
def test_unreadable_file_is_an_error(scratch: Scratch) -> None:
    scratch.write("secret.s").chmod(0)
    with pytest.raises(GateError, match="Permission denied"):
        named_files(["secret.s"], scratch.root)


def test_link_is_followed_inside_the_repository_only(scratch: Scratch, tmp_path: Path) -> None:
    (tmp_path / "outside.s").write_bytes(b"outside")
    (scratch.root / "out.s").symlink_to(tmp_path / "outside.s")
    (scratch.root / "in.s").symlink_to("kernels/copy.s")
    found = named_files(["out.s", "in.s"], scratch.root)
    assert [change.path for change in found.changes] == ["in.s"]
    assert "leads out of the repository" in found.skipped[0].reason


def test_link_loop_is_an_error(scratch: Scratch) -> None:
    (scratch.root / "loop.s").symlink_to("loop.s")
    with pytest.raises(GateError, match="cannot be read"):
        named_files(["loop.s"], scratch.root)


def test_repository_without_a_commit_has_no_base(empty: Scratch) -> None:
    empty.write("a.s")
    (change,) = named_files(["a.s"], empty.root).changes
    assert change.base is None


@pytest.mark.parametrize("name", ["a" * 5000, "a\0b", "\ud800.s"])
def test_impossible_name_is_an_error(scratch: Scratch, name: str) -> None:
    with pytest.raises(GateError):
        named_files([name], scratch.root)


def test_standard_input_has_no_base(tmp_path: Path) -> None:
    (tmp_path / "tile.inc").write_bytes(b"tile")
    found = standard_input(io.BytesIO(KERNEL), "generated.s", tmp_path)
    (change,) = found.changes
    assert (change.path, change.kind, change.base) == ("generated.s", "added", None)
    assert change.head is not None and change.head.data == KERNEL
    assert found.read("head", "tile.inc") == b"tile"


def test_standard_input_is_limited() -> None:
    with pytest.raises(LimitError, match="max_file_bytes"):
        standard_input(io.BytesIO(b";" * 101), selection=Selection(max_file_bytes=100))


@pytest.mark.parametrize(
    "path",
    [
        *("../secret", "kernels/../../secret", "/etc/passwd", "out/secret", "loop", "kernels", ""),
        *("\0", "\ud800", "x" * 5000, "/".join("x" * 5000)),
    ],
)
def test_includes_stay_in_the_repository(scratch: Scratch, tmp_path: Path, path: str) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (scratch.root / "out").symlink_to(tmp_path)
    (scratch.root / "loop").symlink_to("loop")
    scratch.git("add", "--all")
    scratch.commit()
    found = named_files(["kernels/copy.s"], scratch.root)
    assert (found.read("head", path), found.read("base", path)) == (None, None)


def test_includes_follow_links_inside_the_repository(scratch: Scratch) -> None:
    (scratch.root / "current").symlink_to("kernels")
    scratch.git("add", "--all")
    scratch.commit()
    with named_files(["kernels/copy.s"], scratch.root) as found:
        for path in ("current/copy.s", "./kernels/../current//copy.s"):
            assert found.read("base", path) == KERNEL
            assert found.read("head", path) == KERNEL
