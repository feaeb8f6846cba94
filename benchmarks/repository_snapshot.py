"""The assembly files of a git clone (bare or not), written to a directory with the files that they may include."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from asmevo_gate.changes.patterns import patterns

SOURCES = ("*.s", "*.S", "*.asm")
OBJECTS = ("*.co", "*.hsaco")
INCLUDED = ("*.inc", "*.inl", "*.macro")
DELETED = "_deleted"
"""Folder below the snapshot for files that only the history holds."""


@dataclass(frozen=True)
class Snapshot:
    """``files`` are the sampled assembly files below ``root``; ``found`` says how many there are without sampling."""

    root: Path
    commit: str
    date: str
    files: tuple[str, ...]
    found: int


def take_snapshot(clone: Path, root: Path, sample: dict[str, int], deleted: bool) -> Snapshot:
    """Write the newest commit's assembly files below ``root``; with ``deleted`` also the last version of each
    assembly source that the history holds but the commit does not, below ``_deleted/``."""
    commit, date = _git(clone, "log", "-1", "--format=%H %cs").split()
    listed = _git(clone, "ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")
    places = {path: f"HEAD:{path}" for path in listed if path}
    if deleted:
        places |= {f"{DELETED}/{path}": f"{gone}^:{path}" for path, gone in _deleted_files(clone, set(places))}
    assembly = patterns((*SOURCES, *OBJECTS))
    found = sorted(path for path in places if assembly.matches(path))
    files = sampled(found, sample)
    included = patterns(INCLUDED)
    wanted = [*files, *(path for path in places if included.matches(path))]
    _write_blobs(clone, [(root / path, places[path]) for path in wanted])
    return Snapshot(root, commit, date, tuple(path for path in files if (root / path).is_file()), len(found))


def sampled(files: Iterable[str], sample: dict[str, int]) -> list[str]:
    """Every Nth file of those that a glob matches, from the first on; all of those that none matches."""
    steps = [(patterns((glob,)), step) for glob, step in sample.items()]
    seen = [0] * len(steps)
    chosen = []
    for path in files:
        number = next((at for at, (glob, _) in enumerate(steps) if glob.matches(path)), None)
        if number is None:
            chosen.append(path)
            continue
        if seen[number] % steps[number][1] == 0:
            chosen.append(path)
        seen[number] += 1
    return chosen


def _deleted_files(clone: Path, present: set[str]) -> Iterator[tuple[str, str]]:
    """(path, commit that deleted it last)."""
    globs = [f":(top,glob)**/{name}" for name in (*SOURCES, *INCLUDED)]
    log = _git(clone, "log", "--diff-filter=D", "--no-renames", "--format=%x01%H", "--name-only", "-z", "--", *globs)
    seen = set(present)
    for entry in log.split("\1")[1:]:
        commit, *paths = (part.strip("\n") for part in entry.split("\0"))
        for path in paths:
            if path and path not in seen:
                seen.add(path)
                yield path, commit


def _write_blobs(clone: Path, wanted: list[tuple[Path, str]]) -> None:
    """Write each object (a ``git cat-file`` name) to its path; one that the clone lacks is left out."""
    names = "".join(f"{name}\n" for _, name in wanted)
    command = ["git", "-C", str(clone), "cat-file", "--batch"]
    data = subprocess.run(command, input=names.encode(), stdout=subprocess.PIPE, check=True).stdout
    at = 0
    for path, _ in wanted:
        end = data.index(b"\n", at)
        header = data[at:end].rsplit(b" ", 2)
        at = end + 1
        if header[-2:-1] != [b"blob"]:
            continue
        size = int(header[-1])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data[at : at + size])
        at += size + 1


def _git(clone: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(clone), *arguments], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "surrogateescape")
