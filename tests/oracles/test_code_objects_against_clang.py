"""Compiled kernels survive the way into a code object and back: same code, descriptors, metadata and resources."""

from __future__ import annotations

import pytest

from asmevo_gate.analysis.resources import Resources, kernel_resources
from asmevo_gate.isa.targets import Target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.code_object import CodeObject, assembly_text, read_code_objects
from asmevo_gate.source.parser import parse_source
from asmevo_gate.verify.assembler import Assembled, assemble, find_assembler
from asmevo_gate.verify.disassembler import Disassembled, disassemble, find_disassembler
from asmevo_gate.verify.discovery import Tool
from tests.oracles.compiled_kernels import COMPILER, CompiledKernel, compiled_kernels, compiler
from tests.oracles.resource_comments import program_of, target_of

DISASSEMBLER = find_disassembler()
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(compiler() is None, reason=f"{COMPILER} is not installed"),
    pytest.mark.skipif(not isinstance(DISASSEMBLER, Tool), reason="no llvm-objdump with AMDGPU is installed"),
]
OUTPUTS = list(compiled_kernels(26)) if compiler() else []


def object_of(text: str, target: Target, wave_size: int | None) -> CodeObject:
    tool = find_assembler(target)
    assert isinstance(tool, Tool)
    result = assemble(text, target, tool, wave_size)
    assert isinstance(result, Assembled), result
    (found,) = read_code_objects(result.object, "k.o")
    return found


def text_of(code_object: CodeObject, wave_size: int | None) -> str:
    assert isinstance(DISASSEMBLER, Tool)
    instructions = {}
    for section in code_object.sections:
        found = disassemble(section.code, code_object.target, DISASSEMBLER, wave_size)
        assert isinstance(found, Disassembled), found
        instructions[section.name] = found.instructions
    return assembly_text(code_object, instructions)


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda output: f"{output.gpu} {output.name}")
def test_code_descriptor_metadata_and_resources_come_back(output: CompiledKernel) -> None:
    wave_size = 64 if "wavefrontsize64" in output.name else None
    target = target_of(output)
    first = object_of(output.text, target, wave_size)
    assert not first.problems
    text = text_of(first, wave_size)
    second = object_of(text, target, wave_size)
    assert second.descriptors == first.descriptors
    assert second.metadata == first.metadata
    for before, after in zip(first.sections, second.sections, strict=True):
        assert functions(before.code, before.functions) == functions(after.code, after.functions)
    again = {
        kernel.name: kernel_resources(kernel) for kernel in build_program(parse_source("k.o", text), target).kernels
    }
    for kernel in program_of(output).kernels:
        assert figures(again[kernel.name]) == figures(kernel_resources(kernel))


def functions(code: bytes, places: dict[str, tuple[int, int]]) -> dict[str, bytes]:
    """The code of each function; the second object has no sizes, and no padding between functions."""
    starts = sorted(offset for offset, _ in places.values())
    ends = dict(zip(starts, [*starts[1:], len(code)], strict=True))
    padding = bytes(4) + b"\x00\x00\x80\xbf\x00\x00\x9f\xbf"
    return {
        name: code[offset : offset + size if size else ends[offset]].rstrip(padding)
        for name, (offset, size) in places.items()
    }


def figures(resources: Resources) -> tuple[object, ...]:
    return (
        resources.vgpr_allocated,
        resources.agpr_allocated,
        resources.sgpr_allocated,
        resources.lds_bytes,
        resources.scratch_bytes,
        resources.dynamic_stack,
        resources.work_group,
        resources.occupancy_waves_per_simd,
    )
