"""Functions of instruction texts, for tests of analyses."""

from __future__ import annotations

from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.model import Function
from asmevo_gate.source.parser import parse_source

_KERNEL = """.amdgcn_target "amdgcn-amd-amdhsa--{gpu}"
.text
.globl k
.type k,@function
k:
{body}
.section .rodata,"a",@progbits
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 32
  .amdhsa_next_free_sgpr 32
{wave}.end_amdhsa_kernel
"""
FIRST_LINE = 6
"""Line of the first instruction of a written kernel."""


def kernel(gpu: str, body: str, wave_size: int | None = None) -> Function:
    """The function of a kernel whose code is ``body`` (one instruction or label a line)."""
    wave = f"  .amdhsa_wavefront_size32 {int(wave_size == 32)}\n" if wave_size else ""
    text = _KERNEL.format(gpu=gpu, body=body.strip("\n"), wave=wave)
    (function,) = build_program(parse_source("k.s", text), find_target(gpu)).functions
    return function


def device_function(gpu: str, body: str) -> Function:
    """A function that is no kernel."""
    text = f".text\n.type f,@function\nf:\n{body}\n"
    (function,) = build_program(parse_source("f.s", text), find_target(gpu)).functions
    return function
