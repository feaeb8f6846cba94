"""Mutated rewrites of a region: one small change that mostly computes something else."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from asmevo_gate.isa.decoder import Isa
from asmevo_gate.isa.instruction import Decoded, NotDecoded

KINDS = ("operand swapped", "operand replaced", "destination changed", "instruction dropped", "order broken",
         "immediate changed", "mask changed", "instruction changed")  # fmt: skip
_REGISTER = re.compile(r"(?<![\w.\[:])(?P<bank>[vsa])(?:(?P<one>\d+)|\[(?P<first>\d+):(?P<last>\d+)\])(?!\w)")
_NUMBER = re.compile(r"(?<=[ ,])(-?(?:0x[0-9a-f]+|\d+))(?=,|$)")
_MASKS = ("vcc_lo", "vcc")
_ALIKE = (
    ("_add_", "_sub_"), ("_and_", "_or_"), ("_xor_", "_or_"), ("_lshlrev_", "_lshrrev_"), ("_lt_", "_le_"),
    ("_gt_", "_ge_"), ("_eq_", "_ne_"), ("_max_", "_min_"), ("_mul_f", "_add_f"), ("_lshl_", "_lshr_"),
    ("_u32", "_i32"), ("_lo_", "_hi_"), ("_add_", "_max_"),
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """Instructions from ``first`` on replaced by ``code`` (the rest of the region included)."""

    kind: str
    first: int
    code: tuple[Decoded, ...]


def mutate(code: tuple[Decoded, ...], isa: Isa, rng: random.Random) -> Mutant | None:
    """One random mutant; ``None`` when the change drawn cannot be made here or does not assemble."""
    kind = rng.choice(KINDS)
    place = rng.randrange(len(code))
    if kind == "instruction dropped":
        return Mutant(kind, place, code[place + 1 :])
    if kind == "order broken":
        other = rng.randrange(len(code))
        first, second = min(place, other), max(place, other)
        if first == second:
            return None
        return Mutant(kind, first, (code[second], *code[first + 1 : second], code[first], *code[second + 1 :]))
    text = _changed_text(kind, code[place].text, rng)
    if text is None or text == code[place].text:
        return None
    decoded = isa.decode(text)
    if isinstance(decoded, NotDecoded):
        return None
    return Mutant(kind, place, (decoded, *code[place + 1 :]))


def _changed_text(kind: str, text: str, rng: random.Random) -> str | None:
    if kind == "operand swapped":
        return _swapped(text, rng)
    if kind in ("operand replaced", "destination changed"):
        return _other_register(text, kind == "destination changed", rng)
    if kind == "immediate changed":
        return _other_number(text, rng)
    if kind == "mask changed":
        return _other_mask(text, rng)
    mnemonic, blank, rest = text.partition(" ")
    choices = [
        pair if pair[0] in mnemonic else pair[::-1] for pair in _ALIKE if pair[0] in mnemonic or pair[1] in mnemonic
    ]
    if not choices:
        return None
    old, new = rng.choice(choices)
    return mnemonic.replace(old, new, 1) + blank + rest


def _swapped(text: str, rng: random.Random) -> str | None:
    mnemonic, _, rest = text.partition(" ")
    operands = [part.strip() for part in rest.split(", ")]
    if len(operands) < 3 or "::" in text or "[" in operands[-1].partition(" ")[2]:
        return None
    last, _, modifiers = operands[-1].partition(" ")
    operands[-1] = last
    first, second = rng.sample(range(1, len(operands)), 2)
    operands[first], operands[second] = operands[second], operands[first]
    return f"{mnemonic} {', '.join(operands)} {modifiers}".rstrip()


def _other_register(text: str, destination: bool, rng: random.Random) -> str | None:
    found = list(_REGISTER.finditer(text))
    found = found[:1] if destination else found[1:]
    if not found:
        return None
    match = rng.choice(found)
    step = rng.choice((-2, -1, 1, 2, 3))
    if match["one"]:
        number = int(match["one"]) + step
        new = f"{match['bank']}{number}"
    else:
        number = int(match["first"]) + 2 * step
        new = f"{match['bank']}[{number}:{number + int(match['last']) - int(match['first'])}]"
    return text[: match.start()] + new + text[match.end() :] if number >= 0 else None


def _other_number(text: str, rng: random.Random) -> str | None:
    found = list(_NUMBER.finditer(text))
    if not found:
        return None
    match = rng.choice(found)
    value = int(match[1], 0)
    new = rng.choice((value + 1, value - 1, value ^ 1 << rng.randrange(6), -value, 0, value * 2))
    return text[: match.start()] + str(new) + text[match.end() :]


def _other_mask(text: str, rng: random.Random) -> str | None:
    for name in _MASKS:
        if re.search(rf"\b{name}\b", text):
            number = 2 * rng.randrange(0, 20)
            other = f"s{number}" if name == "vcc_lo" else f"s[{number}:{number + 1}]"
            return re.sub(rf"\b{name}\b", other, text, count=1).replace("_e32", "_e64")
    match = re.search(r"(row_mask|bank_mask):0x(\w)", text)
    if match:
        return text.replace(match[0], f"{match[1]}:0x{int(match[2], 16) ^ 1 << rng.randrange(4):x}")
    match = re.search(r"\bs\[(\d+):(\d+)\]", text)
    if match:
        return text.replace(match[0], "vcc", 1)
    return None
