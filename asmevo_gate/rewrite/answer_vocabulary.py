"""All that an answer about some instructions of a region may name: their numbers, their registers, free temporaries.

The grammar that holds the model and the reader of its answers are both made from it. A move is offered only where it
keeps every dependence of the code as it is; everything else is for the chain of acceptance to judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from asmevo_gate.analysis.resources import register_usage
from asmevo_gate.isa.instruction import Decoded, Op, Operand, Role
from asmevo_gate.isa.registers import AGPR, SGPR, VGPR, Bank, bits, interval_name
from asmevo_gate.rewrite.dependences import Dependences
from asmevo_gate.rewrite.edit_script import ScriptError, with_operand
from asmevo_gate.rewrite.fuse import FUSIONS
from asmevo_gate.rewrite.proposal import Situation

MOST_FREE = 4
"""Free registers of each file that are offered."""
_MOST_NUMBERS = 8
_BANKS = (VGPR, AGPR, SGPR)
_NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]{1,8}|\d{1,10}|\d{1,6}\.\d{1,6})")
_VALUE = "value"
"""The kind of a vector instruction's first sources: a VGPR, an SGPR or a number."""
_MOVES = (("v_mov_b32", VGPR), ("s_mov_b32", SGPR))


@dataclass(frozen=True)
class Part:
    """Instructions ``[first, end)`` of a region. An answer counts them from 0."""

    first: int
    end: int

    @property
    def length(self) -> int:
        """Number of instructions."""
        return self.end - self.first


@dataclass(frozen=True)
class Form:
    """An instruction that may be written: its mnemonic and the kinds of its operands."""

    mnemonic: str
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class Vocabulary:
    """``moves``: for each instruction the places it may go to. ``operands``: (instruction, operand, kind).
    ``names``: what an operand of a kind may be. ``inserts``: moves into free registers. ``free``: those registers."""

    part: Part
    moves: tuple[tuple[int, tuple[int, ...]], ...]
    operands: tuple[tuple[int, int, str], ...]
    names: dict[str, tuple[str, ...]]
    inserts: tuple[Form, ...]
    forms: tuple[Form, ...]
    free: tuple[str, ...]


def vocabulary(situation: Situation, part: Part, order: Dependences) -> Vocabulary:
    """The vocabulary of a part of a region; ``order`` are the dependences of the whole region."""
    code = situation.decoded[part.first : part.end]
    names: dict[str, dict[str, None]] = {}
    operands: list[tuple[int, int, str]] = []
    for number, decoded in enumerate(code):
        for place, operand in enumerate(decoded.operands):
            kind = _kind(operand)
            if kind and _can_be_written(situation, part.first + number, place):
                names.setdefault(kind, {})[operand.text] = None
                operands.append((number, place, kind))
    free = _free(situation)
    for name, bank in free.items():
        names.setdefault(_kind_of(bank, 1), {})[name] = None
    numbers = list(dict.fromkeys(_numbers(code)))[:_MOST_NUMBERS]
    values = [*names.get("v1", ()), *names.get("s1", ()), *numbers]
    found = {kind: tuple(one) for kind, one in names.items()}
    found[_VALUE] = tuple(values)
    for _, bank in _MOVES:
        found[_free_kind(bank)] = tuple(name for name, of in free.items() if of is bank)
    inserts = (Form(name, (_free_kind(bank), _kind_of(bank, 1))) for name, bank in _MOVES)
    return Vocabulary(
        part,
        tuple(_moves(part, order)),
        tuple(operands),
        found,
        tuple(form for form in inserts if _possible(form, found)),
        tuple(dict.fromkeys(form for form in _forms(situation, code) if _possible(form, found))),
        tuple(free),
    )


def _kind_of(bank: Bank, length: int) -> str:
    return f"{bank.prefix}{length}"


def _free_kind(bank: Bank) -> str:
    return f"free-{bank.prefix}"


def _kind(operand: Operand) -> str:
    """``v1``, ``s2`` ... for a register that is written plainly, ``""`` for anything else."""
    for bank in _BANKS:
        if operand.length and bank.start <= operand.start < bank.start + bank.count:
            plain = operand.text == interval_name(operand.start, operand.length)
            return _kind_of(bank, operand.length) if plain and operand.half is None and not operand.indexed else ""
    return ""


def _can_be_written(situation: Situation, number: int, place: int) -> bool:
    text = situation.region.instructions[number].statement.text
    try:
        return with_operand(text, place, situation.decoded[number].operands[place].text) == text
    except ScriptError:
        return False


def _free(situation: Situation) -> dict[str, Bank]:
    """Registers that the function uses elsewhere, but that nothing in or behind the region needs."""
    region = situation.region
    taken = region.live_in | region.live_out | region.reads | region.writes
    for live in situation.live_after:
        taken |= live
    used = register_usage(region.function)
    found: dict[str, Bank] = {}
    for bank, count in ((VGPR, used.vgprs), (SGPR, used.sgprs)):
        free = [index for index in range(bank.start, bank.start + count) if not taken & bits(index)]
        found |= {interval_name(index, 1): bank for index in free[:MOST_FREE]}
    return found


def _numbers(code: Sequence[Decoded]) -> Iterator[str]:
    for decoded in code:
        for operand in decoded.operands:
            if decoded.classes & Op.VALU and operand.value is not None and _NUMBER.fullmatch(operand.text):
                yield operand.text


def _moves(part: Part, order: Dependences) -> Iterator[tuple[int, tuple[int, ...]]]:
    for number in range(part.length):
        index = part.first + number
        lowest = max((one + 1 for one in order.before[index]), default=0)
        highest = min(order.behind[index], default=part.end)
        slots = range(max(lowest, part.first), min(highest, part.end) + 1)
        places = tuple(slot - part.first for slot in slots if slot not in (index, index + 1))
        if places:
            yield number, places


def _forms(situation: Situation, code: Sequence[Decoded]) -> Iterator[Form]:
    """The two-source vector instructions of the code, and the fused forms of pairs of them that the GPU has."""
    bases = {decoded.base for decoded in code}
    for decoded in code:
        if _two_sources(decoded):
            yield Form(decoded.mnemonic, ("v1", _VALUE, "v1"))
    there = set(situation.isa.mnemonics())
    for fusion in FUSIONS:
        wanted = situation.options.mac_merge or not fusion.mac
        if wanted and {fusion.first, fusion.second} <= bases and fusion.fused in there:
            yield Form(fusion.fused, ("v1", *([_VALUE] * (len(fusion.order) - 1)), "v1"))


def _two_sources(decoded: Decoded) -> bool:
    """A vector instruction of one VGPR from two sources, without modifiers of any kind."""
    if len(decoded.operands) != 3 or decoded.modifiers or decoded.implicit_writes:
        return False
    if not decoded.classes & Op.VALU or decoded.classes & (Op.DPP | Op.SDWA | Op.VOPD | Op.VOPC):
        return False
    destination, _, last = decoded.operands
    return destination.role == Role.WRITE and _kind(destination) == _kind(last) == "v1"


def _possible(form: Form, names: dict[str, tuple[str, ...]]) -> bool:
    return all(names.get(kind) for kind in form.kinds)
