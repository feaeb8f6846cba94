"""The rule ``reg.undefined``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.analysis.definitions import reads_of_nothing
from asmevo_gate.isa.instruction import Decoded, Op, Operand, Role
from asmevo_gate.isa.registers import AGPRS, M0, SCC, SGPRS, VCC, VGPRS, set_name
from asmevo_gate.program.model import Function, Instruction
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation

_CONDITIONS = VCC | SCC
_FILES = VGPRS | AGPRS | SGPRS | _CONDITIONS
_COPIES = ("s_mov_b32", "v_mov_b32")
_USES_M0 = Op.LDS_DMA
"""Instructions that surely need M0; messages and GDS read it whether or not it matters."""


def _kernel(body: str) -> str:
    return (
        f".text\nkernel:\n{body}  s_endpgm\n.rodata\n.amdhsa_kernel kernel\n  .amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
        "  .amdhsa_next_free_vgpr 8\n  .amdhsa_next_free_sgpr 16\n.end_amdhsa_kernel\n"
    )


class Undefined(Rule):
    """A register is read that nothing has given a value.

    What it does:
        In a kernel with a descriptor, reports an operand none of whose registers is set up by the launch (as the
        descriptor asks for it) or written on any path from the entry; VCC, SCC and the M0 of loads to LDS too, which
        the launch does not set; and a 64-bit address of which half has no value. A register that some path writes is
        not reported, nor is the old value that a partial write keeps. A register that is only stored, or copied to an
        AGPR, is a warning: compilers spill registers that hold nothing. Quiet is a copy that only fills up a wider
        operand whose other registers have a value.
    Why it matters:
        The register holds what the last wave on that SIMD left there: the kernel computes with garbage, and differently
        every time. A user SGPR that the descriptor does not enable shifts all the others, which shows up here first.
    Repair:
        Write the register first, or enable the user SGPR or work-item id in the descriptor.
    Sources:
        AMDGPUUsage, "Initial Kernel Execution State".
    """

    id = "reg.undefined"
    title = "register is read before anything wrote it"
    family = "register"
    severity = "error"
    bad = (
        Example("gfx900", _kernel("  v_add_u32 v1, v0, v5\n  global_store_dword v[0:1], v1, off\n"), line=3),
        Example("gfx1100", _kernel("  s_load_b64 s[6:7], s[4:5], 0x0\n"), line=3),
        Example("gfx1200", _kernel("  s_cbranch_scc1 .Lend\n  v_mov_b32 v1, 0\n.Lend:\n"), line=3),
        Example("gfx90a", _kernel("  v_cndmask_b32 v1, 0, v0, vcc\n"), line=3),
        Example("gfx942", _kernel("  s_mov_b32 s8, 0\n  s_load_dword s4, s[8:9], 0x0\n"), line=4),
        Example("gfx1100", _kernel("  s_mov_b32 s9, s7\n  s_lshl_b32 s8, s9, 2\n"), line=3),
    )
    good = (
        Example("gfx900", _kernel("  v_mov_b32 v5, 1\n  v_add_u32 v1, v0, v5\n  global_store_dword v[0:1], v1, off\n")),
        Example("gfx1100", _kernel("  s_load_b64 s[4:5], s[0:1], 0x0\n")),
        Example("gfx90a", _kernel("  v_cmp_gt_u32 vcc, 9, v0\n  v_cndmask_b32 v1, 0, v0, vcc\n")),
        Example("gfx1100", _kernel("  s_mov_b32 s8, 1\n  s_mov_b32 s9, s7\n  s_lshl_b64 s[8:9], s[8:9], 2\n")),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Operands that are read whole and have no value on any path; each register once."""
        kernel = facts.kernel
        if kernel.descriptor is None:
            return
        reported = 0
        for instruction, defined in reads_of_nothing(kernel, _FILES | M0):
            decoded = instruction.decoded
            if decoded is None:
                continue
            for operand in decoded.operands:
                read = operand.mask & _FILES
                if not read or not operand.role & Role.READ or operand.role & Role.KEEP or operand.indexed:
                    continue
                if read & reported or (read & defined and not (read & ~defined and _is_pointer(decoded, operand))):
                    continue
                if decoded.base in _COPIES and _only_fills(kernel, instruction):
                    continue
                reported |= read
                stored = decoded.of(Op.STORE) and not decoded.of(Op.SMEM) and operand.length == 1
                saved = stored or decoded.of(Op.ACCVGPR)
                message = "is read here, but neither the launch nor any instruction before has given it a value"
                yield Violation(
                    place=instruction.statement.place,
                    frames=instruction.statement.frames,
                    message=f"{set_name(read & ~defined)} {message}",
                    repair="write it first, or enable it in the kernel descriptor",
                    severity="warning" if saved else None,
                )
            implied = decoded.implicit_reads & (_CONDITIONS | (M0 if decoded.of(_USES_M0) else 0))
            for one in (VCC, SCC, M0):
                if implied & one and not one & (defined | reported):
                    reported |= one
                    yield Violation(
                        place=instruction.statement.place,
                        frames=instruction.statement.frames,
                        message=f"{set_name(one)} is read here, but neither the launch nor any instruction before has "
                        "given it a value",
                        repair=f"write {set_name(one)} first",
                    )


def _is_pointer(decoded: Decoded, operand: Operand) -> bool:
    """A 64-bit address: half of it is as bad as nothing. Of other wide operands compilers leave parts undefined."""
    if operand.length != 2 or operand.role & Role.WRITE:
        return False
    if decoded.of(Op.SMEM):
        return operand is decoded.operands[1]
    if not decoded.of(Op.FLAT | Op.GLOBAL):
        return False
    scalar_base = bool(operand.mask & SGPRS)
    vectors = [one for one in decoded.operands if one.mask & VGPRS and not one.role & Role.WRITE]
    return scalar_base or (bool(vectors) and operand is vectors[0])


def _only_fills(kernel: Function, copy: Instruction) -> bool:
    """What is copied is read in the same block only, as a part of operands with more registers."""
    block = next(one for one in kernel.blocks if one.first <= copy.index < one.end)
    copied = copy.decoded.operands[0].mask if copy.decoded is not None else 0
    fills = False
    for instruction in kernel.instructions[copy.index + 1 : block.end]:
        decoded = instruction.decoded
        if decoded is None:
            return False
        reading = [one for one in decoded.operands if one.mask & copied and one.role & (Role.READ | Role.KEEP)]
        if any(one.length == 1 or one.indexed for one in reading) or (not reading and decoded.reads & copied):
            return False
        fills = fills or bool(reading)
        if decoded.writes & copied:
            return fills
    return False
