"""What a result depends on beside the files: the gate's own code and data, Python, and the LLVM tools at hand."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path

import asmevo_gate
from asmevo_gate import __version__
from asmevo_gate.constraints.files import constraint_directory
from asmevo_gate.cost.fingerprint import data_directory
from asmevo_gate.verify.discovery import tool_files

_OPTIONAL = ("numpy", "onnxruntime", "llvmlite", "bitwuzla")
"""Packages that choose between two ways to the same result: nothing is taken from a run that went the other way."""


@cache
def code_version() -> str:
    """SHA-256 of the version, of Python's, and of every file of the package and of its data: two gates with the same
    one give the same results where they have the same tools."""
    digest = hashlib.sha256(f"{__version__} {platform.python_version()} {platform.machine()}".encode())
    for name in _OPTIONAL:
        digest.update(f" {name}:{find_spec(name) is not None}".encode())
    for name, content in _files():
        digest.update(f"\0{name}\0{len(content)}\0".encode("utf-8", "surrogateescape"))
        digest.update(content)
    return digest.hexdigest()


@cache
def tools_version() -> str:
    """SHA-256 of the LLVM tools that may be used: path, size and time of change. They are not started for it."""
    digest = hashlib.sha256()
    for file in tool_files():
        digest.update(file.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()


def _files() -> Iterator[tuple[str, bytes]]:
    package = Path(asmevo_gate.__file__).parent
    for place in sorted({package, constraint_directory(), data_directory()}):
        yield from _files_below(str(place), place.name)


def _files_below(folder: str, name: str) -> Iterator[tuple[str, bytes]]:
    """The files of a folder, in one order everywhere. ``Path.rglob`` would take longer than reading them."""
    with os.scandir(folder) as found:
        entries = sorted(found, key=attrgetter("name"))
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name != "__pycache__":
                yield from _files_below(entry.path, f"{name}/{entry.name}")
        elif entry.is_file() and not entry.name.endswith(".pyc"):
            yield f"{name}/{entry.name}", Path(entry.path).read_bytes()
