"""MessagePack as code objects use it: a reader that trusts no length in the data."""

from __future__ import annotations

import struct

from asmevo_gate.errors import LimitError

MAX_DEPTH = 32

_FIXED = {
    0xCA: (">f", 4), 0xCB: (">d", 8), 0xCC: (">B", 1), 0xCD: (">H", 2), 0xCE: (">I", 4), 0xCF: (">Q", 8),
    0xD0: (">b", 1), 0xD1: (">h", 2), 0xD2: (">i", 4), 0xD3: (">q", 8),
}  # fmt: skip
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
_LENGTHS = {
    0xC4: ("bytes", 1), 0xC5: ("bytes", 2), 0xC6: ("bytes", 4), 0xD9: ("text", 1), 0xDA: ("text", 2),
    0xDB: ("text", 4), 0xDC: ("list", 2), 0xDD: ("list", 4), 0xDE: ("map", 2), 0xDF: ("map", 4),
}  # fmt: skip


class Malformed(Exception):
    """The bytes are no MessagePack value."""


def decode(data: bytes) -> object:
    """The value that starts at the first byte.

    Raises:
        Malformed: the data ends too early or uses an extension type.
        LimitError: nested deeper than ``MAX_DEPTH``.
    """
    return _Reader(data).value(0)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._next = 0

    def _take(self, count: int) -> bytes:
        if count > len(self._data) - self._next:
            raise Malformed("the data ends inside a value")
        self._next += count
        return self._data[self._next - count : self._next]

    def value(self, depth: int) -> object:
        if depth > MAX_DEPTH:
            raise LimitError(f"metadata nested deeper than {MAX_DEPTH} levels")
        first = self._take(1)[0]
        if first <= 0x7F:
            return first
        if first >= 0xE0:
            return first - 256
        if first in _CONSTANTS:
            return _CONSTANTS[first]
        if first in _FIXED:
            layout, size = _FIXED[first]
            number: int | float = struct.unpack(layout, self._take(size))[0]
            return number
        if first in _LENGTHS:
            kind, size = _LENGTHS[first]
            return self._sized(kind, int.from_bytes(self._take(size), "big"), depth)
        if first <= 0x8F:
            return self._sized("map", first & 15, depth)
        if first <= 0x9F:
            return self._sized("list", first & 15, depth)
        if first <= 0xBF:
            return self._sized("text", first & 31, depth)
        raise Malformed(f"type 0x{first:02x} is not used in metadata")

    def _sized(self, kind: str, count: int, depth: int) -> object:
        if kind == "bytes":
            return self._take(count)
        if kind == "text":
            return self._take(count).decode("utf-8", "replace")
        if kind == "list":
            return [self.value(depth + 1) for _ in range(count)]
        found: dict[str, object] = {}
        for _ in range(count):
            key = self.value(depth + 1)
            if not isinstance(key, str):
                raise Malformed("a key is no text")
            found[key] = self.value(depth + 1)
        return found
