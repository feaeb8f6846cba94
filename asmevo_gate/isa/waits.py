"""What a wait instruction waits for: counter limits of ``s_waitcnt*`` / ``s_wait_*``, fields of
``s_waitcnt_depctr`` / ``s_wait_alu``. Encodings per target family are data in ``data/waits.json``.
"""

from __future__ import annotations

import re
from functools import cache

import msgspec

from asmevo_gate.isa.data_files import read_data
from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.isa.operand_text import evaluate
from asmevo_gate.isa.targets import Target

Field = list[tuple[int, int]]
"""Pieces ``(lowest bit, number of bits)`` of one field, the low piece first."""


class _Dialect(msgspec.Struct, frozen=True, kw_only=True):
    source: list[str]
    packed: dict[str, dict[str, Field]]
    """Mnemonics whose immediate holds several counters."""
    all_if_any: dict[str, dict[str, Field]] = {}
    """Mnemonics of older targets that wait for all counters as soon as one of their fields is below its maximum."""
    single: dict[str, str]
    """Mnemonics whose last operand is the limit of one counter."""
    counters: dict[str, int]
    """Counters of the target -> largest value, which means "do not wait"."""


class _Mnemonics(msgspec.Struct, frozen=True):
    mnemonics: list[str]
    source: list[str]


class _DepctrFields(msgspec.Struct, frozen=True):
    mnemonics: list[str]
    source: list[str]
    fields: dict[str, tuple[int, int]]


class _Waits(msgspec.Struct, frozen=True):
    schema: str
    sources: dict[str, str]
    dialects: dict[str, _Dialect]
    wait_for_all: _Mnemonics
    no_counter: _Mnemonics
    depctr: _DepctrFields


@cache
def _waits() -> _Waits:
    return msgspec.json.decode(read_data("waits.json"), type=_Waits)


def counter_limits(target: Target) -> dict[str, int]:
    """The memory counters of a target, each with its largest value (a wait for it waits for nothing)."""
    return _waits().dialects[target.facts["waitcnt"]].counters


def decode_wait(decoded: Decoded, target: Target) -> dict[str, int] | None:
    """The counters that the instruction waits for: ``{"vmcnt": 3}`` means "until vmcnt is at most 3".

    A counter whose field stands at its maximum is left out. Instructions that wait for no counter give ``{}``.
    ``None`` means unknown: a symbolic or register count, a value that does not fit the counter, or a form
    whose effect on the target no source describes. Ask ``decoded.of(Op.WAIT)`` first
    where "no wait instruction" and "waits for nothing" must be told apart.
    """
    waits = _waits()
    dialect = waits.dialects[target.facts["waitcnt"]]
    mnemonic = decoded.mnemonic
    if mnemonic in dialect.packed:
        return _packed(decoded.operands[0].text, dialect.packed[mnemonic])
    if mnemonic in dialect.single:
        return _single(decoded, dialect.single[mnemonic], dialect)
    if mnemonic in dialect.all_if_any:
        limits = _packed(decoded.operands[0].text, dialect.all_if_any[mnemonic])
        return dict.fromkeys(dialect.counters, 0) if limits else limits
    if mnemonic in waits.wait_for_all.mnemonics:
        return dict.fromkeys(dialect.counters, 0)
    if mnemonic in waits.no_counter.mnemonics or not mnemonic.startswith(("s_waitcnt", "s_wait_")):
        return {}
    return None


def waits_for_all(decoded: Decoded, target: Target) -> bool:
    """True for a wait that names no counter of the target: it waits for all of them."""
    waits = _waits()
    names = (*waits.wait_for_all.mnemonics, *waits.dialects[target.facts["waitcnt"]].all_if_any)
    return decoded.mnemonic in names


