"""Programs from npm that judge our files; installed once a machine, outside of the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def npm_program(package: str, version: str, name: str) -> Path:
    """The program ``name`` of a package at a pinned version; skips the test where it cannot be had."""
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed: {package} needs it")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "asmevo-gate-tests" / f"{package.rpartition('/')[2]}-{version}"
    program = folder / "node_modules" / ".bin" / name
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        options = ("--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder))
        command = ["npm", "install", *options, f"{package}@{version}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm install of {package}@{version} takes too long")
        if done.returncode != 0:
            pytest.skip(f"npm cannot install {package}@{version}: {done.stderr.strip()[-200:]}")
    return program


def sarif_multitool() -> Path:
    """Microsoft's validator of SARIF logs. Its install script, which is not run, only makes the program executable."""
    program = npm_program("@microsoft/sarif-multitool", "5.7.0", "sarif-multitool")
    for binary in program.parents[1].glob("@microsoft/sarif-multitool-*/Sarif.Multitool"):
        binary.chmod(0o755)
    return program
