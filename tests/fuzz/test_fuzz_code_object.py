"""No bytes make the readers of code objects crash, hang or take memory out of proportion to the file."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asmevo_gate.errors import GateError, LimitError
from asmevo_gate.program import msgpack
from asmevo_gate.program.code_object import assembly_text, read_code_objects
from asmevo_gate.program.elf import read_elf
from asmevo_gate.program.file_kind import is_code_object
from asmevo_gate.source.parser import parse_source
from tests.fuzz.mutation import damaged_bytes
from tests.program.code_objects import assembled, needs_assembler

_QUICK = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_GFX90A = 0x3F


@cache
def _good() -> bytes:
    return assembled()


def _read(data: bytes) -> None:
    """What a run does with a code object before it is disassembled."""
    is_code_object(data)
    try:
        for found in read_code_objects(data, "fuzz.o"):
            parse_source("fuzz.o", assembly_text(found, {}))
    except GateError as error:
        assert error.message


@needs_assembler
@_QUICK
@given(st.data())
def test_a_damaged_code_object_is_read_or_refused(data: st.DataObject) -> None:
    _read(data.draw(damaged_bytes(_good())))


@needs_assembler
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_bundle_of_damaged_parts_is_read_or_refused(data: st.DataObject) -> None:
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<QQQQ", 1, 96, len(_good()), 27)
    bundle = (head + b"hipv4-amdgcn-amd-amdhsa--gfx90a").ljust(96, b"\0") + _good()
    _read(data.draw(damaged_bytes(bundle)))


@_QUICK
@given(st.binary(max_size=400), st.sampled_from((b"", b"\x7fELF\x02\x01", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB")))
def test_random_bytes_are_read_or_refused(data: bytes, magic: bytes) -> None:
    _read(magic + data)


@_QUICK
@given(st.binary(max_size=200))
def test_random_bytes_are_messagepack_or_malformed(data: bytes) -> None:
    try:
        msgpack.decode(data)
    except (msgpack.Malformed, LimitError) as error:
        assert str(error)


def _elf(sections: list[tuple[int, int, int, int, int, int]], body: bytes) -> bytes:
    """An AMDGPU ELF file: ``sections`` are (name, type, flags, offset in ``body``, size, link)."""
    start = _HEADER.size + len(body)
    header = _HEADER.pack(
        b"\x7fELF\x02\x01\x01\x40\x04".ljust(16, b"\0"), 3, 224, 1, 0, 0, start, _GFX90A, 64, 0, 0, 64, len(sections), 1
    )
    table = b"".join(
        _SECTION.pack(name, kind, flags, 0, _HEADER.size + offset, size, link, 0, 1, 0)
        for name, kind, flags, offset, size, link in sections
    )
    return header + body + table


def _sections_over_each_other() -> bytes:
    return _elf([(0, 1, 4, 0, 100_000, 0)] * 20_000, bytes(100_000))


def _names_over_each_other() -> bytes:
    symbols = _SYMBOL.pack(0, 2, 0, 1, 0, 0) + b"".join(_SYMBOL.pack(at, 2, 0, 1, 0, 0) for at in range(20_000))
    names = b"a" * 200_000
    return _elf(
        [(0, 1, 4, 0, 0, 0), (0, 1, 4, 0, 0, 0), (0, 2, 0, 0, len(symbols), 3), (0, 3, 0, len(symbols), 200_000, 0)],
        symbols + names,
    )


def _section_names_over_each_other() -> bytes:
    return _elf([(0, 1, 0, 0, 0, 0), (0, 3, 0, 0, 200_000, 0), *[(at, 1, 0, 0, 0, 0) for at in range(20_000)]],
                b"a" * 200_000)  # fmt: skip


def _bundle_entries_over_each_other() -> bytes:
    part = _elf([(0, 1, 4, 0, 400_000, 0), (0, 3, 0, 400_000, 1, 0)], bytes(400_001))
    table = 32 + 1000 * (24 + 6)
    entries = struct.pack("<QQQ", table, len(part), 6) + b"amdgcn"
    return b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 1000) + entries * 1000 + part


@pytest.mark.parametrize(
    "make",
    [
        _sections_over_each_other,
        _names_over_each_other,
        _section_names_over_each_other,
        _bundle_entries_over_each_other,
    ],
)
def test_parts_that_lie_over_each_other_do_not_multiply_the_file(make: Callable[[], bytes]) -> None:
    data = make()
    tracemalloc.start()
    try:
        with pytest.raises(GateError):
            read_code_objects(data, "fuzz.o")
        assert tracemalloc.get_traced_memory()[1] < 40 * len(data) + 20_000_000
    finally:
        tracemalloc.stop()


def test_many_sections_and_symbols_are_sorted_once() -> None:
    """As many sections of code as symbols: the work must not be their product."""
    symbols = b"".join(_SYMBOL.pack(0, 2, 0, 1, 0, at) for at in range(30_000))
    sections = [(0, 1, 4, 0, 0, 0)] * 20_000
    sections[0] = (0, 2, 0, 0, len(symbols), 1)
    (found,) = read_code_objects(_elf(sections, symbols + b"\0"), "fuzz.o")
    assert len(found.sections) == 19_999
    assert read_elf(_elf(sections, symbols + b"\0"), "fuzz.o").sections[1].is_code
