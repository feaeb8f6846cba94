"""Whatever two trees differ in, no assembly file is lost and every byte is right."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asmevo_gate.changes import ChangeSet, range_changes, staged_changes

from .conftest import Scratch

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs symbolic links and file modes")

BODY = b"".join(b"  v_mov_b32_e32 v%d, 0\n" % number for number in range(30))
Node = tuple[str, bytes]
Tree = dict[str, Node]

_CONTENT = st.sampled_from([BODY, BODY.replace(b"v7,", b"v9,"), BODY[::-1], b"", b"s_endpgm\n"])
_NODE = st.tuples(st.sampled_from(["file", "file", "file", "executable", "link"]), _CONTENT)
_TREE = st.dictionaries(
    st.sampled_from(["a.s", "b.s", "dir/a.s", "dir/b c.S", "dir/x.inc", "\udce9.asm", "notes.txt"]), _NODE, max_size=6
)


def write_tree(root: Path, tree: Tree) -> None:
    """Make the work tree hold this tree and nothing else."""
    for place in root.iterdir():
        if place.name == ".git":
            continue
        shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()
    for path, (kind, content) in tree.items():
        place = root / path
        place.parent.mkdir(exist_ok=True)
        if kind == "link":
            place.symlink_to(f"target-{len(content)}")
        else:
            place.write_bytes(content)
            place.chmod(0o755 if kind == "executable" else 0o644)


def compare(found: ChangeSet, before: Tree, after: Tree) -> None:
    """Compare what was found with the two trees."""
    assembly = {path for path in {*before, *after} if path.endswith((".s", ".S", ".asm"))}
    differing = {path for path in assembly if before.get(path) != after.get(path)}
    paths = [change.path for change in found.changes]
    origins = [change.old_path for change in found.changes if change.old_path]
    skipped = [item.path for item in found.skipped]
    assert sorted([*paths, *origins, *skipped]) == sorted(differing)
    for change in found.changes:
        old = before.get(change.old_path or change.path, ("none", b""))
        new = after.get(change.path, ("none", b""))
        assert (change.base.data if change.base else None) == (old[1] if old[0] in ("file", "executable") else None)
        assert (change.head.data if change.head else None) == (new[1] if new[0] in ("file", "executable") else None)
    for path in skipped:
        assert "link" in (before.get(path, ("",))[0], after.get(path, ("",))[0])
    for side, tree in (("base", before), ("head", after)):
        for path, (kind, content) in tree.items():
            assert found.read(side, path) == (None if kind == "link" else content)  # type: ignore[arg-type]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=_TREE, after=_TREE)
def test_every_difference_is_found(tmp_path: Path, before: Tree, after: Tree) -> None:
    root = tmp_path / "any"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    scratch = Scratch(Path(os.path.realpath(root)))
    scratch.git("init", "--quiet")
    write_tree(root, before)
    scratch.git("add", "--all")
    start = scratch.commit()
    write_tree(root, after)
    scratch.git("add", "--all")
    with staged_changes(scratch.root) as found:
        compare(found, before, after)
    scratch.commit()
    with range_changes(scratch.root, start) as found:
        compare(found, before, after)
