"""Symbols and expressions in operands: ``v[vgprC+4:vgprC+7]`` becomes ``v[12:15]``.

Everything that LLVM's AMDGPU parser would evaluate as an absolute expression is replaced by its decimal value:
register indices, immediates, modifier values, wait counts. Whatever has no value stays as written.
"""

from __future__ import annotations

import re
from functools import lru_cache

from asmevo_gate.source.expressions import FUNCTIONS, ExpressionError, Postfix, evaluate, parse_expression
from asmevo_gate.source.lines import NAME, is_computed
from asmevo_gate.source.options import SourceLimits
from asmevo_gate.source.symbols import SymbolTable

IDENTIFIERS = re.compile(NAME)
_COMMON_INDEX = re.compile(
    r"(?<![\w.$@])(v|s|a|acc|ttmp)\[([A-Za-z_][\w.$]*)(?:\+([0-9]{1,9}))?(?::([A-Za-z_][\w.$]*)(?:\+([0-9]{1,9}))?)?\]"
)
_REGISTER = re.compile(r"(?:v|s|a|acc|ttmp)\d+(?:\.[lh])?$")
_NAMED_REGISTERS = frozenset(
    {
        "vcc", "vcc_lo", "vcc_hi", "exec", "exec_lo", "exec_hi", "m0", "scc", "vccz", "execz", "null",
        "flat_scratch", "flat_scratch_lo", "flat_scratch_hi", "xnack_mask", "xnack_mask_lo", "xnack_mask_hi",
        "tba", "tba_lo", "tba_hi", "tma", "tma_lo", "tma_hi", "lds_direct", "src_lds_direct", "src_vccz",
        "src_execz", "src_scc", "src_shared_base", "src_shared_limit", "src_private_base",
        "src_private_limit", "src_pops_exiting_wave_id", "shared_base", "shared_limit", "private_base",
        "private_limit",
    }
)  # fmt: skip
_KEYWORDS = frozenset(
    {
        "glc", "slc", "dlc", "scc", "offen", "idxen", "addr64", "lds", "tfe", "gds", "clamp", "r128",
        "a16", "d16", "unorm", "lwe", "da", "nv", "sc0", "sc1", "nt", "done", "vm", "compr", "row_mirror",
        "row_half_mirror", "wave_shl", "wave_shr", "abs", "neg", "sext", "mul", "div",
    }
)  # fmt: skip
_TOKEN = re.compile(rf"[ \t]+|(?P<name>{NAME})|\d[\w.]*|\"(?:[^\"\\]|\\.)*\"|(?P<start>[-+~!(.'])|.", re.DOTALL)
_NOT_A_VALUE = re.compile(rf"(?!(?:{'|'.join(sorted(FUNCTIONS))})[ \t]*\(){NAME}[ \t]*(?:\(|:(?!:))")
"""The name of a modifier with its colon, or of a function such as ``vmcnt(``."""
_BRACKET = re.compile(r"[ \t]*\[")

Part = str | tuple[Postfix, str]
"""Text as it stands, or an expression with its text."""


_MOST_TEXTS = 50_000


@lru_cache(_MOST_TEXTS)
def identifiers(rest: str) -> frozenset[str]:
    """The names in an operand text; kernels repeat their operands."""
    return frozenset(IDENTIFIERS.findall(rest))


