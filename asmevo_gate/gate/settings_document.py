"""Where the settings stand and what their text says: the file that is in force, as a tree that knows its
lines.

YAML and TOML are parsed here and nowhere else. Their parsers are imported only when a file has settings.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from asmevo_gate.errors import GateError, LimitError, UsageError

if TYPE_CHECKING:
    import yaml

YAML_NAME = ".asmevo-gate.yaml"
TOML_NAME = "pyproject.toml"
TOML_TABLE = ("tool", "asmevo-gate")
_MISSPELT = (".asmevo-gate.yml", "asmevo-gate.yaml", "asmevo-gate.yml")

MAX_BYTES = 1 << 20
MAX_DEPTH = 32
MAX_VALUES = 50_000

Reader = Callable[[str], "bytes | None"]
"""The bytes of a file by its path from the root of the repository; ``None`` when there is none."""


class Value(NamedTuple):
    """A value of the settings with the line that it stands on (``None``: not known) and, for a scalar, its
    text."""

    content: str | int | float | bool | list[Value] | dict[str, Value] | None
    line: int | None
    text: str = ""


class Document(NamedTuple):
    """The settings of one file. ``directory`` is where it is, from the root of the repository ("" for the
    root)."""

    file: str
    directory: str
    value: Value


def find_document(start: str, read: Reader) -> Document | None:
    """The settings nearest to the directory ``start`` (from the root, "" for the root itself), or ``None``.

    Raises:
        UsageError: a file with settings is malformed, misnamed, or is not alone in its directory.
        LimitError: a file is too large or too deeply nested.
    """
    here = PurePosixPath(start)
    for directory in (here, *here.parents):
        found = _in_directory("" if str(directory) == "." else str(directory), read)
        if found is not None:
            return found
    return None


def disk_reader(root: Path) -> Reader:
    """Reads files below a directory."""

    def read(path: str) -> bytes | None:
        try:
            with (root / path).open("rb") as file:
                return file.read(MAX_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise GateError(f"cannot be read: {error.strerror}", file=path) from error

    return read


def _in_directory(directory: str, read: Reader) -> Document | None:
    prefix = f"{directory}/" if directory else ""
    for name in _MISSPELT:
        if read(prefix + name) is not None:
            raise UsageError("this file is not read", f"rename it to {YAML_NAME}", file=prefix + name)
    yaml_bytes = read(prefix + YAML_NAME)
    toml_bytes = read(prefix + TOML_NAME)
    # Nearly every project has a pyproject.toml; one that never names the gate is not parsed.
    table = None
    if toml_bytes is not None and b"asmevo" in toml_bytes:
        table = _toml_table(prefix + TOML_NAME, _text(prefix + TOML_NAME, toml_bytes))
    if yaml_bytes is not None and table is not None:
        raise UsageError(
            f"there are settings here and in {prefix + TOML_NAME}; one of them would be ignored",
            "keep one of the two",
            file=prefix + YAML_NAME,
        )
    if table is not None:
        return Document(prefix + TOML_NAME, directory, table)
    if yaml_bytes is not None:
        value = _yaml_value(prefix + YAML_NAME, _text(prefix + YAML_NAME, yaml_bytes))
        return Document(prefix + YAML_NAME, directory, value)
    return None


def _text(file: str, data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise LimitError(f"settings are limited to {MAX_BYTES:,} bytes", "make the file shorter", file=file)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError("not valid UTF-8", "save the file as UTF-8", file=file, line=line) from error


# YAML


def _yaml_value(file: str, text: str) -> Value:
    import yaml

    loader = yaml.CSafeLoader(text) if yaml.__with_libyaml__ else yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return Value({}, 1)
        return _YamlTree(file, loader).value(node, 0)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = " ".join(part for part in (error.context, error.problem) if part)
        line = mark.line + 1 if mark else None
        raise UsageError(f"not valid YAML: {message}", file=file, line=line) from error
    except (yaml.YAMLError, ValueError) as error:
        raise UsageError(f"not valid YAML: {error}", file=file) from error
    finally:
        loader.dispose()


class _YamlTree:
    """Turns YAML nodes into values. Aliases are followed, so the number of values is limited, not of
    nodes."""

    def __init__(self, file: str, loader: Any) -> None:
        self._file = file
        self._loader = loader
        self._count = 0

    def value(self, node: yaml.Node, depth: int) -> Value:
        import yaml

        line = node.start_mark.line + 1
        self._count += 1
        if depth > MAX_DEPTH or self._count > MAX_VALUES:
            limit = f"{MAX_DEPTH} levels" if depth > MAX_DEPTH else f"{MAX_VALUES:,} values"
            raise LimitError(f"settings are limited to {limit}", "make the file simpler", self._file, line)
        if isinstance(node, yaml.MappingNode):
            return Value(self._mapping(node, depth), line)
        if isinstance(node, yaml.SequenceNode):
            return Value([self.value(item, depth + 1) for item in node.value], line)
        try:
            content = self._loader.construct_object(node)
        except (ArithmeticError, AttributeError, LookupError, ValueError) as error:
            # PyYAML's way of saying that the text does not fit the tag (!!int "", !!bool maybe, !!timestamp now).
            raise UsageError(f"'{node.value[:40]}' is no {node.tag}", "leave the tag out", self._file, line) from error
        if content is not None and not isinstance(content, (str, int, float, bool)):
            content = str(content)  # a date; its text is judged like any other
        return Value(content, line, node.value)

    def _mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.tag == "tag:yaml.org,2002:merge":
                raise UsageError("merge keys (<<) are not read", "write the keys out", self._file, line)
            name = self.value(key, depth + 1)
            if isinstance(name.content, bool) or not isinstance(name.content, str):
                raise UsageError(
                    f"the key {name.text or 'here'} is not text", f'put it in quotes: "{name.text}"', self._file, line
                )
            if name.content in found:
                raise UsageError(f"'{name.content}' is set twice", "keep one of the two", self._file, line)
            inner = self.value(value, depth + 1)
            found[name.content] = Value(inner.content, line, inner.text)
        return found


# TOML


def _toml_table(file: str, text: str) -> Value | None:
    """The gate's table of a TOML file; ``None`` when it has none."""
    # The standard library's parser is younger than Python 3.10; tomli is the same one.
    tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    # The parser's time grows with the square of the parts of a key.
    if deep := re.search(_DEEP_KEY, text):
        place = text.count("\n", 0, deep.start()) + 1
        raise LimitError(f"keys are limited to {MAX_DEPTH} parts", "make the file simpler", file, place)
    try:
        content: Any = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        match = re.search(r"line (\d+)", str(error))
        line = int(match[1]) if match else None
        raise UsageError(f"not valid TOML: {error}", file=file, line=line) from error
    for key in TOML_TABLE:
        if not isinstance(content, dict) or key not in content:
            return None
        content = content[key]
    return _toml_value(content, TOML_TABLE, _toml_lines(text), file, 0)


