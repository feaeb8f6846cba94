"""Files appear whole or not at all, whatever was there before."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from asmevo_gate.errors import GateError
from asmevo_gate.file_writing import write_bytes, write_text


def test_a_failed_write_leaves_the_old_file_and_no_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "report.json"
    target.write_text("old")

    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(GateError, match="No space left") as raised:
        write_text(target, "new")
    assert raised.value.file == str(target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_or_a_file_in_the_way_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "report.json"):
        with pytest.raises(GateError, match="cannot write"):
            write_text(path, "x")


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    write_text(tmp_path / "report", "x")
    assert stat.S_IMODE((tmp_path / "report").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    script = tmp_path / "generated.s"
    script.write_text("old")
    script.chmod(0o750)
    write_bytes(script, b"new")
    assert (script.read_text(), stat.S_IMODE(script.stat().st_mode)) == ("new", 0o750)


def test_a_symbolic_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("kept")
    link = tmp_path / "report.json"
    link.symlink_to(outside)
    write_text(link, "new")
    assert (outside.read_text(), link.read_text(), link.is_symlink()) == ("kept", "new", False)


@pytest.mark.parametrize("pipe", [True, False])
def test_standard_output_can_be_named_as_a_file(tmp_path: Path, pipe: bool) -> None:
    code = (
        "from pathlib import Path; from asmevo_gate.file_writing import write_text\n"
        "print('first', flush=True); write_text(Path('/dev/stdout'), 'second')"
    )
    if pipe:
        shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout
    else:
        with (tmp_path / "log").open("wb") as log:
            subprocess.run([sys.executable, "-c", code], check=True, stdout=log)
        shown = (tmp_path / "log").read_bytes()
    assert shown == b"first\nsecond"
    assert Path("/dev/stdout").is_symlink()


def test_a_named_pipe_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        write_text(pipe, "through")
        assert reader.communicate()[0] == b"through"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_text_is_utf_8_with_unix_line_ends_and_no_byte_order_mark(tmp_path: Path) -> None:
    write_text(tmp_path / "report", "é\n\udce9\n")
    assert (tmp_path / "report").read_bytes() == b"\xc3\xa9\n\\udce9\n"