def decode_depctr(decoded: Decoded, target: Target) -> dict[str, int] | None:
    """The fields of ``s_waitcnt_depctr`` / ``s_wait_alu`` below their maximum: ``{"va_vdst": 0}``.

    ``{}`` for every other instruction, ``None`` when the immediate is not known.
    """
    depctr = _waits().depctr
    if decoded.mnemonic not in depctr.mnemonics:
        return {}
    text = decoded.operands[0].text
    fields: dict[str, Field] = {name: [place] for name, place in depctr.fields.items()}
    return _packed(text, {f"depctr_{name}": place for name, place in fields.items()}, "depctr_")


_NAMED = re.compile(
    r"\s*(?P<name>[a-z_]+?)(?P<saturate>_sat)?\s*\((?P<value>(?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)\s*"
)
_SEPARATOR = re.compile(r"\s*[&,]?\s*")


def _packed(text: str, fields: dict[str, Field], prefix: str = "") -> dict[str, int] | None:
    if not _NAMED.match(text) or text.lstrip().startswith("("):
        number = evaluate(text)
        if number is None or not -(1 << 15) <= number < 1 << 16:
            return None
        found = {name: _extract(number, place) for name, place in fields.items()}
    else:
        found = {}
        position = 0
        while position < len(text):
            match = _NAMED.match(text, position)
            if match is None or match["name"] not in fields:
                return None
            value = evaluate(match["value"])
            largest = _largest(fields[match["name"]])
            if value is not None and match["saturate"]:
                value = min(value, largest)
            if value is None or not 0 <= value <= largest:
                return None
            found[match["name"]] = value
            separator = _SEPARATOR.match(text, match.end())
            position = separator.end() if separator else match.end()
    return {name[len(prefix) :]: value for name, value in found.items() if value < _largest(fields[name])}


def _single(decoded: Decoded, counter: str, dialect: _Dialect) -> dict[str, int] | None:
    """One counter. A register operand is added to the immediate, so that the count is unknown."""
    limit = decoded.operands[-1].value
    largest = dialect.counters[counter]
    if any(operand.length for operand in decoded.operands) or not isinstance(limit, int) or limit > largest:
        return None
    return {counter: limit} if limit < largest else {}


def _extract(number: int, places: Field) -> int:
    value = shift = 0
    for low, width in places:
        value |= (number >> low & ((1 << width) - 1)) << shift
        shift += width
    return value


def _largest(places: Field) -> int:
    return (1 << sum(width for _, width in places)) - 1


def wait_text(counter: str, count: int, target: Target) -> str:
    """The instruction of the target that waits until ``counter`` is at most ``count``."""
    dialect = _waits().dialects[target.facts["waitcnt"]]
    for mnemonic, fields in dialect.packed.items():
        if mnemonic == "s_waitcnt" and counter in fields:
            return f"s_waitcnt {counter}({count})"
    for mnemonic, single in dialect.single.items():
        if single == counter:
            return f"{mnemonic} {'null, ' if mnemonic.startswith('s_waitcnt_') else ''}{count:#x}"
    raise KeyError(f"{target.name} has no counter {counter}")


def weaker_wait(decoded: Decoded, target: Target, counter: str, count: int | None) -> str:
    """The wait instruction with another count for one counter (``None``: without it), ``;`` between the instructions
    where the target has no single one; empty when nothing is left to wait for.

    Raises:
        ValueError: the instruction is no wait with known counts.
    """
    limits = decode_wait(decoded, target)
    if not limits:
        raise ValueError(f"'{decoded.text}' is no wait with known counts")
    largest = counter_limits(target)
    wanted = {name: count if name == counter else limit for name, limit in limits.items()}
    texts = [
        wait_text(name, limit, target) for name, limit in wanted.items() if limit is not None and limit < largest[name]
    ]
    packed = [text.removeprefix("s_waitcnt ") for text in texts if text.startswith("s_waitcnt ")]
    others = [text for text in texts if not text.startswith("s_waitcnt ")]
    return "; ".join([*([f"s_waitcnt {' '.join(packed)}"] if packed else []), *others])
