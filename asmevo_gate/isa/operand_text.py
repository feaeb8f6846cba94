"""The text of one instruction, taken apart: mnemonic, operands, modifiers; and what one operand names.

Follows the AMDGPU assembly syntax (LLVM's "Syntax of AMDGPU Instruction Operands"), with the liberties that LLVM's
parser allows: blanks inside brackets, a missing comma between registers, commas between modifiers.
"""

from __future__ import annotations

import re

import msgspec

from asmevo_gate.errors import LimitError
from asmevo_gate.isa.registers import AGPR, PAIRS, SGPR, SPECIAL, TTMP, VGPR, Bank
from asmevo_gate.source.expressions import ExpressionError, UnresolvedError, parse_expression
from asmevo_gate.source.expressions import evaluate as evaluate_expression
from asmevo_gate.source.lines import NAME
from asmevo_gate.source.options import SourceLimits


class Slot(msgspec.Struct, frozen=True, gc=False):
    """What the text of one operand names, before the instruction says how it uses it.

    ``parts`` are the register intervals ``(start, length)``, one for a plain register, several for a list such as
    ``[v0, v4]``, none for a number or a label. ``elements`` are the intervals of a list as written, where ``parts``
    joins neighbours. ``symbolic`` is set when an index or number needs an unknown symbol;
    ``problem`` when the text is no operand at all (``v[4:2]``).
    """

    parts: tuple[tuple[int, int], ...] = ()
    half: int | None = None
    value: int | float | None = None
    symbolic: bool = False
    problem: str = ""
    elements: tuple[tuple[int, int], ...] = ()


class Tokens(msgspec.Struct, frozen=True, gc=False):
    """An instruction text in parts."""

    mnemonic: str
    operands: list[str]
    modifiers: dict[str, str]


WHOLE_OPERAND = frozenset(
    ("s_waitcnt", "s_waitcnt_depctr", "s_wait_alu", "s_delay_alu", "s_branch", "s_sendmsg", "s_sendmsghalt")
)
"""Mnemonics whose whole operand text is one operand, blanks, ``&``, ``|`` and commas included."""

FLAG_MODIFIERS = frozenset(
    [
        "glc",
        "slc",
        "dlc",
        "scc",
        "nv",
        "sc0",
        "sc1",
        "nt",
        "lds",
        "tfe",
        "lwe",
        "offen",
        "idxen",
        "addr64",
        "gds",
        "a16",
        "r128",
        "d16",
        "unorm",
        "da",
        "clamp",
        "high",
        "vm",
        "done",
        "compr",
        "row_en",
        "row_mirror",
        "row_half_mirror",
        "scale_offset",
        "matrix_a_reuse",
        "matrix_b_reuse",
        "noglc",
        "noslc",
        "nodlc",
        "nosc0",
        "nosc1",
        "nont",
        "notfe",
        "nolwe",
        "nod16",
        "nor128",
        "nounorm",
        "noda",
        "noclamp",
        "nogds",
        "nolds",
        "noa16",
    ]
)
"""Modifiers that are one word. Anything of the shape ``word:value`` is a modifier as well."""

_FLAT = ("flat_", "global_", "scratch_")
"""Families whose ``offset`` may be called ``inst_offset`` (AMDGPUAsmParser, parseFlatOffset)."""
_PIECE = re.compile(
    r"""\s*(?:(?P<comma>,)
    |(?P<word>(?:\[(?:[^\[\]]|\[[^\[\]]*\])*\]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\|[^|,\s]+\||[^\s,\[\]()])+)
    |(?P<stray>\S))""",
    re.X,
)
_KEY = re.compile(r"(?P<key>[a-z_][a-z0-9_]*)\s*:(?!:)\s*(?P<value>.*)$", re.S)
_CONTINUES = re.compile(r"[-+*/%&|^<>=!:]")
_REGISTER_LIKE = re.compile(
    r"-?(?:\|.*\||(?:-?(?:neg|abs|sext)\(.*\))|(?:v|s|a|acc|ttmp)(?:\d+|\[.*\])(?:\.[lh])?|vcc(?:_lo|_hi)?|off|null"
    r"|exec(?:_lo|_hi)?|m0)$"
)
_STARTS_OPERAND = re.compile(rf"{_REGISTER_LIKE.pattern}|-?\d")
"""What is an operand even without a comma before it: a register, or a number."""


