"""AMDGPU assembly is told from other assembly and from binary files."""

from __future__ import annotations

import pytest

from asmevo_gate.errors import GateError
from asmevo_gate.source.recognise import decode_source, looks_like_amdgpu, recognise

X86 = "\t.text\n\t.globl f\nf:\n\tpushq %rbp\n\tmovq %rsp, %rbp\n\tvaddps %ymm0, %ymm1, %ymm2\n\tret\n"
ARM = "\t.arch armv8-a\n\t.text\nf:\n\tstp x29, x30, [sp, -16]!\n\tfadd v0.4s, v1.4s, v2.4s\n\tret\n"
RISCV = "\t.option nopic\n\t.text\nf:\n\taddi sp,sp,-16\n\tvadd.vv v0, v1, v2\n\tret\n"
PTX = ".version 7.0\n.target sm_80\n.visible .entry k()\n{\n  mov.u32 %r1, %tid.x;\n  ret;\n}\n"
COMPILED = '\t.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"\n\t.text\nk:\n\ts_endpgm\n'
BARE = "k:\n s_load_dwordx2 s[0:1], s[4:5], 0x0\n v_mov_b32 v0, 0\n s_endpgm\n"
MACROS = ".macro load n\n global_load_dword v\\n, v[2:3], off\n.endm\n.irp i, 1, 2\n load \\i\n.endr\n s_endpgm\n"


@pytest.mark.parametrize("text", [COMPILED, BARE, MACROS, ".hsa_code_object_version 2,1\n"])
def test_amdgpu_files_are_recognised(text: str) -> None:
    assert looks_like_amdgpu(text), recognise(text).reason


@pytest.mark.parametrize("text", [X86, ARM, RISCV, PTX, "", "hello world\nthis is a text\n"])
def test_other_files_are_not(text: str) -> None:
    assert not looks_like_amdgpu(text), recognise(text).reason


def test_the_reason_is_given() -> None:
    assert recognise(COMPILED).reason == "it uses .amdgcn_target"
    assert "no instruction" in recognise(X86).reason


@pytest.mark.parametrize(
    ("data", "message", "line"),
    [
        (b"\x7fELF\x02\x01", "ELF object", None),
        ("s_nop 0\n".encode("utf-16"), "UTF-16", 1),
        (b"s_nop 0\n\0\0", "NUL", 2),
        (b"s_nop 0\n; caf\xe9\n", "byte 0xe9", 2),
    ],
)
def test_what_is_no_text_is_refused_with_a_place(data: bytes, message: str, line: int | None) -> None:
    with pytest.raises(GateError, match=message) as caught:
        decode_source("k.s", data)
    assert (caught.value.file, caught.value.line) == ("k.s", line)


def test_text_keeps_its_line_ends() -> None:
    assert decode_source("k.s", "s_nop 0\r\n; é\n".encode()) == "s_nop 0\r\n; é\n"
