"""The rule ``abi.user_sgpr``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from asmevo_gate.analysis.initial_state import initial_state
from asmevo_gate.analysis.known_state import address
from asmevo_gate.analysis.symbolic_values import LOADED, Value
from asmevo_gate.isa.instruction import VMEM, Decoded, Op
from asmevo_gate.isa.registers import SGPR, interval_name
from asmevo_gate.program.descriptor import directive_value
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.rule import Example, Rule, Violation

_PACKET = "dispatch packet address"
_PACKET_BYTES = 64
_PACKET_POINTERS = frozenset((32, 40, 48, 56))
"""Offsets of 64-bit addresses in hsa_kernel_dispatch_packet_t: kernel object, kernarg address, reserved2, completion
signal (HSA Platform System Architecture 2.9.6)."""
_ADDRESSES = frozenset(
    (_PACKET, "queue address", "kernarg segment address", "private segment buffer", "flat scratch initialiser")
)
_ARITHMETIC = frozenset(
    (
        "s_lshl_b32", "s_mul_i32", "s_mul_hi_u32", "v_lshlrev_b32", "v_lshl_add_u32", "v_lshl_or_b32",
        "v_mul_u32_u24", "v_mul_lo_u32",
    )
)  # fmt: skip
"""What addresses are not made with."""
_NUMBERS = frozenset(("work-group id x", "work-group id y", "work-group id z", "private segment size"))
_WAVE_OFFSET = "scratch offset of the wavefront"
_UNSET = "unnamed user SGPRs"
"""Padding that .amdhsa_user_sgpr_count makes."""

_DISPATCH = "  .amdhsa_user_sgpr_dispatch_ptr 1\n"


class UserSgpr(Rule):
    """The code takes an SGPR for something else than the launch put there.

    What it does:
        Lays the user SGPRs and work-group ids out as the descriptor enables them and follows them through the code.
        Reports a load whose address is a work-group id or another number; a dword of the dispatch packet that is no
        address and used as one, or a load from beyond the packet's 64 bytes; and the low half of an address that is
        shifted or multiplied like a work-group id.
    Why it matters:
        User SGPRs are packed: each one that is enabled or not shifts all that follow. Code written for another set
        takes its argument pointer from the wrong registers and faults, or reads wrong arguments.
    Repair:
        Enable exactly the user SGPRs that the code expects, or use the registers that the finding names.
    Sources:
        AMDGPUUsage, "SGPR Register Set Up Order"; HSA Platform System Architecture, kernel dispatch packet.
    """

    id = "abi.user_sgpr"
    title = "SGPR holds something else than the code takes it for"
    family = "abi"
    severity = "error"
    bad = (
        Example(
            "gfx900",
            kernel_text("  s_load_dwordx2 s[4:5], s[2:3], 0x0\n", "  .amdhsa_system_sgpr_workgroup_id_y 1\n"),
            line=3,
        ),
        Example(
            "gfx90a",
            kernel_text(
                "  s_load_dwordx2 s[4:5], s[0:1], 0x0\n  v_mov_b32 v1, 0\n  s_waitcnt lgkmcnt(0)\n"
                "  global_store_dword v1, v1, s[4:5]\n",
                _DISPATCH + "  .amdhsa_accum_offset 8\n",
            ),
            line=6,
        ),
        Example("gfx1100", kernel_text("  s_lshl_b32 s2, s2, 6\n", _DISPATCH), line=3),
    )
    good = (
        Example("gfx900", kernel_text("  s_load_dwordx2 s[4:5], s[0:1], 0x0\n")),
        Example("gfx90a", kernel_text("  s_load_dword s4, s[0:1], 0x4\n", _DISPATCH + "  .amdhsa_accum_offset 8\n")),
        Example("gfx1100", kernel_text("  s_lshl_b32 s4, s4, 6\n", _DISPATCH)),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """The first misuse of each initial value."""
        reported: set[str] = set()
        for index, values in facts.known.items():
            instruction = facts.kernel.instructions[index]
            decoded = instruction.decoded
            if decoded is None:
                continue
            for origin, message in _misuses(facts, decoded, values):
                if origin in reported:
                    continue
                reported.add(origin)
                yield Violation(
                    place=instruction.statement.place,
                    frames=instruction.statement.frames,
                    message=message,
                    repair=f"launch state: {_layout(facts)}; correct the registers or the .amdhsa_user_sgpr directives",
                )


def _has_wave_offset(facts: KernelFacts) -> bool:
    descriptor = facts.kernel.descriptor
    name = "system_sgpr_private_segment_wavefront_offset"
    return descriptor is None or directive_value(descriptor, name, facts.kernel.target) != 0


_Known = tuple[tuple[Value | None, ...], ...]


def _misuses(facts: KernelFacts, decoded: Decoded, values: _Known) -> Iterator[tuple[str, str]]:
    if decoded.of(Op.SMEM) and len(decoded.operands) > 1 and decoded.operands[1].length == 2:
        yield from _load_base(decoded, values)
    elif decoded.of(VMEM):
        for operand, found in zip(decoded.operands, values, strict=True):
            if operand.length == 2 and len(found) == 2 and operand.start >= SGPR.start:
                yield from _packet_pointer(found)
    elif decoded.base in _ARITHMETIC:
        for operand, found in zip(decoded.operands[1:], values[1:], strict=True):
            value = found[0]
            if operand.length != 1 or value is None:
                continue
            name = interval_name(operand.start, 1)
            if value.origin in _ADDRESSES and value.part == 0:
                yield value.origin, f"{name} is used as a number, but it holds the low half of the {value.origin}"
            elif value.origin == _UNSET or (value.origin == _WAVE_OFFSET and not _has_wave_offset(facts)):
                yield value.origin, f"{name} is used as a number, but the descriptor enables nothing that is there"


def _load_base(decoded: Decoded, values: _Known) -> Iterator[tuple[str, str]]:
    low, high = values[1]
    name = interval_name(decoded.operands[1].start, 2)
    for value in (low, high):
        if value is not None and value.origin == _UNSET:
            yield value.origin, f"{name} is used as an address, but no user SGPR that is enabled is there"
            return
        if value is not None and value.origin in _NUMBERS and value.scale == 1 and not value.add:
            yield value.origin, f"{name} is used as an address, but one half of it is the {value.origin}"
            return
    if low is not None:
        yield from _packet_pointer((low, high))
    at = address(decoded, values)
    if at is not None and at[0] == _PACKET and at[1] >= _PACKET_BYTES:
        yield (
            _PACKET,
            f"byte {at[1]} is loaded through {name}, which holds the {_PACKET}: that has {_PACKET_BYTES} bytes",
        )


def _packet_pointer(pair: tuple[Value | None, ...]) -> Iterator[tuple[str, str]]:
    low, high = pair[0], pair[1]
    if low is None or high is None or low.origin != LOADED + _PACKET or high.origin != low.origin:
        return
    if high.add == low.add + 4 and low.add not in _PACKET_POINTERS:
        yield (
            low.origin,
            (
                f"bytes {low.add} to {low.add + 7} of the dispatch packet are used as an address, but they hold none: "
                "the code takes the dispatch packet for the kernel arguments"
            ),
        )


def _layout(facts: KernelFacts) -> str:
    names = initial_state(facts.kernel).names
    scalars = [(register, name) for register, name in names.items() if SGPR.start <= register < SGPR.start + SGPR.count]
    return ", ".join(f"s{register - SGPR.start} {name}" for register, name in sorted(scalars)) or "no SGPR"
