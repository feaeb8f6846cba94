"""The parts of an ELF file that a code object is made of, read with bounds checks."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import msgspec

from asmevo_gate.errors import GateError, LimitError

MAX_SECTIONS = 100_000
MAX_SYMBOLS = 1_000_000
MAX_NAME_BYTES = 256 << 20
"""Bytes of all names together: names may share bytes of a table, so that it does not bound them."""

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_MACHINE_AMDGPU = 224
_EXECUTABLE = 4
_NO_DATA, _SYMBOLS, _NOTES, _DYNAMIC_SYMBOLS = 8, 2, 7, 11
_RELOCATABLE = 1


class Section(msgspec.Struct, frozen=True):
    """A section: ``address`` is 0 in a relocatable file."""

    name: str
    kind: int
    flags: int
    address: int
    data: bytes
    link: int

    @property
    def is_code(self) -> bool:
        """True for sections of instructions."""
        return bool(self.flags & _EXECUTABLE) and self.kind != _NO_DATA


class Symbol(msgspec.Struct, frozen=True):
    """A symbol of a section: ``offset`` is within the section; ``kind`` 1 is an object, 2 a function."""

    name: str
    section: int
    offset: int
    size: int
    kind: int


class ElfFile(msgspec.Struct, frozen=True):
    """A 64-bit little-endian AMDGPU ELF file."""

    flags: int
    abi: int
    abi_version: int
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]

    def notes(self) -> Iterator[tuple[str, int, bytes]]:
        """(owner, type, content) of every note."""
        for section in self.sections:
            if section.kind == _NOTES:
                yield from _notes(section.data)


def read_elf(data: bytes, path: str) -> ElfFile:
    """Sections and symbols of a code object.

    Raises:
        GateError: the file is no AMDGPU ELF file, or a table lies outside of it.
        LimitError: more sections or symbols than any code object has.
    """
    try:
        return _read(data, path)
    except (struct.error, _Outside):
        raise GateError("the ELF file is damaged: a table lies outside of it", "build it again", path) from None


class _Outside(Exception):
    """An interval is not inside the file."""


class _Names:
    """Reads names out of string tables, no more than ``MAX_NAME_BYTES`` of them."""

    def __init__(self, path: str, size: int) -> None:
        self._path = path
        self._left = min(MAX_NAME_BYTES, max(16 * size, 1 << 20))

    def text(self, table: bytes, start: int) -> str:
        """The name that starts there.

        Raises:
            LimitError: the names that were read are longer than any linker writes.
        """
        end = table.find(b"\0", start)
        name = table[start : end if end >= 0 else len(table)]
        self._left -= len(name)
        if self._left < 0:
            raise LimitError("the names of the ELF file are much longer than the file", "build it again", self._path)
        return name.decode("utf-8", "replace")


def _read(data: bytes, path: str) -> ElfFile:
    identity, kind, machine, _, _, _, start, flags, _, _, _, entry, count, names = _HEADER.unpack_from(data)
    if identity[:6] != b"\x7fELF\x02\x01" or machine != _MACHINE_AMDGPU:
        raise GateError(
            "no AMDGPU code object (64-bit little-endian ELF, machine 224)", "name a .o, .co or .hsaco", path
        )
    if count > MAX_SECTIONS:
        raise LimitError(f"more than {MAX_SECTIONS} sections", "", path)
    if count and entry != _SECTION.size:
        raise _Outside
    headers = _part(data, start, count * _SECTION.size)
    raw = list(_SECTION.iter_unpack(headers))
    # System V gABI, "Sections": no byte of a file is in more than one. What breaks it would multiply the file.
    if sum(header[5] for header in raw if header[1] != _NO_DATA) > len(data):
        raise GateError("the ELF file is damaged: its sections are larger than it", "build it again", path)
    contents = [b"" if header[1] == _NO_DATA else _part(data, header[4], header[5]) for header in raw]
    text = contents[names] if names < count else b""
    reader = _Names(path, len(data))
    sections = tuple(
        Section(reader.text(text, header[0]), header[1], header[2], header[3], content, header[6])
        for header, content in zip(raw, contents, strict=True)
    )
    relocatable = kind == _RELOCATABLE
    tables = [section for section in sections if section.kind in (_SYMBOLS, _DYNAMIC_SYMBOLS)]
    symbols = {symbol: None for table in tables for symbol in _symbols(table, sections, relocatable, reader, path)}
    found = ElfFile(flags, identity[7], identity[8], sections, tuple(symbols))
    for _ in found.notes():  # a note that lies outside of its section is found here, not by who reads the notes later
        pass
    return found


def _part(data: bytes, start: int, size: int) -> bytes:
    if start > len(data) or size > len(data) - start:
        raise _Outside
    return data[start : start + size]


def _symbols(
    table: Section, sections: tuple[Section, ...], relocatable: bool, reader: _Names, path: str
) -> Iterator[Symbol]:
    count = len(table.data) // _SYMBOL.size
    if count > MAX_SYMBOLS:
        raise LimitError(f"more than {MAX_SYMBOLS} symbols", "", path)
    if table.link >= len(sections):
        raise _Outside
    names = sections[table.link].data
    for number in range(count):
        name, info, _, section, value, size = _SYMBOL.unpack_from(table.data, number * _SYMBOL.size)
        if 0 < section < len(sections):
            offset = value if relocatable else value - sections[section].address
            if 0 <= offset <= len(sections[section].data):
                yield Symbol(reader.text(names, name), section, offset, size, info & 15)


def _notes(data: bytes) -> Iterator[tuple[str, int, bytes]]:
    position = 0
    while position + 12 <= len(data):
        name_size, size, kind = struct.unpack_from("<III", data, position)
        name_at = position + 12
        content_at = name_at + (name_size + 3) // 4 * 4
        name = _part(data, name_at, name_size).rstrip(b"\0").decode("utf-8", "replace")
        yield name, kind, _part(data, content_at, size)
        position = content_at + (size + 3) // 4 * 4
