"""The rule ``abi.user_sgpr``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from asmevo_gate.analysis.initial_state import initial_state
from asmevo_gate.analysis.known_state import address
from asmevo_gate.analysis.symbolic_values import LOADED, Value
from asmevo_gate.isa.instruction import VMEM, Decoded, Op
from asmevo_gate.isa.registers import SGPR, interval_name
from asmevo_gate.program.descriptor import directive_value
from asmevo_gate.program.model import Instruction
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.rule import Example, Rule, Violation

_PACKET = "dispatch packet address"
_PACKET_BYTES = 64
_PACKET_POINTERS = frozenset((32, 40, 48, 56))
"""Offsets of 64-bit addresses in hsa_kernel_dispatch_packet_t: kernel object, kernarg address, reserved2, completion
signal (HSA Platform System Architecture 2.9.6)."""
_SCRATCH_BUFFER = "private segment buffer"
_ADDRESSES = frozenset(
    (_PACKET, "queue address", "kernarg segment address", _SCRATCH_BUFFER, "flat scratch initialiser")
)
_QUEUE = "queue address"
_QUEUE_NUMBERS = frozenset((0, 24, 32))
"""Offsets of 8 bytes in hsa_queue_t that hold no address: type and features, size, id (HSA Runtime 2.8.1)."""
_NO_LOADS = {
    "private segment buffer": "the private segment buffer, a buffer descriptor",
    "dispatch id": "the dispatch id",
    "flat scratch initialiser": "the flat scratch initialiser",
}
"""Initial values that scalar loads have no use for as an address."""
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
        Reports a load whose address is a work-group id or another number, or the buffer descriptor of scratch; a buffer
        descriptor whose size or format is a work-group id or a pointer; the load
        of a dword of the dispatch packet or of the queue that is no address and is used as one, or from beyond the
        packet's 64 bytes; and the low half of an address that is shifted or multiplied like a work-group id.
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
            line=3,
        ),
        Example(
            "gfx1030",
            kernel_text("  s_load_dwordx2 s[8:9], s[0:1], 0x0\n", "  .amdhsa_user_sgpr_private_segment_buffer 1\n"),
            line=3,
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
            for misuse in _misuses(facts, decoded, values):
                if misuse.origin in reported:
                    continue
                reported.add(misuse.origin)
                load = None if misuse.loaded is None else _load_of(facts, misuse.origin, misuse.loaded, index)
                where = f" in line {instruction.statement.place.line}" if load else ""
                yield Violation(
                    place=(load or instruction).statement.place,
                    frames=(load or instruction).statement.frames,
                    message=misuse.message.format(where=where),
                    repair=f"launch state: {_layout(facts)}; correct the registers or the .amdhsa_user_sgpr directives",
                )


def _has_wave_offset(facts: KernelFacts) -> bool:
    descriptor = facts.kernel.descriptor
    name = "system_sgpr_private_segment_wavefront_offset"
    return descriptor is None or directive_value(descriptor, name, facts.kernel.target) != 0


class _Misuse(msgspec.Struct, frozen=True):
    """What is wrong with an initial value. ``loaded`` is the byte offset of the dword that is used, where the fault is
    the load that brought it; the message then has a gap ``{where}`` for the place of the use."""

    origin: str
    message: str
    loaded: int | None = None


_Known = tuple[tuple[Value | None, ...], ...]


def _misuses(facts: KernelFacts, decoded: Decoded, values: _Known) -> Iterator[_Misuse]:
    if decoded.of(Op.SMEM) and len(decoded.operands) > 1 and decoded.operands[1].length == 2:
        yield from _load_base(decoded, values)
    elif decoded.of(VMEM):
        for operand, found in zip(decoded.operands, values, strict=True):
            if operand.length == 2 and len(found) == 2 and operand.start >= SGPR.start:
                yield from _loaded_pointer(found)
            elif operand.length == 4 and len(found) == 4 and decoded.of(Op.BUFFER) and operand.start >= SGPR.start:
                yield from _buffer_descriptor(interval_name(operand.start, 4), found)
    elif decoded.base in _ARITHMETIC:
        for operand, found in zip(decoded.operands[1:], values[1:], strict=True):
            value = found[0]
            if operand.length != 1 or value is None:
                continue
            name = interval_name(operand.start, 1)
            if value.origin in _ADDRESSES and value.part == 0:
                message = f"{name} is used as a number, but it holds the low half of the {value.origin}"
                yield _Misuse(value.origin, message)
            elif value.origin == _UNSET or (value.origin == _WAVE_OFFSET and not _has_wave_offset(facts)):
                message = f"{name} is used as a number, but the descriptor enables nothing that is there"
                yield _Misuse(value.origin, message)


def _load_base(decoded: Decoded, values: _Known) -> Iterator[_Misuse]:
    low, high = values[1]
    name = interval_name(decoded.operands[1].start, 2)
    for value in (low, high):
        if value is not None and value.origin == _UNSET:
            message = f"{name} is used as an address, but no user SGPR that is enabled is there"
            yield _Misuse(value.origin, message)
            return
        if value is not None and value.origin in _NO_LOADS:
            yield _Misuse(value.origin, f"{name} is used as an address, but it belongs to {_NO_LOADS[value.origin]}")
            return
        if value is not None and value.origin in _NUMBERS and value.scale == 1 and not value.add:
            yield _Misuse(value.origin, f"{name} is used as an address, but one half of it is the {value.origin}")
            return
    if low is not None:
        yield from _loaded_pointer((low, high))
    at = address(decoded, values)
    if at is not None and at[0] == _PACKET and at[1] >= _PACKET_BYTES:
        message = f"byte {at[1]} is loaded through {name}, which holds the {_PACKET}: that has {_PACKET_BYTES} bytes"
        yield _Misuse(_PACKET, message)


def _buffer_descriptor(name: str, dwords: tuple[Value | None, ...]) -> Iterator[_Misuse]:
    """Size and format of a buffer are numbers of the code's own, or the launch has set up the whole descriptor."""
    for part, value in enumerate(dwords):
        if part < 2 or value is None or value.scale != 1 or value.add:
            continue
        belongs = value.origin == _SCRATCH_BUFFER and value.part == part
        if not belongs and value.origin in (*_ADDRESSES, *_NUMBERS, _WAVE_OFFSET):
            message = f"{name} is used as a buffer descriptor, but dword {part} of it holds the {value.origin}"
            yield _Misuse(value.origin, message)
            return


