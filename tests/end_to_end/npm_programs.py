"""Programs from npm that judge our files; installed once a machine, outside of the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

_SECONDS = 240


def npm_program(package: str, version: str, name: str) -> Path:
    """The program ``name`` of a package at a pinned version; skips the test where it cannot be had."""
    found = _installed(package, version, name)
    if isinstance(found, str):
        pytest.skip(found)
    return found


@cache
def _installed(package: str, version: str, name: str) -> Path | str:
    """The program, or why there is none: asked once in a process. Installed beside and then renamed, so that test
    processes do not get in each other's way."""
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed: {package} needs it"
    cache_directory = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache_directory / "asmevo-gate-tests" / f"{package.rpartition('/')[2]}-{version}"
    program = folder / "node_modules" / ".bin" / name
    if program.exists():
        return program
    beside = folder.with_name(f"{folder.name}.{os.getpid()}")
    beside.mkdir(parents=True, exist_ok=True)
    options = ("--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(beside))
    try:
        done = subprocess.run(
            ["npm", "install", *options, f"{package}@{version}"],
            capture_output=True, text=True, check=False, timeout=_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"npm install of {package}@{version} takes more than {_SECONDS} s"
    if done.returncode != 0:
        return f"npm cannot install {package}@{version}: {done.stderr.strip()[-200:]}"
    if not folder.exists():
        try:
            beside.rename(folder)
        except OSError:
            return beside / "node_modules" / ".bin" / name
    return program if program.exists() else beside / "node_modules" / ".bin" / name


def sarif_multitool() -> Path:
    """Microsoft's validator of SARIF logs. Its install script, which is not run, only makes the program executable."""
    program = npm_program("@microsoft/sarif-multitool", "5.7.0", "sarif-multitool")
    for binary in program.parents[1].glob("@microsoft/sarif-multitool-*/Sarif.Multitool"):
        binary.chmod(0o755)
    return program