_OPERAND = r"(?:[vsa](?:\d+|\[\d+:\d+\])|vcc|off|-?\d+|\.L\w+)"
_PLAIN = re.compile(rf"([a-z][a-z0-9_]*) +({_OPERAND}(?:, *{_OPERAND})*)(?: offset:(\d+))?\Z", re.A)
"""What most instructions are: plain registers, numbers and labels between commas, and perhaps an offset."""


def split(text: str) -> Tokens:
    """Take an instruction text apart. The mnemonic, and nothing else, may be in upper case."""
    return _plain_tokens(text) or _tokens(text)


def _plain_tokens(text: str) -> Tokens | None:
    """What :func:`_tokens` gives, in less time, for what most instructions are; ``None`` for the others."""
    plain = _PLAIN.match(text)
    if plain is None:
        return None
    mnemonic, operands, offset = plain.groups()
    if mnemonic in WHOLE_OPERAND:
        return None
    return Tokens(mnemonic, operands.replace(" ", "").split(","), {} if offset is None else {"offset": offset})


def _tokens(text: str) -> Tokens:
    mnemonic, _, rest = text.strip().partition(" ")
    if "\t" in mnemonic:
        mnemonic, _, more = mnemonic.partition("\t")
        rest = f"{more} {rest}"
    if not mnemonic.islower():
        mnemonic = mnemonic.lower()
    rest = rest.strip()
    if not rest:
        return Tokens(mnemonic, [], {})
    if mnemonic in WHOLE_OPERAND:
        return Tokens(mnemonic, [rest], {})
    return _pieces(mnemonic, rest)


def _pieces(mnemonic: str, rest: str) -> Tokens:
    operands: list[str] = []
    modifiers: dict[str, str] = {}
    expects = True
    last_key: str | None = None
    for match in _PIECE.finditer(rest):
        word = match["word"] or match["stray"]
        if word is None:
            expects = True
            continue
        key = _KEY.match(word)
        if key and not word.startswith("["):
            last_key, expects = key["key"], False
            if last_key == "inst_offset" and mnemonic.startswith(_FLAT):
                last_key = "offset"
            modifiers[last_key] = key["value"]
        elif word in FLAG_MODIFIERS and not (word == "a16" and expects and last_key is None):
            last_key, expects = word, False
            modifiers[word] = ""
        elif last_key is not None and (_CONTINUES.match(word) or _unfinished(modifiers[last_key], word)):
            modifiers[last_key] += word.lstrip(":") if not modifiers[last_key] else word
        elif expects and last_key is None:
            operands.append(word)
            expects = False
        elif last_key is None and operands and _joins(operands[-1], word):
            operands[-1] += " " + word
        elif last_key is None and (_STARTS_OPERAND.match(word) or (len(operands) == 1 and mnemonic == "exp")):
            operands.append(word)
        elif expects:
            operands.append(word)
            expects, last_key = False, None
        else:
            last_key = word
            modifiers[word] = ""
    return Tokens(mnemonic, operands, modifiers)


def _unfinished(value: str, word: str) -> bool:
    return (not value and word[0] in "[0123456789(") or bool(value and _CONTINUES.match(value[-1]))


def _joins(operand: str, word: str) -> bool:
    """True when ``word`` goes on with the expression ``operand`` (``1 + 2``); a register is never continued."""
    if _REGISTER_LIKE.match(operand):
        return False
    return bool(_CONTINUES.match(word) or _CONTINUES.match(operand[-1]) or operand in ("neg", "abs", "sext"))


_BANKS: dict[str, Bank] = {"v": VGPR, "s": SGPR, "a": AGPR, "acc": AGPR, "ttmp": TTMP}
_REGISTER = re.compile(
    r"(?P<bank>v|s|acc|a|ttmp)(?:(?P<number>\d+)|\s*\[(?P<first>[^\]:]+?)(?::(?P<last>[^\]]+?))?\s*\])"
    r"(?:\.(?P<half>[lh]))?$",
    re.A,
)
_NUMBER = re.compile(r"[-+]?(?:0x[0-9a-f]+|0b[01]+|\d+)$", re.A | re.I)
_FLOAT = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+(?=e))(?:e[-+]?\d+)?$", re.A | re.I)
_MOST_DIGITS = 80
"""More characters than any number of 64 bits has (66 in binary)."""
_UNMODELLED_NAMES = frozenset(("null", "off", "src_null"))
_SOURCE_NAMES = {f"src_{name}": name for name in SPECIAL}
MAX_LENGTH = 32
"""The longest register tuple, in dwords."""

