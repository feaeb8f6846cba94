"""Included files come from the repository and from nowhere else."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from asmevo_gate.errors import LimitError
from asmevo_gate.source.options import SourceLimits, SourceOptions
from asmevo_gate.source.parser import parse_source
from asmevo_gate.source.statement import Source


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    (root / "kernels" / "inc").mkdir(parents=True)
    (root / "kernels" / "inc" / "tools.inc").write_text(".macro twice\n s_nop 0\n s_nop 1\n.endm\n")
    (root / "kernels" / "near.inc").write_text("near = 5\n")
    (tmp_path / "secret.inc").write_text("secret = 1\n")
    return root


def parse(root: Path, text: str) -> Source:
    return parse_source("kernels/k.s", text, SourceOptions(root=str(root), include_paths=("kernels/inc",)))


def test_include_paths_and_the_own_directory_are_searched(repository: Path) -> None:
    source = parse(repository, '.include "tools.inc"\n.include "near.inc"\ntwice\ns_nop near\n')
    assert source.problems == ()
    assert [s.text for s in source.statements[1:]] == ["s_nop 0", "s_nop 1", "s_nop 5"]
    expanded = source.statements[1]
    assert (expanded.place.file, expanded.place.line) == ("kernels/inc/tools.inc", 2)
    assert [frame.name for frame in expanded.frames] == ["twice"]
    assert (expanded.outer_place.file, expanded.outer_place.line) == ("kernels/k.s", 3)
    assert sorted(source.files) == ["kernels/inc/tools.inc", "kernels/k.s", "kernels/near.inc"]
    assert source.statements[0].frames[0].name == '.include "near.inc"'


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../../secret.inc", "../../../../../../../etc/passwd", "inc/../../../secret.inc"]
)
def test_files_outside_the_repository_are_not_read(repository: Path, name: str) -> None:
    source = parse(repository, f'.include "{name}"\ns_nop 0\n')
    assert [problem.severity for problem in source.problems] == ["unknown"]
    assert "outside the repository" in source.problems[0].message
    assert list(source.files) == ["kernels/k.s"]
    assert len(source.statements) == 1


@pytest.mark.parametrize("target", ["/etc/passwd", "../../secret.inc"])
def test_symbolic_links_out_of_the_repository_are_refused(repository: Path, target: str) -> None:
    (repository / "kernels" / "link.inc").symlink_to(target)
    source = parse(repository, '.include "link.inc"\n')
    assert "symbolic link" in source.problems[0].message
    assert list(source.files) == ["kernels/k.s"]


def test_a_linked_directory_out_of_the_repository_is_refused(repository: Path) -> None:
    (repository / "kernels" / "up").symlink_to("../..", target_is_directory=True)
    assert "symbolic link" in parse(repository, '.include "up/secret.inc"\n').problems[0].message


def test_a_file_that_includes_itself_stops_at_the_limit(repository: Path) -> None:
    (repository / "kernels" / "self.inc").write_text('s_nop 0\n.include "self.inc"\n')
    with pytest.raises(LimitError, match="limit buffer_depth"):
        parse(repository, '.include "self.inc"\n')


def test_includes_that_double_stop_at_the_limit(repository: Path) -> None:
    for level in range(40):
        text = f'.include "level{level + 1}.inc"\n' * 2
        (repository / "kernels" / f"level{level}.inc").write_text(text)
    (repository / "kernels" / "level40.inc").write_text("x = 1\n" * 1000)
    limits = msgspec.structs.replace(SourceLimits(), statements=20_000)
    with pytest.raises(LimitError, match="limit statements"):
        parse_source("kernels/k.s", '.include "level0.inc"\n', SourceOptions(root=str(repository), limits=limits))


def test_the_reader_of_the_caller_is_used() -> None:
    asked: list[str] = []

    def read(path: str) -> str | None:
        asked.append(path)
        return "s_nop 3\n" if path == "lib/a.inc" else None

    source = parse_source("k/k.s", '.include "a.inc"\n', SourceOptions(read=read, include_paths=("lib",)))
    assert [s.text for s in source.statements] == ["s_nop 3"]
    assert asked == ["k/a.inc", "lib/a.inc"]


def test_binary_files_are_never_read(repository: Path) -> None:
    source = parse(repository, '.incbin "/etc/passwd"\n.incbin "../../secret.inc"\n')
    assert source.problems == ()
    assert [s.name for s in source.statements] == [".incbin", ".incbin"]
    assert list(source.files) == ["kernels/k.s"]


def test_without_a_root_nothing_is_included() -> None:
    source = parse_source("k.s", '.include "a.inc"\n')
    assert "repository root is not known" in source.problems[0].message
