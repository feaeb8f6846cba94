"""Assembling with the tools of this machine, and what goes wrong."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from asmevo_gate.isa.targets import find_target, parse_target
from asmevo_gate.program.code_object import assembly_text, read_code_objects
from asmevo_gate.verify.assembler import (
    Assembled,
    AssemblyErrors,
    NotAssembled,
    assemble,
    find_assembler,
    parse_messages,
)
from asmevo_gate.verify.disassembler import Disassembled, disassemble, elf_with_code, find_disassembler
from asmevo_gate.verify.discovery import Rejected, Tool, find_tools, probe

GFX90A = find_target("gfx90a")
FOUND = find_assembler(GFX90A)
needs_assembler = pytest.mark.skipif(isinstance(FOUND, NotAssembled), reason="no AMDGPU assembler (clang-22, ziglang)")
DISASSEMBLER = find_disassembler()
needs_disassembler = pytest.mark.skipif(
    not isinstance(DISASSEMBLER, Tool), reason="no AMDGPU disassembler (llvm-objdump-22)"
)


def tool() -> Tool:
    assert isinstance(FOUND, Tool)
    return FOUND


def fake(directory: Path, name: str, script: str) -> Path:
    path = directory / name
    path.write_text(f"#!{sys.executable}\n{script}\n")
    path.chmod(0o755)
    return path


@needs_assembler
def test_a_good_file_gives_an_object_and_names_the_tool() -> None:
    result = assemble('.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"\ns_endpgm\n', GFX90A, tool())
    assert isinstance(result, Assembled)
    assert result.object.startswith(b"\x7fELF")
    assert result.tool.version[0].isdigit()


@needs_assembler
def test_errors_have_places_and_macro_uses() -> None:
    text = "s_endpgm\n v_foo v0\n.macro m a\n v_add_f32 v0, \\a\n.endm\n.macro outer\n m v1\n.endm\n  outer\n"
    result = assemble(text, GFX90A, tool())
    assert isinstance(result, AssemblyErrors)
    first, second = result.messages
    assert (first.line, first.column, first.text) == (2, 2, "invalid instruction")
    assert second.line == 9
    assert "too few operands" in second.text
    assert len(second.notes) == 2
    assert not result.newer


@needs_assembler
def test_the_new_spelling_of_the_target_is_blanked_and_remembered() -> None:
    text = '\t.amdgcn_target "amdgpu9.0a-amd-amdhsa-unknown-gfx90a"\ns_endpgm\n'
    assert isinstance(assemble(text, GFX90A, tool()), Assembled)
    result = assemble(text + "v_newer_than_all v0\n", GFX90A, tool())
    assert isinstance(result, AssemblyErrors)
    assert result.newer
    assert result.messages[0].line == 3


@needs_assembler
def test_the_features_of_the_file_reach_the_assembler() -> None:
    text = '.amdgcn_target "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"\ns_endpgm\n'
    assert isinstance(assemble(text, GFX90A, tool()), Assembled)
    other = assemble(text, parse_target("gfx942"), tool())
    assert isinstance(other, AssemblyErrors)


@needs_assembler
def test_wave_size_symbols_and_includes_are_passed_on(tmp_path: Path) -> None:
    gfx1100 = find_target("gfx1100")
    found = find_assembler(gfx1100)
    assert isinstance(found, Tool)
    dual = "v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v3, v2\n"
    assert isinstance(assemble(dual, gfx1100, found), Assembled)
    assert isinstance(assemble(dual, gfx1100, found, wave_size=64), AssemblyErrors)
    assert isinstance(assemble("s_nop answer\n", GFX90A, tool(), symbols={"answer": 7}), Assembled)
    (tmp_path / "part.inc").write_text("s_endpgm\n")
    text = '.include "part.inc"\n'
    refused = assemble(text, GFX90A, tool())
    assert isinstance(refused, NotAssembled)
    assert isinstance(assemble(text, GFX90A, tool(), include_directories=[tmp_path]), Assembled)


def test_an_unknown_processor_is_not_assembled(tmp_path: Path) -> None:
    old = Tool("clang", ("clang",), "14.0", frozenset({"gfx906"}), "test")
    result = assemble("s_endpgm\n", GFX90A, old)
    assert isinstance(result, NotAssembled)
    assert "gfx90a" in result.reason


def test_a_tool_that_hangs_or_dies_is_no_verdict(tmp_path: Path) -> None:
    for script, words in (("import time; time.sleep(60)", "did not finish"), ("import os; os.abort()", "signal"),
                          ("raise SystemExit(3)", "code 3")):  # fmt: skip
        path = fake(tmp_path, "clang", script)
        broken = Tool("clang", (str(path),), "1", frozenset(), "test")
        start = time.monotonic()
        result = assemble("s_endpgm\n", GFX90A, broken, timeout=1)
        assert isinstance(result, NotAssembled)
        assert words in result.reason
        assert time.monotonic() - start < 10


def test_memory_is_limited(tmp_path: Path) -> None:
    script = "import sys\ntry:\n  x = bytearray(1 << 31)\nexcept MemoryError:\n  sys.exit('out of memory')"
    path = fake(tmp_path, "clang", script)
    hungry = Tool("clang", (str(path),), "1", frozenset(), "test")
    result = assemble("s_endpgm\n", GFX90A, hungry, memory=1 << 30)
    assert isinstance(result, NotAssembled)
    assert "1024 MiB" in result.reason


@needs_assembler
@pytest.mark.parametrize("text", [".space 100000000000\n", ".rept 100000000\ns_nop 0\n.endr\n"])
def test_a_file_that_grows_without_end_is_no_verdict(text: str) -> None:
    start = time.monotonic()
    result = assemble(text, GFX90A, tool(), timeout=2, memory=1 << 30)
    assert isinstance(result, NotAssembled)
    assert time.monotonic() - start < 15


def test_names_that_an_old_yaml_reader_takes_for_booleans_are_worked_around(tmp_path: Path) -> None:
    script = (
        "import sys\ntext = sys.stdin.read()\n"
        "if '.name: n\\n' in text:\n  sys.exit('<stdin>:1:1: error: invalid HSA metadata')\n"
        "open(sys.argv[sys.argv.index('-o') + 1], 'wb').write(b'object')"
    )
    old = Tool("clang", (str(fake(tmp_path, "clang", script)),), "22.0git", frozenset(), "test")
    result = assemble(".amdgpu_metadata\n.name: n\n.end_amdgpu_metadata\n", GFX90A, old)
    assert isinstance(result, Assembled)
    assert result.warnings[0].limit_of_tool


def test_candidates_that_do_not_serve_are_rejected_with_a_reason(tmp_path: Path) -> None:
    silent = fake(tmp_path, "clang", "print('x86 only')")
    first = next(find_tools(("clang",), str(tmp_path), {"PATH": ""}))
    assert isinstance(first, Rejected)
    assert first.command == (str(silent),)
    assert "no AMDGPU" in first.reason
    missing = probe("clang", (str(tmp_path / "nothing"),), "test")
    assert isinstance(missing, Rejected)
    assert "cannot be started" in missing.reason


def test_the_users_choice_and_rocm_come_before_numbered_tools(tmp_path: Path) -> None:
    script = "print('clang version 19.0'); print('    gfx906')"
    for place in ("own", "rocm/llvm/bin", "path"):
        (tmp_path / place).mkdir(parents=True)
    own = fake(tmp_path / "own", "clang", script)
    rocm = fake(tmp_path / "rocm/llvm/bin", "clang", script)
    low = fake(tmp_path / "path", "clang-15", script)
    high = fake(tmp_path / "path", "clang-21", script)
    environment = {"ASMEVO_ASSEMBLER": str(own), "ROCM_PATH": str(tmp_path / "rocm"), "PATH": str(tmp_path / "path")}
    commands = [found.command[0] for found in find_tools(("clang",), None, environment)]
    ours = [command for command in commands if command.startswith(str(tmp_path))]
    assert ours == [str(own), str(rocm), str(high), str(low)]


def test_messages_of_both_assemblers_are_read() -> None:
    text = "<instantiation>:1:1: error: bad\nx\n^\n<stdin>:6:3: note: while in macro instantiation\nm\n^\n"
    text += "<stdin>:9:2: warning: w\n"
    error, warning = parse_messages(text)
    assert (error.severity, error.line, error.column, error.notes) == (
        "error", 6, 3, ((6, "while in macro instantiation"),),
    )  # fmt: skip
    assert (warning.severity, warning.line) == ("warning", 9)


@needs_assembler
@needs_disassembler
@pytest.mark.parametrize("gpu", ["gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250"])
def test_an_object_comes_back_as_the_text_it_was_made_from(gpu: str) -> None:
    target = find_target(gpu)
    found = find_assembler(target)
    assert isinstance(found, Tool)
    assert isinstance(DISASSEMBLER, Tool)
    text = ".type k,@function\nk:\n v_mov_b32_e32 v0, 0x12345\n s_cbranch_scc1 end\n s_nop 3\n"
    text += "end:\n s_endpgm\n.size k, .-k\n"
    result = assemble(text, target, found)
    assert isinstance(result, Assembled)
    (code_object,) = read_code_objects(result.object, "k.o")
    assert code_object.target.name == gpu
    (section,) = code_object.sections
    disassembled = disassemble(section.code, target, DISASSEMBLER)
    assert isinstance(disassembled, Disassembled)
    lines = assembly_text(code_object, {section.name: disassembled.instructions}).splitlines()
    code = [
        line.split("//")[0].strip()
        for line in lines
        if line.strip() and not line.strip().startswith((".s", ".p2align"))
    ]
    assert code[1:] == [
        ".type k,@function", "k:", "v_mov_b32_e32 v0, 0x12345", "s_cbranch_scc1 .L10", "s_nop 3", ".L10:", "s_endpgm",
    ]  # fmt: skip


@needs_disassembler
def test_words_that_are_no_instruction_are_kept() -> None:
    assert isinstance(DISASSEMBLER, Tool)
    found = disassemble(bytes.fromhex("ffffffff000081bf00000000"), find_target("gfx906"), DISASSEMBLER)
    assert isinstance(found, Disassembled)
    assert [(item.offset, item.size) for item in found.instructions] == [(0, 4), (4, 4), (8, 4)]
    assert found.instructions[0].text == ".long 0xffffffff"


def test_the_wrapper_file_holds_the_code() -> None:
    from asmevo_gate.program.elf import read_elf

    elf = read_elf(elf_with_code(b"\x01\x02\x03\x04"), "code")
    assert [section.data for section in elf.sections if section.is_code] == [b"\x01\x02\x03\x04"]
