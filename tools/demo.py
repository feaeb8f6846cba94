"""Run the main job on a small repository: three kernels, then a commit that worsens one and breaks another.

Usage: python tools/demo.py [DIRECTORY]

The repository is made in DIRECTORY (default: ``demo/`` beside this checkout's README) from ``examples/``; an old one
is replaced. The exit code is 0 when the gate does what the demo shows: it fails the change.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_IDENTITY = ("-c", "user.name=demo", "-c", "user.email=demo@example.invalid", "-c", "commit.gpgsign=false")
_MARKER = ".asmevo-demo"


def main() -> int:
    """Make the repository, show the report, and check the exit code."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "demo"
    _make_repository(folder)
    command = [sys.executable, "-m", "asmevo_gate", "check", "--base", "main", "--head", "faster"]
    print("$ asmevo-gate check --base main --head faster\n", flush=True)
    code = subprocess.run(command, cwd=folder, check=False).returncode
    print(f"\nexit code {code}: the gate {'fails this change, as it should' if code == 1 else 'did not fail'}")
    return 0 if code == 1 else 1


def _make_repository(folder: Path) -> None:
    if folder.exists():
        if not (folder / _MARKER).exists():
            sys.exit(f"{folder} exists and is no demo repository; name another directory")
        shutil.rmtree(folder)
    shutil.copytree(ROOT / "examples" / "kernels", folder / "kernels")
    (folder / _MARKER).write_text("made by tools/demo.py\n")
    _git(folder, "init", "--quiet", "--initial-branch=main")
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "--message", "Add three kernels")
    _git(folder, "checkout", "--quiet", "-b", "faster")
    shutil.copytree(ROOT / "examples" / "change", folder / "kernels", dirs_exist_ok=True)
    _git(
        folder,
        "commit",
        "--quiet",
        "--all",
        "--message",
        "Renumber registers of saxpy, drop a wait of block_sum",
    )


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *_IDENTITY, *arguments], cwd=folder, check=True)


if __name__ == "__main__":
    sys.exit(main())
