"""Instructions whose meaning is not written down: an unknown function of everything that they read.

Moving such an instruction, or giving its registers other names, is still provable. Memory operations, messages and
other effects additionally take and give the ``token``, so that their order is part of what is proved.
"""

from __future__ import annotations

import re

from asmevo_gate.analysis.side_effects import CONTROL, has_effect
from asmevo_gate.isa.instruction import MATRIX, VMEM, Decoded, Op, Operand, Role
from asmevo_gate.isa.registers import EXEC, MODE, SCC, VCC, indices
from asmevo_gate.proof.sources import Fetch, register_dwords
from asmevo_gate.proof.state import State, is_vector, width_of
from asmevo_gate.proof.terms import Term

_LANE_CROSSING = re.compile(r"lane|v_interp|v_lds|v_dot.*bcast|v_wave|v_mov_b32_indirect")
_REGISTER_TEXT = re.compile(
    r"\b(?:v|s|a|acc|ttmp)(?:\d+|\[[^\]]*\])|\b(?:vcc|exec|m0|flat_scratch|xnack_mask|ttmp\w*)(?:_lo|_hi)?\b"
)


def ignores_exec(decoded: Decoded) -> bool:
    """True for matrix instructions, which compute in all lanes (CDNA3 ISA 7, "Matrix Arithmetic Instructions")."""
    return bool(decoded.classes & MATRIX)


_LIVENESS_KNOWS = re.compile(r"v_(readlane|readfirstlane|writelane|permlanex?16)_b32$")


def sees_lanes_beyond_liveness(decoded: Decoded) -> bool:
    """True for lane-crossing instructions whose need of inactive lanes the liveness analysis does not count."""
    return bool(_LANE_CROSSING.search(decoded.base)) and not _LIVENESS_KNOWS.match(decoded.base)


class Uninterpreted:
    """The step of an instruction without a written meaning."""

    def __init__(self, decoded: Decoded) -> None:
        self.decoded = decoded
        self.effect = has_effect(decoded)
        self.name = f"{decoded.base} {decoded.variant} {_shape(decoded)}"
        self.whole_wave = ignores_exec(decoded)
        self.crossing = bool(
            self.whole_wave or decoded.classes & (Op.DPP | Op.UNMODELLED) or _LANE_CROSSING.search(decoded.base)
        )
        vector = decoded.classes & (Op.VALU | VMEM | Op.DS | Op.LDSDIR | Op.EXPORT)
        self.binds = bool(
            self.effect or self.crossing or not vector or decoded.implicit_writes or _writes_scalar(decoded)
        )
        self.reads = _read_fetches(decoded, self.crossing)
        self.writes = [
            register
            for operand in decoded.operands
            if operand.role & Role.WRITE
            for register in range(operand.start, operand.start + operand.length)
        ]
        self.writes += [register for register in indices(decoded.implicit_writes) if register not in self.writes]

    def run(self, state: State) -> None:
        """Apply to a state."""
        terms = state.terms
        args = tuple(fetch(state) for fetch in self.reads)
        if self.crossing or self.effect or any(not is_vector(register) for register in self.writes):
            args = (*args, state.mask(_EXEC_LO))
        if self.effect:
            args = (state.token, *state.effect(self.name, args))
            state.token = terms.apply(f"after {self.name}", 32, args, binds=True)
        results = [
            terms.apply(f"{self.name} -> {place}", width_of(register), args, self.binds)
            for place, register in enumerate(self.writes)
        ]
        for register, result in zip(self.writes, results, strict=True):
            self._write(state, register, result)

    def _write(self, state: State, register: int, result: Term) -> None:
        if not is_vector(register):
            state.write_scalar(register, result)
        elif self.whole_wave:
            state.write_all_lanes(register, result)
        elif self.crossing:
            # Whether lanes outside EXEC are written is not known: the new value also depends on the old one.
            old = state.whole(register)
            state.write_all_lanes(
                register, state.terms.apply(f"{self.name} keeps", 32, (result, old, state.active), True)
            )
        else:
            state.write_lanes(register, result)


_EXEC_LO = next(indices(EXEC))


def _writes_scalar(decoded: Decoded) -> bool:
    return any(not is_vector(register) for register in indices(decoded.writes))


def _read_fetches(decoded: Decoded, whole_wave: bool) -> list[Fetch]:
    fetches: list[Fetch] = []
    for operand in decoded.operands:
        if operand.length and operand.role & (Role.READ | Role.KEEP):
            fetches += register_dwords(operand, whole_wave)
    implicit = decoded.implicit_reads
    if decoded.classes & CONTROL:
        implicit |= _branch_condition(decoded)
    if has_effect(decoded):
        implicit |= MODE
    for register in indices(implicit & ~EXEC):
        fetches += register_dwords(Operand("", Role.READ, register, 1), whole_wave)
    return fetches


def _branch_condition(decoded: Decoded) -> int:
    base = decoded.base
    return (VCC if "vcc" in base else 0) | (SCC if "scc" in base else 0) | (EXEC if "exec" in base else 0)


def _shape(decoded: Decoded) -> str:
    """The text of operands and modifiers with registers left out: what is equal in two uses that only differ in
    registers."""
    texts: list[str] = []
    seen: tuple[str, int] | None = None
    for operand in decoded.operands:
        if operand.length:
            texts.append(_REGISTER_TEXT.sub(f"r{operand.length}", operand.text))
        elif seen != (operand.text, operand.length):
            texts.append(operand.text)
        seen = (operand.text, operand.length)
    return f"{','.join(texts)} {' '.join(f'{name}:{value}' for name, value in sorted(decoded.modifiers.items()))}"
