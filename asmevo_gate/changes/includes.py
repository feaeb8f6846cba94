"""Assembly files whose own text is unchanged, but which include a file that changed.

An include directive is compared by the tail of its path: ``.include "../common/tile.inc"`` may mean any
changed file ``.../common/tile.inc``. That finds a file too many rather than one too few. A name that a
macro puts together cannot be found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from asmevo_gate.changes.model import Selection
from asmevo_gate.changes.objects import Objects
from asmevo_gate.changes.patterns import Patterns, patterns
from asmevo_gate.changes.repository import Repository, decode_path, encode_path
from asmevo_gate.changes.sides import Listing

_DIRECTIVE = re.compile(rb"""(?:\.include|\.incbin|\#[ \t]*include)[ \t]*["<]([^"<>\n]+)[">]""", re.IGNORECASE)


def including_files(
    repository: Repository,
    objects: Objects,
    listing: Listing,
    commit: str | None,
    changed: Iterable[str],
    selection: Selection,
) -> dict[str, str]:
    """The changed file that each assembly file includes, directly or through others, by the path of the
    latter.

    ``commit`` is searched, and ``listing`` lists it; ``None`` is the index.
    """
    sources = patterns(selection.assembly)
    searched = Patterns((*selection.assembly, *selection.included))
    seen = set(changed)
    found: dict[str, str] = {}
    pending = seen
    while pending:
        hits = _including(repository, objects, listing, commit, pending, searched)
        new = {path: cause for path, cause in hits.items() if path not in seen}
        found.update((path, cause) for path, cause in new.items() if sources.matches(path))
        seen |= new.keys()
        pending = set(new)
    return found


def _including(
    repository: Repository,
    objects: Objects,
    listing: Listing,
    commit: str | None,
    changed: set[str],
    searched: Patterns,
) -> dict[str, str]:
    """Files of ``commit`` that hold an include directive for one of the changed files."""
    by_name: dict[bytes, list[bytes]] = {}
    for path in changed:
        raw = encode_path(path)
        name = raw.rpartition(b"/")[2]
        if b"\n" not in name:
            by_name.setdefault(name, []).append(raw)
    found: dict[str, str] = {}
    for candidate in _mentioning(repository, commit, by_name, searched):
        entry = listing.entries().get(candidate)
        if entry is None or not entry.is_file:
            continue
        for match in _DIRECTIVE.finditer(objects.read(entry.identifier, candidate)):
            included = b"/".join(
                part for part in match[1].replace(b"\\", b"/").split(b"/") if part not in (b"", b".", b"..")
            )
            same_name = by_name.get(included.rpartition(b"/")[2], ())
            cause = next((path for path in same_name if (b"/" + path).endswith(b"/" + included)), None)
            if cause is not None:
                found[candidate] = decode_path(cause)
                break
    return found


def _mentioning(repository: Repository, commit: str | None, names: Iterable[bytes], searched: Patterns) -> list[str]:
    """Files of ``commit`` in whose text one of the names occurs."""
    where = ["--cached"] if commit is None else [commit]
    command = (
        "grep",
        "--no-color",
        "--no-recurse-submodules",
        "--full-name",
        "-l",
        "-z",
        "-F",
        "-f",
        "-",
        *where,
        "--",
    )
    out = repository.run(*command, *searched.pathspecs(), standard_input=b"\n".join(names) + b"\n", accept=(0, 1))
    prefix = b"" if commit is None else commit.encode("ascii") + b":"
    return sorted(decode_path(path.removeprefix(prefix)) for path in out.split(b"\0") if path)
