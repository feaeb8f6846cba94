"""Compares what the package says of an instruction line with what LLVM's descriptions say.

A difference counts as explained only when a rule of ``hand_rules.json`` or one of the partial writes in
:data:`PARTIAL_WRITES` accounts for every register of it; everything else is a disagreement.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from descriptions import Descriptions, implicit_mask
from hand_rules import HandRules
from llvm_program import Assembled, assemble

from asmevo_gate.isa.decoder import Isa, isa_for
from asmevo_gate.isa.form_key import DPP_CONTROLS
from asmevo_gate.isa.instruction import Decoded, NotDecoded
from asmevo_gate.isa.operand_text import split
from asmevo_gate.isa.registers import M0
from asmevo_gate.isa.targets import find_target

DATA = Path(__file__).parents[2] / "asmevo_gate/isa/data"
PARTIAL_WRITES = {
    "sdwa_preserve": "dst_unused:UNUSED_PRESERVE (the default) leaves the unselected bits: LLVM's encoded SDWA "
    "instructions have no operand for the old value",
    "half": "a write of v1.l or v1.h leaves the other half: LLVM tracks halves as register units, the line has dwords",
    "op_sel": "op_sel chooses the high half of the destination: LLVM has no operand for the rest",
}
UNAVAILABLE = re.compile(
    r"not supported on this GPU|instruction not supported|variant of this instruction is not "
    r"supported|invalid instruction|not a valid operand|modifier is not supported|is not supported on this GPU"
)


class Verdict(NamedTuple):
    """``kind``: ``equal``, ``explained`` (``detail`` names the rule), ``different``, ``not_decoded`` (LLVM accepts the
    line), ``refused`` (so does LLVM), ``lenient`` (LLVM rejects the line as unavailable, the package decodes it)
    ``rejected`` (LLVM rejects the operands for another reason), or ``exception`` (``detail`` names an entry of
    ``exceptions.json``)."""

    target: str
    text: str
    kind: str
    detail: str = ""


class KnownException(NamedTuple):
    """An entry of ``exceptions.json``: lines on which the two sides are known to differ, with the reason and a line
    (target, text) that shows it."""

    name: str
    kinds: tuple[str, ...]
    error: str
    text: str
    reason: str
    example: tuple[str, str]

    def covers(self, verdict: Verdict) -> bool:
        """True when the verdict is of this exception."""
        return bool(
            verdict.kind in self.kinds and re.search(self.error, verdict.detail) and re.search(self.text, verdict.text)
        )


def known_exceptions() -> tuple[KnownException, ...]:
    """The entries of the file, in its order."""
    document = json.loads(Path(__file__).with_name("exceptions.json").read_text())
    return tuple(
        KnownException(
            row["name"],
            tuple(row["kinds"]),
            row["error"],
            row["text"],
            row["reason"],
            (row["example"][0], row["example"][1]),
        )
        for row in document["exceptions"]
    )


class Comparison:
    """Both sides for one machine (target and wave size)."""

    def __init__(self, program: Path, descriptions: Descriptions, target: str, wave_size: int) -> None:
        self.program = program
        self.descriptions = descriptions
        self.target = find_target(target)
        self.wave_size = wave_size
        default = self.target.wave_sizes[0]
        self.machine = target if wave_size == default else f"{target},+wavefrontsize{wave_size}"
        self.isa: Isa = isa_for(self.target, wave_size)
        self._rules = HandRules.load()
        self._exceptions = known_exceptions()

    def run(self, lines: Iterable[str]) -> list[Verdict]:
        """A verdict for each line."""
        return [
            self._except(self._judge(text, assembled))
            for text, assembled in assemble(self.program, self.machine, lines)
        ]

    def _except(self, verdict: Verdict) -> Verdict:
        for known in self._exceptions:
            if known.covers(verdict):
                return verdict._replace(kind="exception", detail=known.name)
        return verdict

    def _judge(self, text: str, assembled: Assembled) -> Verdict:
        ours = self.isa.decode(text)
        name = self.machine
        if assembled.error:
            if isinstance(ours, NotDecoded):
                return Verdict(name, text, "refused", assembled.error)
            kind = "lenient" if UNAVAILABLE.search(assembled.error) else "rejected"
            return Verdict(name, text, kind, assembled.error)
        if isinstance(ours, NotDecoded):
            return Verdict(name, text, "not_decoded", f"{ours.kind}: {ours.reason}")
        return self._compare(text, ours, assembled)

    def _compare(self, text: str, ours: Decoded, assembled: Assembled) -> Verdict:
        opcode = self.descriptions.opcodes[assembled.opcode]
        written, read = self.descriptions.explicit(assembled)
        for implicit in opcode.implicit_defs:
            written |= implicit_mask(implicit, self.wave_size)
        for implicit in opcode.implicit_uses:
            read |= implicit_mask(implicit, self.wave_size)
        if (written, read) == (ours.writes, ours.reads):
            return Verdict(self.machine, text, "equal")
        if ours.has_indexed:
            return Verdict(self.machine, text, "explained", "indirect_register")
        more, less = ours.reads & ~read, read & ~ours.reads
        reasons: list[str] = []
        if written == ours.writes:
            if more and not more & ~ours.keeps:
                reason = self._partial(ours, assembled)
                if reason:
                    reasons.append(reason)
                    more = 0
            if less == M0 and opcode.name.startswith(("DS_", "S_BARRIER", "S_GET_BARRIER")):
                reasons.append("lds_without_m0" if opcode.name.startswith("DS_") else "barrier_immediate_without_m0")
                less = 0
            elif less and not less & ~ours.writes and "bound_ctrl" in ours.modifiers:
                reasons.append("dpp_old_value")
                less = 0
            if not more and not less:
                return Verdict(self.machine, text, "explained", "+".join(reasons))
        detail = f"{opcode.name}: reads +{more:x} -{less:x} writes {ours.writes ^ written:x}"
        return Verdict(self.machine, text, "different", detail)

    def _partial(self, ours: Decoded, assembled: Assembled) -> str:
        if ours.variant == "sdwa":
            return "sdwa_preserve"
        if any(operand.half is not None for operand in ours.operands):
            return "half"
        if "op_sel" in ours.modifiers:
            return "op_sel"
        first = ours.operands[0]
        if ours.keeps == first.mask and first.length == 1 and self._rules.keeps_high_half(self.target.name):
            return "half_result"
        opcode = self.descriptions.opcodes[assembled.opcode]
        for rule in ("partial_result", "conditional_destination"):
            if self._rules.concerns(rule, ours.base, opcode, self.descriptions):
                return rule
        return ""


_OF_MEMORY = (
    "offset:0", "offset:16", "glc", "slc", "dlc", "sc0", "sc1", "nt", "scope:SCOPE_DEV",
    "th:TH_LOAD_NT", "th:TH_STORE_NT",
)  # fmt: skip


def with_modifier(text: str, random_source: random.Random) -> str:
    """The same instruction with one more modifier, whose value may or may not be one that the encoding can hold."""
    if not text.startswith("v_"):
        return text if split(text).modifiers else f"{text} {random_source.choice(_OF_MEMORY)}"
    document = json.loads((DATA / "modifier_values.json").read_text())
    name = random_source.choice([*document["ranges"], *document["numbers"], *document["names"], *document["bits"]])
    modifiers = split(text).modifiers
    if "::" in text or name in modifiers or (modifiers and not modifiers.keys() & DPP_CONTROLS):
        return text  # LLVM wants modifiers in the order in which it prints them; the package takes any.
    if name in document["bits"]:
        bits = random_source.choices(("0", "1", "-1", "2"), (5, 5, 1, 1), k=random_source.randint(1, 5))
        return f"{text} {name}:[{','.join(bits)}]"
    if name in document["names"]:
        return f"{text} {name}:{random_source.choice([*document['names'][name], 'NOTHING', '0', '7'])}"
    low, high = document["ranges"].get(name) or (min(document["numbers"][name]), max(document["numbers"][name]))
    return f"{text} {name}:{random_source.choice((low - 1, low, (low + high) // 2, high, high + 1))}"


_REGISTER = re.compile(r"\b([vsa])(?:(\d+)|\[(\d+):(\d+)\])(?!\w)")


def with_other_registers(text: str, random_source: random.Random) -> str:
    """The same instruction on other registers, which may overlap; tuples stay aligned."""

    def other(match: re.Match[str]) -> str:
        bank, one, first, last = match.groups()
        count = 1 if one else int(last) - int(first) + 1
        top = 100 - count if bank == "s" else 250 - count
        start = random_source.randrange(0, max(top, 1))
        if count > 1:
            start -= start % (4 if bank == "s" else 2)
        return f"{bank}{start}" if one else f"{bank}[{start}:{start + count - 1}]"

    return text if "::" in text else _REGISTER.sub(other, text)