def _loaded_pointer(pair: tuple[Value | None, ...]) -> Iterator[_Misuse]:
    low, high = pair[0], pair[1]
    if low is None or high is None or high.origin != low.origin or high.add != low.add + 4:
        return
    if low.origin == LOADED + _PACKET and low.add not in _PACKET_POINTERS:
        what = "dispatch packet"
    elif low.origin == LOADED + _QUEUE and low.add in _QUEUE_NUMBERS:
        what = "queue"
    else:
        return
    message = (
        f"bytes {low.add} to {low.add + 7} of the {what} are used as an address{{where}}, but they hold none: the code "
        f"takes the {what} for the kernel arguments"
    )
    yield _Misuse(low.origin, message, low.add)


def _load_of(facts: KernelFacts, origin: str, offset: int, use: int) -> Instruction | None:
    """The last load before a use that brings a dword from a place that the launch gives the address of."""
    for index in sorted(facts.known, reverse=True):
        decoded = facts.kernel.instructions[index].decoded
        if index >= use or decoded is None or not decoded.of(Op.SMEM) or not decoded.of(Op.LOAD):
            continue
        at = address(decoded, facts.known[index])
        length = decoded.operands[0].length
        if at is not None and LOADED + at[0] == origin and at[1] <= offset < at[1] + 4 * length:
            return facts.kernel.instructions[index]
    return None


def _layout(facts: KernelFacts) -> str:
    names = initial_state(facts.kernel).names
    scalars = [(register, name) for register, name in names.items() if SGPR.start <= register < SGPR.start + SGPR.count]
    return ", ".join(f"s{register - SGPR.start} {name}" for register, name in sorted(scalars)) or "no SGPR"
