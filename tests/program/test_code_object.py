"""Code objects: what is read from them, and damaged ones."""

from __future__ import annotations

import io
import struct

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from asmevo_gate.errors import GateError, LimitError
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program import msgpack
from asmevo_gate.program.code_object import (
    CodeObject,
    CodeSection,
    MachineInstruction,
    assembly_text,
    read_code_objects,
)
from asmevo_gate.program.descriptor import parse_descriptors
from asmevo_gate.program.elf import read_elf
from asmevo_gate.program.file_kind import is_code_object
from asmevo_gate.program.metadata import parse_metadata
from asmevo_gate.source.parser import parse_source
from tests.program.code_objects import assembled, needs_assembler


def bundle(*entries: tuple[str, bytes]) -> bytes:
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries))
    position = len(head) + sum(24 + len(name) for name, _ in entries)
    body = b""
    for name, content in entries:
        head += struct.pack("<QQQ", position + len(body), len(content), len(name)) + name.encode()
        body += content
    return head + body


@needs_assembler
def test_target_descriptor_metadata_and_functions_are_read() -> None:
    (found,) = read_code_objects(assembled(), "k.o")
    assert found.target.name == "gfx90a"
    assert not found.problems
    values = found.descriptors["k"]
    assert values["next_free_vgpr"] == 20
    assert values["accum_offset"] == 12
    assert values["group_segment_fixed_size"] == 1024
    assert values["user_sgpr_kernarg_segment_ptr"] == 1
    assert values["system_vgpr_workitem_id"] == 2
    assert values["tg_split"] == 1
    assert isinstance(found.metadata, dict)
    assert found.metadata["amdhsa.kernels"][0][".vgpr_count"] == 20
    (section,) = found.sections
    assert section.functions == {"k": (0, 32)}


@needs_assembler
def test_the_text_of_a_code_object_parses_back() -> None:
    (found,) = read_code_objects(assembled(), "k.o")
    texts = ["s_load_dwordx2 s[2:3], s[0:1], 0x0", "v_mov_b32_e32 v1, 0x12345678", "s_cmp_eq_u32 s2, 0",
             "s_cbranch_scc1 1", "v_add_u32_e32 v0, 1, v1", "s_endpgm"]  # fmt: skip
    sizes = [8, 8, 4, 4, 4, 4]
    instructions = [MachineInstruction(sum(sizes[:i]), sizes[i], text) for i, text in enumerate(texts)]
    instructions.append(MachineInstruction(32, 4, "s_nop 0"))
    text = assembly_text(found, {".text": instructions})
    assert "s_cbranch_scc1 .L1c" in text
    assert ".L1c:\n\ts_endpgm" in text
    assert "s_nop" not in text
    source = parse_source("k.o", text)
    assert parse_descriptors(source, found.target)["k"].values == found.descriptors["k"]
    metadata = parse_metadata(source)
    assert metadata is not None
    assert metadata.kernels[0].values == found.metadata["amdhsa.kernels"][0]  # type: ignore[index]


@needs_assembler
def test_our_reader_finds_what_pyelftools_finds() -> None:
    data = assembled()
    ours = read_elf(data, "k.o")
    theirs = ELFFile(io.BytesIO(data))
    assert [section.name for section in ours.sections] == [section.name for section in theirs.iter_sections()]
    assert ours.flags == theirs.header["e_flags"]
    table = theirs.get_section_by_name(".symtab")
    assert isinstance(table, SymbolTableSection)
    names = {symbol.name for symbol in table.iter_symbols() if isinstance(symbol["st_shndx"], int)}
    assert {symbol.name for symbol in ours.symbols} == names


@needs_assembler
def test_a_bundle_gives_each_gpu_entry() -> None:
    data = assembled()
    found = read_code_objects(bundle(("host-x86_64-unknown-linux-gnu", b""), ("hipv4-amdgcn-amd-amdhsa--gfx90a", data),
                                     ("hipv4-amdgcn-amd-amdhsa--gfx906", b"")), "k.co")  # fmt: skip
    assert [code_object.entry for code_object in found] == ["hipv4-amdgcn-amd-amdhsa--gfx90a"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"CCOB" + bytes(40), "compressed"),
        (b"__CLANG_OFFLOAD_BUNDLE__\xff", "damaged"),
        (b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<QQQQ", 1, 5000, 10, 3) + b"amdgcn", "damaged"),
        (b"\x7fELF", "damaged"),
        (b"\x7fELF\x02\x01" + bytes(70), "no AMDGPU"),
        (b"\x7fELF\x01\x01" + bytes(70), "no AMDGPU"),
    ],
)
def test_damaged_files_are_errors_with_a_reason(data: bytes, words: str) -> None:
    with pytest.raises(GateError, match=words):
        read_code_objects(data, "k.co")


def test_a_bundle_with_too_many_entries_hits_the_limit() -> None:
    with pytest.raises(LimitError, match="entries"):
        read_code_objects(b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 1 << 60), "k.co")


def test_file_kinds_are_told_by_their_first_bytes() -> None:
    assert is_code_object(b"CCOB")
    assert not is_code_object(b"\x7fELF" + bytes(14) + b"\x3e\0")
    assert not is_code_object(b"\ts_endpgm\n")


@needs_assembler
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@example([(47, 128)], 0)
@given(st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), min_size=1, max_size=8), st.integers(0, 4000))
def test_any_damage_is_an_answer_or_a_gate_error(changes: list[tuple[int, int]], cut: int) -> None:
    data = bytearray(_object())
    for position, value in changes:
        data[position % len(data)] = value
    try:
        found = read_code_objects(bytes(data[: len(data) - cut % 200]), "k.o")
    except GateError:
        return
    for code_object in found:
        assert assembly_text(code_object, {})


_cache: list[bytes] = []


def _object() -> bytes:
    if not _cache:
        _cache.append(assembled())
    return _cache[0]


def test_names_cannot_add_lines() -> None:
    hostile = 'k:\n.include "/etc/passwd"\n'
    section = CodeSection(".text\n.data", bytes(4), {hostile: (0, 4)})
    code_object = CodeObject("k.co", "", find_target("gfx906"), (section,), {hostile: {}}, {hostile: hostile}, ())
    text = assembly_text(code_object, {section.name: [MachineInstruction(0, 4, "s_endpgm")]})
    lines = text.splitlines()
    assert not any(line.strip().startswith(".include") for line in lines)
    assert lines.count("symbol_1:") == 1


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"\x82\xa1a\x01\xa1b\x93\xc0\xc2\xc3", {"a": 1, "b": [None, False, True]}),
        (b"\xcd\x01\x00", 256), (b"\xd1\xff\x00", -256), (b"\xff", -1), (b"\xd9\x02hi", "hi"),
        (b"\xcb\x3f\xf8" + bytes(6), 1.5), (b"\xdc\x00\x01\x05", [5]), (b"\xc4\x01\x07", b"\x07"),
    ],
)  # fmt: skip
def test_message_pack_values(data: bytes, value: object) -> None:
    assert msgpack.decode(data) == value


@pytest.mark.parametrize(
    "data", [b"", b"\xdd\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\xc7\x01\x01\x01", b"\x81\x01\x01"]
)
def test_message_pack_that_lies_about_lengths_is_malformed(data: bytes) -> None:
    with pytest.raises(msgpack.Malformed):
        msgpack.decode(data)


def test_deep_message_pack_hits_the_limit() -> None:
    with pytest.raises(LimitError, match="levels"):
        msgpack.decode(b"\x91" * 10_000)
