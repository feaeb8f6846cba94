"""``.amdgpu_metadata`` (NT_AMDGPU_METADATA) as data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from asmevo_gate.errors import LimitError
from asmevo_gate.source.statement import Kind, Source, Statement

if TYPE_CHECKING:
    from yaml.events import Event, ScalarEvent

MAX_CHARACTERS = 16_000_000
MAX_DEPTH = 32
MAX_VALUES = 1_000_000
MAX_PATH_CHARACTERS = 128_000_000
"""Of all paths together. Each holds the keys above it, so that long keys would multiply the document."""
MAX_DIGITS = 80
"""A number of 64 bits has fewer characters in any base; what is longer is text, as for LLVM."""


class KernelMetadata(msgspec.Struct, frozen=True):
    """One entry of ``amdhsa.kernels``. ``values`` keeps the document's own keys (``{".vgpr_count": 24}``);
    ``lines`` maps each key to its 1-based line in the file (empty for a code object), keys of arguments
    as ``.args[0].offset``."""

    name: str
    symbol: str
    values: dict[str, Any]
    lines: dict[str, int]


class Metadata(msgspec.Struct, frozen=True):
    """The whole document: ``target`` is ``amdhsa.target`` as written, ``version`` is ``amdhsa.version``.

    ``problems`` say in words, with the line, what could not be read; a malformed document has no kernels.
    """

    target: str | None
    version: tuple[int, ...]
    kernels: tuple[KernelMetadata, ...]
    opening: Statement | None
    problems: tuple[str, ...] = ()


def parse_metadata(source: Source) -> Metadata | None:
    """The metadata document of a file, ``None`` when it has none.

    Raises:
        LimitError: the document is larger or deeper than any compiler writes.
    """
    openings = [
        statement
        for statement in source.besides_instructions
        if statement.kind is Kind.DIRECTIVE and statement.name == ".amdgpu_metadata"
    ]
    if not openings:
        return None
    opening = openings[0]
    problems = [f"line {again.outer_place.line}: a second .amdgpu_metadata block is not read" for again in openings[1:]]
    try:
        document, lines = _read_yaml(opening.rest, opening)
    except _Malformed as reason:
        return Metadata(None, (), (), opening, (str(reason), *problems))
    return metadata_of_document(document, lines, opening, problems)


def metadata_of_document(
    document: object, lines: dict[str, int], opening: Statement | None, problems: list[str]
) -> Metadata:
    """Metadata of a decoded document: YAML text or the MessagePack note of a code object.

    ``lines`` maps paths such as ``amdhsa.kernels[0].vgpr_count`` to lines.
    """
    if not isinstance(document, dict):
        return Metadata(None, (), (), opening, ("the metadata is no map of keys to values", *problems))
    target = document.get("amdhsa.target")
    version = document.get("amdhsa.version", [])
    if not _is_version(version):
        problems.append(f"amdhsa.version is '{version}', not a list of integers")
        version = []
    entries = document.get("amdhsa.kernels", [])
    if not isinstance(entries, list):
        problems.append("amdhsa.kernels is no list")
        entries = []
    kernels = []
    own_lines = _lines_of_kernels(lines)
    for number, entry in enumerate(entries):
        prefix = f"amdhsa.kernels[{number}]"
        at = f"line {lines[prefix]}: " if prefix in lines else ""
        if not isinstance(entry, dict) or not isinstance(entry.get(".name"), str):
            problems.append(f"{at}entry {number} of amdhsa.kernels has no .name")
            continue
        name = entry[".name"]
        symbol = str(entry.get(".symbol", name + ".kd"))
        kernels.append(KernelMetadata(name, symbol, entry, own_lines.get(prefix, {})))
    return Metadata(
        target if isinstance(target, str) else None, tuple(version), tuple(kernels), opening, tuple(problems)
    )


def _lines_of_kernels(lines: dict[str, int]) -> dict[str, dict[str, int]]:
    """The lines of each entry of ``amdhsa.kernels`` by its path, and in it by the rest of the path."""
    found: dict[str, dict[str, int]] = {}
    for path, line in lines.items():
        entry, bracket, key = path.partition("]")
        if key.startswith(".") and entry.startswith("amdhsa.kernels["):
            found.setdefault(entry + bracket, {})[key] = line
    return found


def _is_version(version: object) -> bool:
    return isinstance(version, list) and all(isinstance(part, int) for part in version)


class _Malformed(Exception):
    """The YAML text is not what LLVM's reader accepts."""


_TEXT_KEYS = frozenset(
    (
        ".name", ".symbol", ".type_name", ".value_kind", ".value_type", ".address_space", ".access",
        ".actual_access", ".kind", ".language", ".vec_type_hint", ".device_enqueue_symbol", "amdhsa.target",
        "amdhsa.printf",
    )
)  # fmt: skip
"""Keys whose value is text whatever it looks like: an argument may be called ``n`` or ``1e3``."""

