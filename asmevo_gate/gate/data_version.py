"""One digest of all facts that a report rests on: ISA table, targets, constraint files, fingerprints."""

from __future__ import annotations

import hashlib
from functools import cache

from asmevo_gate.constraints.files import constraint_directory
from asmevo_gate.cost.fingerprint import data_directory
from asmevo_gate.isa.data_files import DIRECTORY


@cache
def data_version() -> str:
    """Changes when any data file of the package changes; 12 hexadecimal digits."""
    digest = hashlib.sha256()
    for room in (DIRECTORY, constraint_directory(), data_directory()):
        for entry in sorted(room.iterdir(), key=lambda entry: entry.name):
            if entry.is_file() and entry.name.endswith((".json", ".z")):
                digest.update(entry.name.encode())
                digest.update(entry.read_bytes())
    return digest.hexdigest()[:12]