_cache: dict[str, Slot] = {}


def slot(text: str) -> Slot:
    """What one operand text names; remembered per text."""
    known = _cache.get(text)
    if known is None:
        if len(_cache) > 200_000:
            _cache.clear()
        known = _cache[text] = _slot(text.strip())
    return known


def _slot(text: str) -> Slot:
    inner = _without_source_modifiers(text)
    match = _REGISTER.match(inner)
    if match:
        return _numbered(match)
    name = _SOURCE_NAMES.get(inner, inner)
    if name in PAIRS:
        return Slot(((SPECIAL[PAIRS[name]], 2),))
    if name in SPECIAL:
        return Slot(((SPECIAL[name], 1),))
    if inner in _UNMODELLED_NAMES:
        return Slot()
    if inner.startswith("[") and inner.endswith("]"):
        return _list(inner)
    return _value(text)


def _without_source_modifiers(text: str) -> str:
    """``-|v1|`` and ``neg(abs(v1))`` are ``v1``."""
    while True:
        before = text
        if text.startswith("-") and not text[1:2].isdigit():
            text = text[1:].strip()
        if len(text) > 2 and text[0] == text[-1] == "|":
            text = text[1:-1].strip()
        for word in ("neg", "abs", "sext"):
            if text.startswith(word) and text.endswith(")") and text[len(word) :].lstrip().startswith("("):
                text = text[len(word) :].strip()[1:-1].strip()
        if text == before:
            return text


def _numbered(match: re.Match[str]) -> Slot:
    bank = _BANKS[match["bank"]]
    if match["number"] is not None:
        if len(match["number"]) > _MOST_DIGITS:
            return Slot(problem="no such register")
        first = last = int(match["number"])
    else:
        low = evaluate(match["first"])
        high = low if match["last"] is None else evaluate(match["last"])
        if low is None or high is None:
            return Slot(symbolic=True)
        first, last = low, high
    if not 0 <= first <= last or last - first >= MAX_LENGTH:
        return Slot(problem="malformed register range")
    if last >= bank.count:
        return Slot(problem=f"no such register: {match['bank']}{last}")
    half = {"l": 0, "h": 1, None: None}[match["half"]]
    return Slot(((bank.start + first, last - first + 1),), half)


def _list(text: str) -> Slot:
    parts: list[tuple[int, int]] = []
    elements: list[tuple[int, int]] = []
    for element in text[1:-1].split(","):
        one = slot(element)
        if one.symbolic or one.problem:
            return one
        if len(one.parts) != 1:
            return Slot(problem="a register list holds registers only")
        start, length = one.parts[0]
        elements.append((start, length))
        if parts and parts[-1][0] + parts[-1][1] == start:
            parts[-1] = (parts[-1][0], parts[-1][1] + length)
        else:
            parts.append((start, length))
    return Slot(tuple(parts), elements=tuple(elements))


def _value(text: str) -> Slot:
    if _NUMBER.match(text):
        return _integer(text)
    if _FLOAT.match(text):
        return Slot(value=float(text))
    number = evaluate(text)
    return Slot(value=number)


def _integer(text: str) -> Slot:
    octal = re.match(r"[-+]?0\d", text) is not None
    if octal and ("8" in text or "9" in text):
        return Slot(problem="a number with a leading zero is octal")
    value = int(text, 8 if octal else 0) if len(text) <= _MOST_DIGITS else 1 << 64
    return Slot(value=value) if -(1 << 63) <= value < 1 << 64 else Slot(problem="the number does not fit 64 bits")


_LIMITS = SourceLimits()
_MAX_EXPRESSION = 1024
"""The longest index or number expression, in characters."""
_SYMBOL = re.compile(rf"(?!\.\d){NAME}\Z")


def evaluate(text: str) -> int | None:
    """The value of an integer expression; ``None`` when it is none, is too long, or needs a symbol."""
    text = text.strip()
    if text.isdecimal() and text.isascii() and len(text) < 10 and (text[0] != "0" or len(text) == 1):
        return int(text)
    if not text or len(text) > _MAX_EXPRESSION or _SYMBOL.match(text):
        return None
    try:
        parsed = parse_expression(text, 0, _LIMITS)
        return evaluate_expression(parsed.postfix, _no_symbol) if not text[parsed.end :].strip() else None
    except (ExpressionError, LimitError):
        return None


def _no_symbol(name: str) -> int:
    raise UnresolvedError(name)
