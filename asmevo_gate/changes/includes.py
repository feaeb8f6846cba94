"""Assembly files whose own text is unchanged, but which include a file that changed.

An include directive is compared by the tail of its path: ``.include "../common/tile.inc"`` may mean any file
``.../common/tile.inc``. That finds a file too many rather than one too few. A name that a macro puts together
cannot be found.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from asmevo_gate.changes.objects import Objects
from asmevo_gate.changes.patterns import Patterns
from asmevo_gate.changes.repository import Repository, decode_path
from asmevo_gate.changes.sides import Entry, Listing

_DIRECTIVE = rb"""(?i)(\.include|\.incbin|\#[ \t]*include)[ \t]*["<]([^"<>\n]+)[">]"""


def including_files(
    repository: Repository,
    objects: Objects,
    listing: Listing,
    commit: str | None,
    changed: Collection[str],
    assembly: Patterns,
) -> dict[str, str]:
    """The assembly files that include a changed file, each with the included file that makes it one of them.

    Includes are followed from the assembly files of ``commit`` (``None``: the index), which ``listing`` lists.
    """
    sources = _files_with_includes(repository, commit, assembly)
    if not sources:
        return {}
    includers = _Includes(objects, listing.entries(), changed).includers(sources)
    found: dict[str, str] = {}
    seen = set(changed)
    pending = sorted(changed)
    while pending:
        included = pending.pop()
        for includer in sorted(includers.get(included, ())):
            if includer not in seen:
                seen.add(includer)
                pending.append(includer)
                if assembly.matches(includer):
                    found[includer] = included
    return found


def _files_with_includes(repository: Repository, commit: str | None, assembly: Patterns) -> list[str]:
    """Assembly files in whose text an include directive may be."""
    where = ["--cached"] if commit is None else [commit]
    command = ("grep", "--no-color", "--no-recurse-submodules", "--full-name", "-l", "-z", "-a", "-i", "-F")
    words = ("-e", "include", "-e", ".incbin")
    out = repository.run(*command, *words, *where, "--", *assembly.pathspecs(), accept=(0, 1))
    prefix = b"" if commit is None else commit.encode("ascii") + b":"
    return sorted(decode_path(path.removeprefix(prefix)) for path in out.split(b"\0") if path)


class _Includes:
    """Who includes whom, among files that can be reached from some sources."""

    def __init__(self, objects: Objects, entries: dict[str, Entry], changed: Collection[str]) -> None:
        self._objects = objects
        self._entries = entries
        self._by_name: dict[str, list[str]] = {}
        for path in {*entries, *changed}:  # a deleted file is still included
            self._by_name.setdefault(path.rpartition("/")[2], []).append(path)

    def includers(self, sources: Iterable[str]) -> dict[str, set[str]]:
        """The files that may include each file."""
        found: dict[str, set[str]] = {}
        pending = list(sources)
        seen = set(pending)
        while pending:
            includer = pending.pop()
            for included, is_text in self._included_by(includer):
                found.setdefault(included, set()).add(includer)
                if is_text and included not in seen:
                    seen.add(included)
                    pending.append(included)
        return found

    def _included_by(self, path: str) -> Iterable[tuple[str, bool]]:
        """What a file may include; and whether it is read as text, and not as bytes by ``.incbin``."""
        entry = self._entries.get(path)
        if entry is None or not entry.is_file:
            return
        for match in re.finditer(_DIRECTIVE, self._objects.read(entry.identifier, path)):
            parts = decode_path(match[2]).replace("\\", "/").split("/")
            tail = "/".join(part for part in parts if part not in ("", ".", ".."))
            is_text = match[1].lower() != b".incbin"
            for candidate in self._by_name.get(tail.rpartition("/")[2], ()):
                if f"/{candidate}".endswith(f"/{tail}"):
                    yield candidate, is_text
