"""From the bytes of a code object to text that parses."""

from __future__ import annotations

import pytest

from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.code_object import read_code_objects
from asmevo_gate.source.parser import parse_source
from asmevo_gate.verify.code_object_text import CodeObjectText, code_object_texts, wave_sizes
from asmevo_gate.verify.disassembler import NotDisassembled, find_disassembler
from asmevo_gate.verify.discovery import Tool
from tests.program.code_objects import assembled, needs_assembler

needs_disassembler = pytest.mark.skipif(
    not isinstance(find_disassembler(), Tool), reason="no AMDGPU disassembler (llvm-objdump-22)"
)
BLOCK = """.amdhsa_kernel {0}
.amdhsa_next_free_vgpr 8
.amdhsa_next_free_sgpr 8
.amdhsa_wavefront_size32 {1}
.end_amdhsa_kernel
"""
WAVE64 = "k:\n v_cmp_eq_u32 vcc, v0, v1\n s_endpgm\n.rodata\n" + BLOCK.format("k", 0)


@needs_assembler
@needs_disassembler
def test_a_kernel_comes_out_as_text() -> None:
    (found,) = code_object_texts(assembled(), "k.o")
    assert isinstance(found, CodeObjectText)
    source = parse_source("k.o", found.text)
    assert not source.problems
    assert "v_add_u32_e32 v0, 1, v1" in [statement.text for statement in source.statements]
    assert found.wave_size == 64


@needs_assembler
@needs_disassembler
def test_the_descriptor_tells_the_wave_size_of_the_code() -> None:
    text = WAVE64.replace("v_cmp_eq_u32 vcc, v0, v1", "s_nop 0")
    (found,) = code_object_texts(assembled(text, "gfx1100"), "k.o")
    assert isinstance(found, CodeObjectText)
    assert found.wave_size == 64
    (code_object,) = read_code_objects(assembled(text + BLOCK.format("j", 1), "gfx1100"), "k.o")
    assert wave_sizes(code_object) == {32, 64}
    (mixed,) = code_object_texts(assembled(text + BLOCK.format("j", 1), "gfx1100"), "k.o")
    assert isinstance(mixed, NotDisassembled)
    assert code_object.target == find_target("gfx1100")