def _toml_value(content: Any, path: tuple[str, ...], lines: dict[tuple[str, ...], int], file: str, depth: int) -> Value:
    line = next((lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in lines), None)
    if depth > MAX_DEPTH:
        raise LimitError(f"settings are limited to {MAX_DEPTH} levels", "make the file simpler", file, line)
    if isinstance(content, dict):
        table = {key: _toml_value(inner, (*path, key), lines, file, depth + 1) for key, inner in content.items()}
        return Value(table, line)
    if isinstance(content, list):
        items = [_toml_value(inner, (*path, str(at)), lines, file, depth + 1) for at, inner in enumerate(content)]
        return Value(items, line)
    if not isinstance(content, (str, int, float, bool)):
        content = str(content)
    return Value(content, line, str(content).lower() if isinstance(content, bool) else str(content))


_KEY = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"


_DEEP_KEY = rf"(?m)^[ \t]*\[{{0,2}}[ \t]*(?:{_KEY}[ \t]*\.[ \t]*){{{MAX_DEPTH}}}"


def _toml_lines(text: str) -> dict[tuple[str, ...], int]:
    """The line of each key, as far as single lines show it (the standard parser gives no positions)."""
    table_header = re.compile(rf"^\s*(\[\[?)\s*({_DOTTED})\s*\]")
    key_and_value = re.compile(rf"^\s*({_DOTTED})\s*=")
    lines: dict[tuple[str, ...], int] = {}
    tables: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := table_header.match(line):
            table = _toml_path(header[2])
            if header[1] == "[[":
                count = tables.get(table, -1) + 1
                tables[table] = count
                lines.setdefault(table, number)
                table = (*table, str(count))
            lines.setdefault(table, number)
        elif key := key_and_value.match(line):
            lines.setdefault((*table, *_toml_path(key[1])), number)
    return lines


def _toml_path(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_KEY, dotted))
