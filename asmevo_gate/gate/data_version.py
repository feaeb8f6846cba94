"""One digest of all facts that a report rests on: the ISA table, targets, and constraint files."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

_ROOMS = ("isa/data",)


@cache
def data_version() -> str:
    """Changes when any data file of the package changes; 12 hexadecimal digits."""
    digest = hashlib.sha256()
    for room in _ROOMS:
        for entry in sorted(files("asmevo_gate").joinpath(room).iterdir(), key=lambda entry: entry.name):
            if entry.is_file():
                digest.update(entry.name.encode())
                digest.update(entry.read_bytes())
    return digest.hexdigest()[:12]
