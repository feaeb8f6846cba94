"""What the hook's start pays for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .conftest import KERNEL, Scratch

HEAVY = ("msgspec", "git", "yaml", "tomllib", "numpy", "onnxruntime", "rich", "jinja2", "dataclasses", "asyncio")


def test_nothing_heavy_is_imported(scratch: Scratch) -> None:
    scratch.stage("kernels/copy.s", KERNEL + b"s_nop 0\n")
    code = (
        "import sys; from pathlib import Path; from asmevo_gate.changes import staged_changes\n"
        "assert len(staged_changes(Path.cwd()).changes) == 1\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    # -S leaves out site-packages and with them what editable installs import at start.
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"],
        cwd=scratch.root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_commit_without_assembly_starts_few_processes(scratch: Scratch, tmp_path: Path) -> None:
    scratch.stage("README.md", b"more\n")
    trace = tmp_path / "trace"
    code = "from pathlib import Path; from asmevo_gate.changes import staged_changes; staged_changes(Path.cwd())"
    subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"],
        cwd=scratch.root,
        env={**os.environ, "GIT_TRACE2_EVENT": str(trace)},
        check=True,
    )
    assert trace.read_text().count('"event":"start"') == 4