class OperandEvaluator:
    """Evaluates the operand texts of one assembly; remembers how each distinct text is built."""

    def __init__(self, symbols: SymbolTable, limits: SourceLimits) -> None:
        self._symbols = symbols
        self._limits = limits
        self._parts: dict[str, tuple[Part, ...]] = {}

    def evaluate(self, rest: str, computed: bool) -> str:
        """The operand text with every absolute expression replaced by its value.

        ``computed`` is whether :data:`asmevo_gate.source.lines.COMPUTED` occurs in it.
        """
        if "[" in rest and computed:
            rest = _COMMON_INDEX.sub(self._index, rest)
            computed = is_computed(rest)
        if not computed and self._symbols.names.isdisjoint(identifiers(rest)):
            return rest
        parts = self._parts.get(rest)
        if parts is None:
            if len(self._parts) > _MOST_TEXTS:
                self._parts.clear()
            parts = self._parts[rest] = self._split(rest)
        written: list[str] = []
        for part in parts:
            if isinstance(part, str):
                written.append(part)
                continue
            postfix, text = part
            if len(postfix) == 1 and isinstance(postfix[0], str) and _is_local(postfix[0]):
                written.append(self._symbols.numeric_reference(postfix[0]))
                continue
            try:
                written.append(str(evaluate(postfix, self._symbols.lookup)))
            except ExpressionError:
                written.append(self._rename_local_labels(postfix, text))
        return "".join(written)

    def _index(self, match: re.Match[str]) -> str:
        values = self._symbols.values
        prefix, low, low_add, high, high_add = match.groups()
        first = values.get(low)
        if first is None:
            return match[0]
        if low_add:
            first += int(low_add)
        if high is None:
            return f"{prefix}[{first}]"
        last = values.get(high)
        if last is None:
            return match[0]
        if high_add:
            last += int(high_add)
        return f"{prefix}[{first}:{last}]"

    def _split(self, rest: str) -> tuple[Part, ...]:
        parts: list[Part] = []
        position = 0
        brackets: list[bool] = []
        """For each open bracket whether it holds register indices."""
        while position < len(rest):
            match = _TOKEN.match(rest, position)
            assert match is not None
            token = match[0]
            name = match["name"]
            if name is not None:
                opening = _BRACKET.match(rest, match.end())
                if opening and name in ("v", "s", "a", "acc", "ttmp"):
                    parts.append(name + "[")
                    brackets.append(True)
                    position = self._skip_blanks(rest, opening.end())
                    continue
                if not (brackets and brackets[-1]) and (taken := _NOT_A_VALUE.match(rest, position)):
                    parts.append(taken[0])
                    position = taken.end()
                    continue
                if not (brackets and brackets[-1]) and (
                    name in _NAMED_REGISTERS or _REGISTER.match(name) or _is_keyword(name, rest, position)
                ):
                    parts.append(name)
                    position = match.end()
                    continue
            elif not (token[0].isdigit() or match["start"]):
                if token == "[":
                    brackets.append(False)
                elif token == "]" and brackets:
                    brackets.pop()
                if not (token.isspace() and brackets and brackets[-1]):
                    parts.append(token)
                position = match.end()
                continue
            try:
                parsed = parse_expression(rest, position, self._limits)
            except ExpressionError:
                parts.append(token)
                position = match.end()
                continue
            text = rest[position : parsed.end]
            plain_number = len(parsed.postfix) == 1 and isinstance(parsed.postfix[0], int)
            keeps = (plain_number and text[0] != "'") or self._is_register_text(parsed.postfix)
            if keeps and not (brackets and brackets[-1]):
                parts.append(text)
            else:
                parts.append((parsed.postfix, text))
            position = parsed.end
        return tuple(parts)

    @staticmethod
    def _skip_blanks(text: str, position: int) -> int:
        while text[position : position + 1] in (" ", "\t") and position < len(text):
            position += 1
        return position

    @staticmethod
    def _is_register_text(postfix: Postfix) -> bool:
        return any(
            isinstance(item, str) and (item in _NAMED_REGISTERS or _REGISTER.match(item) is not None)
            for item in postfix
        )

    def _rename_local_labels(self, postfix: Postfix, text: str) -> str:
        if not any(isinstance(item, str) and _is_local(item) for item in postfix):
            return text
        return re.sub(r"(?<![\w.$@])\d+[bf](?![\w.$@])", lambda match: self._symbols.numeric_reference(match[0]), text)


def _is_keyword(name: str, rest: str, position: int) -> bool:
    """True for a modifier without value; a symbol of the same name stands only where an operand starts."""
    if name == "off":
        return True
    if name not in _KEYWORDS:
        return False
    while position and rest[position - 1] in " \t":
        position -= 1
    return position > 0 and rest[position - 1] not in ",([:+-*/&|"


def _is_local(name: str) -> bool:
    return name[0].isdigit()
