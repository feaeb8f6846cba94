"""Limits of external programs."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from asmevo_gate.verify.limited_process import ERROR_BYTES, FILE_TOO_LARGE, run_limited

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX resource limits")


def python(program: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", program, *arguments]


def test_input_output_messages_and_code_come_back() -> None:
    program = "import sys; sys.stdout.write(sys.stdin.read()[::-1]); sys.stderr.write('note'); sys.exit(3)"
    done = run_limited(python(program), b"abc")
    assert (done.code, done.output, done.errors, done.timed_out) == (3, b"cba", "note", False)


def test_messages_are_cut_off() -> None:
    done = run_limited(python("import sys; sys.stderr.write('x' * (20 << 20))"))
    assert len(done.errors) == ERROR_BYTES


def test_a_large_file_stops_the_program(tmp_path: Path) -> None:
    path = tmp_path / "large"
    # Python ignores the signal by default and gets an error instead; LLVM's tools are stopped by it.
    program = (
        "import signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_DFL); open(sys.argv[1], 'wb').truncate(2 << 30)"
    )
    assert run_limited(python(program, str(path))).code == FILE_TOO_LARGE
    assert path.stat().st_size == 0


def test_children_of_a_program_that_hangs_are_killed_too(tmp_path: Path) -> None:
    path = tmp_path / "pid"
    program = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(100)'])\n"
        "open(sys.argv[1], 'w').write(str(child.pid))\n"
        "time.sleep(100)\n"
    )
    start = time.monotonic()
    done = run_limited(python(program, str(path)), timeout=3)
    assert done.timed_out
    assert time.monotonic() - start < 30
    child = int(path.read_text())
    deadline = time.monotonic() + 5
    while alive(child):
        assert time.monotonic() < deadline, "the child still runs"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    """True while a process runs; one that is dead and not yet collected does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_a_program_that_is_not_there_is_an_os_error() -> None:
    with pytest.raises(OSError, match="No such file"):
        run_limited(["/nonexistent/tool"])