_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|[1-9]\d*|0)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)


def _read_yaml(text: str, opening: Statement) -> tuple[object, dict[str, int]]:
    """The document, and the file's line of each path in it. Works on the flat stream of YAML events, so that
    neither depth nor aliases of a hostile document can cost more than its length."""
    file, first = opening.place.file, opening.place.line + 1
    if len(text) > MAX_CHARACTERS:
        raise LimitError(f"metadata longer than {MAX_CHARACTERS} characters", "", file, opening.place.line)
    from yaml import YAMLError
    from yaml.events import (
        AliasEvent,
        MappingEndEvent,
        MappingStartEvent,
        ScalarEvent,
        SequenceEndEvent,
        SequenceStartEvent,
    )  # fmt: skip

    builder = _Builder()
    try:
        for count, event in enumerate(_events(text)):
            line = first + (event.start_mark.line if event.start_mark else 0)
            if count > MAX_VALUES or len(builder.open) > MAX_DEPTH:
                limit = f"{MAX_VALUES} values" if count > MAX_VALUES else f"{MAX_DEPTH} levels"
                raise LimitError(f"metadata with more than {limit}", "", file, line)
            if isinstance(event, AliasEvent):
                raise _Malformed(f"line {line}: metadata cannot use YAML aliases ('*{event.anchor}')")
            if isinstance(event, ScalarEvent):
                builder.scalar(event, line)
            elif isinstance(event, MappingStartEvent):
                builder.start({}, line)
            elif isinstance(event, SequenceStartEvent):
                builder.start([], line)
            elif isinstance(event, (MappingEndEvent, SequenceEndEvent)):
                builder.open.pop()
    except UnicodeEncodeError:
        raise _Malformed("the metadata is no UTF-8 text") from None
    except YAMLError as error:
        mark: Any = getattr(error, "problem_mark", None)
        where = f"line {first + mark.line}: " if mark else ""
        raise _Malformed(f"{where}the metadata is no valid YAML: {getattr(error, 'problem', error)}") from None
    return builder.document, builder.lines


def _events(text: str) -> Iterator[Event]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    events: Iterator[Event] = yaml.parse(text, Loader=loader)
    return events


class _Open(msgspec.Struct):
    """A map or list that is being filled; ``key`` is the map's key that waits for its value."""

    container: dict[str, object] | list[object]
    path: str
    key: str | None = None
    key_line: int = 0


class _Builder:
    """Puts YAML events together to plain dictionaries and lists."""

    def __init__(self) -> None:
        self.document: object = None
        self.open: list[_Open] = []
        self.lines: dict[str, int] = {}
        self._path_characters = 0

    def start(self, container: dict[str, object] | list[object], line: int) -> None:
        path = self._add(container, line)
        self.open.append(_Open(container, path))

    def scalar(self, event: ScalarEvent, line: int) -> None:
        top = self.open[-1] if self.open else None
        if top and isinstance(top.container, dict) and top.key is None:
            if event.value in top.container:
                raise _Malformed(f"line {line}: key '{event.value}' stands twice in one map")
            top.key, top.key_line = event.value, line
            return
        self._add(_scalar(event, self._text_key()), line)

    def _text_key(self) -> bool:
        for level in reversed(self.open):
            if level.key is not None:
                return level.key in _TEXT_KEYS
        return False

    def _add(self, value: object, line: int) -> str:
        if not self.open:
            self.document = value
            return ""
        top = self.open[-1]
        if isinstance(top.container, list):
            path = f"{top.path}[{len(top.container)}]"
            top.container.append(value)
        elif top.key is None:
            raise _Malformed(f"line {line}: a map or list stands where a key is expected")
        else:
            path = top.path + top.key
            top.container[top.key] = value
            top.key, line = None, top.key_line
        self._path_characters += len(path)
        if self._path_characters > MAX_PATH_CHARACTERS:
            raise LimitError(f"line {line}: metadata whose paths have more than {MAX_PATH_CHARACTERS} characters")
        self.lines[path] = line
        return path


def _scalar(event: ScalarEvent, is_text: bool) -> object:
    """A scalar as LLVM resolves it (msgpack DocNode::fromString): integer, then ``true`` / ``false``, then
    float, else text. YAML 1.1's other booleans (``n``, ``yes``, ``off``) are text."""
    value = event.value
    if is_text or event.tag in ("!str", "tag:yaml.org,2002:str"):
        return value
    if len(value) <= MAX_DIGITS and _INTEGER.fullmatch(value):
        sign, digits = (-1, value[1:]) if value[0] == "-" else (1, value)
        octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
        return sign * int(digits, 8 if octal else 0)
    if value in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return value.lower() == "true"
    return float(value) if _FLOAT.fullmatch(value) else value
