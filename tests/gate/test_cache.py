"""The cache: what it may answer, what it must not, and that nothing in it can do harm."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from asmevo_gate.changes import named_files
from asmevo_gate.errors import UsageError
from asmevo_gate.gate import cache as cache_module
from asmevo_gate.gate import change_check
from asmevo_gate.gate.cache import Cache, cache_directory, cache_limit
from asmevo_gate.gate.execution import Execution
from asmevo_gate.gate.result import Report
from asmevo_gate.gate.run import Request, run_gate
from asmevo_gate.gate.settings import Settings
from asmevo_gate.isa.targets import parse_target
from asmevo_gate.report.context import RenderContext
from asmevo_gate.report.json import render
from asmevo_gate.verify.assembler import NotAssembled
from asmevo_gate.verify.discovery import Tool
from tests.gate.sample_repository import changes_of, commit, git, kernel, make_repository, write_kernels

ROOT = Path(__file__).resolve().parents[2]
REQUEST = Request(assemble=False)


class Runs:
    """Runs over one cache, and how many files each found in it."""

    def __init__(self, root: Path, directory: Path) -> None:
        self.root = root
        self.directory = directory
        self.said: list[str] = []

    def named(self, request: Request | None = None, settings: Settings | None = None) -> tuple[Report, int]:
        cache = Cache(self.directory, self.said.append)
        request = replace(request or REQUEST, named=True)
        with named_files(["."], self.root) as changes:
            report = run_gate(changes, settings or Settings(root=self.root), request, execution=Execution(cache=cache))
        return report, cache.hits

    def entries(self) -> list[Path]:
        return sorted(path for path in self.directory.rglob("*") if path.is_file() and len(path.name) == 64)


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    root = tmp_path / "work"
    root.mkdir()
    write_kernels(root, 3)
    return Runs(root, tmp_path / "cache")


def test_an_unchanged_file_is_taken_from_the_cache_with_the_same_bytes(runs: Runs) -> None:
    first, nothing = runs.named()
    again, all_files = runs.named()
    assert (nothing, all_files) == (0, 3)
    assert render(again, RenderContext()) == render(first, RenderContext())
    assert again.verdict == "fail"


def test_whatever_the_result_depends_on_is_part_of_the_key(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    runs.named()
    (runs.root / "k0.s").write_text(kernel("k0", 9))
    assert runs.named()[1] == 2
    assert runs.named(replace(REQUEST, gpus=("gfx942",)))[1] == 0
    assert runs.named(replace(REQUEST, defines=(("N", 1),)))[1] == 0
    assert runs.named(replace(REQUEST, rocm="6.1.3"))[1] == 0
    assert runs.named(replace(REQUEST, draw=lambda picture: None))[1] == 0
    assert runs.named(settings=Settings(root=runs.root, disabled=frozenset({"wait.too_strong"})))[1] == 0
    assert runs.named(settings=Settings(root=runs.root, severities={"wait.too_strong": "error"}))[1] == 0
    assert runs.named(settings=Settings(root=runs.root, profiles=("house",)))[1] == 0
    assert runs.named(replace(REQUEST, fail_on="info"))[1] == 3
    for part in ("code_version", "tools_version"):
        with monkeypatch.context() as patched:
            patched.setattr(cache_module, part, lambda: "another")
            assert runs.named()[1] == 0
    assert runs.named()[1] == 3


def test_base_and_included_files_count_too(tmp_path: Path) -> None:
    root = make_repository(tmp_path)
    directory = tmp_path / ".git" / "cache"

    def hits(changes_root: Path) -> tuple[int, int]:
        cache = Cache(directory, print)
        with changes_of(changes_root) as changes:
            report = run_gate(changes, Settings(root=root), REQUEST, execution=Execution(cache=cache))
        return cache.hits, len(report.inputs)

    assert hits(root) == (0, 4)
    assert hits(root) == (4, 4)
    (root / "inc" / "scale.inc").write_text("  v_mov_b32 v2, 0\n  v_lshlrev_b32 v0, 1, v0\n")
    commit(root, "another include")
    git(root, "reset", "-q", "--soft", "HEAD~2")
    git(root, "commit", "-q", "-m", "both")
    assert hits(root) == (3, 4)
    git(root, "rm", "-q", "inc/scale.inc")
    git(root, "commit", "-q", "--amend", "-m", "without it")
    cache = Cache(directory, print)
    with changes_of(root) as changes:
        run_gate(changes, Settings(root=root), REQUEST, execution=Execution(cache=cache))
    assert cache.hits == 3


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        lambda content: content.replace(b"asmevo1", b"asmevo0"),
        lambda content: b"\x80" * 4096,
    ],
)
def test_a_damaged_entry_is_no_entry_and_is_written_again(runs: Runs, damage: object) -> None:
    first, _ = runs.named()
    for place in runs.entries():
        place.write_bytes(damage(place.read_bytes()))  # type: ignore[operator]
    again, hits = runs.named()
    assert (hits, again, runs.said) == (0, first, [])
    assert runs.named()[1] == 3


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_an_entry_or_none(payload: bytes, checksum: bool) -> None:
    digest = hashlib.sha256(payload).digest() if checksum else b""
    assert cache_module._decoded(cache_module.MAGIC + digest + payload) is None
    nested = b"\x91" * 100_000 + payload
    assert cache_module._decoded(cache_module.MAGIC + hashlib.sha256(nested).digest() + nested) is None


def test_an_entry_under_another_name_is_no_entry(runs: Runs) -> None:
    runs.named()
    faulty, *others = runs.entries()
    for place in others:
        place.write_bytes(faulty.read_bytes())
    assert runs.named()[1] == 1


def test_what_an_outer_circumstance_decided_is_not_kept(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = Tool("clang", ("clang",), "22", frozenset(), "PATH")
    slow = NotAssembled("clang did not finish in 60 s", "", tool)
    monkeypatch.setattr(change_check, "assemble_source", lambda source, way: slow)
    runs.named(replace(REQUEST, assemble=True))
    assert runs.entries() == []
    monkeypatch.setattr(change_check, "assemble_source", lambda source, way: replace(slow, tool=None))
    runs.named(replace(REQUEST, assemble=True))
    assert len(runs.entries()) == 3
    assert parse_target("gfx90a")


def test_a_result_without_its_base_is_not_kept(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "a.s").write_text("/* never closed\n" + kernel("a", 1))
    commit(tmp_path, "base")
    (tmp_path / "a.s").write_text(kernel("a", 1, faulty=True))
    commit(tmp_path, "change")
    for _ in range(2):
        cache = Cache(tmp_path / ".git" / "cache", print)
        with changes_of(tmp_path) as changes:
            report = run_gate(changes, Settings(root=tmp_path), REQUEST, execution=Execution(cache=cache))
        assert (report.verdict, cache.hits) == ("fail", 0)


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    write_kernels(tmp_path, 3)
    runs = Runs(tmp_path, directory)
    runs.named()
    old = runs.entries()
    for place in old:
        os.utime(place, (1, 1))
    left_behind = directory / "ab" / ".abc.1.tmp"
    left_behind.parent.mkdir(exist_ok=True)
    left_behind.write_bytes(b"torn")
    os.utime(left_behind, (1, 1))
    (directory / "swept").unlink()
    (tmp_path / "new.s").write_text(kernel("new", 7))
    cache = Cache(directory, print, limit=sum(place.stat().st_size for place in old))
    with named_files(["new.s"], tmp_path) as changes:
        run_gate(changes, Settings(root=tmp_path), replace(REQUEST, named=True), execution=Execution(cache=cache))
    kept = runs.entries()
    assert 0 < len(kept) < 4
    assert len(set(kept) - set(old)) == 1
    assert not left_behind.exists()


def test_a_cache_that_cannot_be_used_is_said_once_and_the_run_goes_on(runs: Runs) -> None:
    runs.directory.write_text("a file, not a directory")
    report, hits = runs.named()
    assert (report.verdict, hits, len(runs.said)) == ("fail", 0, 1)
    assert "going on without it" in runs.said[0]


def test_two_hooks_at_once_share_a_cache(runs: Runs) -> None:
    environment = {**os.environ, "ASMEVO_CACHE": str(runs.directory), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "asmevo_gate", "check", ".", "--no-assemble", "--format", "json"]

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, cwd=runs.root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    outputs = [(*process.communicate(timeout=120), process.returncode) for process in [start(), start()]]
    assert outputs[0] == outputs[1]
    assert outputs[0][1:] == (b"", 1)
    assert len(runs.entries()) == 3
    assert not list(runs.directory.rglob("*.tmp"))
    begun = time.monotonic()
    warm = start()
    assert warm.communicate(timeout=120)[0] == outputs[0][0]
    assert time.monotonic() - begun < 60


def test_where_the_cache_is_and_how_large(tmp_path: Path) -> None:
    assert cache_directory({"ASMEVO_CACHE": "/x/cache", "XDG_CACHE_HOME": "/y"}) == Path("/x/cache")
    if sys.platform != "win32":
        assert cache_directory({"XDG_CACHE_HOME": "/y"}) == Path("/y/asmevo-gate")
        assert cache_directory({}) == Path.home() / ".cache" / "asmevo-gate"
    assert cache_limit({"ASMEVO_CACHE_MIB": "3"}) == 3 << 20
    with pytest.raises(UsageError, match="ASMEVO_CACHE_MIB"):
        cache_limit({"ASMEVO_CACHE_MIB": "much"})
