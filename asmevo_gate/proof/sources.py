"""Fetching the sources of an instruction: registers, numbers, source modifiers, half and byte selection, DPP."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from asmevo_gate.isa.form_key import DPP_CONTROLS
from asmevo_gate.isa.instruction import Decoded, Operand
from asmevo_gate.isa.registers import SPECIAL
from asmevo_gate.proof.constants import bits_of
from asmevo_gate.proof.operations import parts_of
from asmevo_gate.proof.state import MODE, SCC, State, is_vector
from asmevo_gate.proof.terms import Term

Fetch = Callable[[State], Term]


class Unsupported(Exception):
    """The operand or modifier has no meaning here; the instruction is then uninterpreted."""


class SourceModifiers(NamedTuple):
    """``negate`` and ``absolute`` as written around an operand, ``extend`` for SDWA's ``sext()``."""

    negate: bool = False
    absolute: bool = False
    extend: bool = False


def source_modifiers(text: str) -> SourceModifiers:
    """The modifiers in an operand's text: ``-v1``, ``|v1|``, ``neg(abs(v1))``, ``sext(v1)``."""
    negate = absolute = extend = False
    while True:
        text = text.strip()
        if text.startswith("-") and not text[1:2].isdigit() and not text.startswith("-."):
            negate, text = not negate, text[1:]
        elif len(text) > 2 and text[0] == text[-1] == "|":
            absolute, text = True, text[1:-1]
        elif match := re.match(r"(neg|abs|sext)\s*\((.*)\)$", text):
            negate, absolute, extend = (
                negate ^ (match[1] == "neg"), absolute or match[1] == "abs", extend or match[1] == "sext",
            )  # fmt: skip
            text = match[2]
        else:
            return SourceModifiers(negate, absolute, extend)


def flags(text: str | None, count: int, default: int) -> list[int]:
    """``[0,1,1]`` of op_sel and relatives, padded with the default.

    Raises:
        Unsupported: something else than 0 and 1 stands there.
    """
    values = [part.strip() for part in text.strip("[] ").split(",")] if text else []
    if not set(values) <= {"0", "1"}:
        raise Unsupported("flags that are not 0 or 1")
    return ([int(part) for part in values] + [default] * count)[:count]


def number(text: str) -> int:
    """A modifier's number, not negative.

    Raises:
        Unsupported: it is none.
    """
    if not re.fullmatch(r"0x[0-9a-fA-F]+|\d+", text.strip()):
        raise Unsupported("modifier that is no number")
    return int(text, 0)


_APERTURES = sum(1 << SPECIAL[name] for name in ("shared_base", "shared_limit", "private_base", "private_limit"))
"""Addresses that the hardware knows; they never change."""


def dword_fetch(operand: Operand, kind: str, width: int) -> Fetch:
    """The operand as a term of ``width`` (32 or 64) bits, without modifiers.

    Raises:
        Unsupported: see the class.
    """
    if operand.length:
        start, length = operand.start, operand.length
        if operand.mask & _APERTURES:
            return _symbolic(operand.text, width)
        if length * 32 != width:
            if length == 2 and width == 32:
                length = 1
            else:
                raise Unsupported("operand has another width")
        if start == SCC:
            return lambda state: state.terms.zext(state.read(start), width)
        if length == 1:
            return lambda state: state.read(start)
        return lambda state: state.terms.concat(state.read(start + 1), state.read(start))
    if operand.text.strip() in ("null", "src_null"):
        return lambda state: state.terms.const(0, width)
    if operand.value is None:
        return _symbolic(operand.text, width)
    bits = bits_of(operand.value, kind, width)
    if bits is None:
        return _symbolic(f"{operand.text} as {kind}{width}", width)
    return lambda state: state.terms.const(bits, width)


def _symbolic(text: str, width: int) -> Fetch:
    """A number that only the linker or the hardware knows: some constant, the same wherever the text is the same."""
    return lambda state: state.terms.apply(f"constant {text.strip()}", width, ())


def fetch(decoded: Decoded, operand: Operand, kind: str, position: int, count: int) -> Fetch:
    """A source with everything that selects and modifies it; ``position`` of ``count`` sources.

    Raises:
        Unsupported: see the class.
    """
    modifiers = decoded.modifiers
    if kind == "mix":
        return _mixed_fetch(operand, modifiers, position, count)
    letter, width = parts_of(kind)
    if kind.startswith("pk_"):
        return _packed_fetch(operand, letter, kind, modifiers, position, count)
    if decoded.variant == "sdwa":
        return _sdwa_fetch(operand, letter, width, modifiers, position)
    negate, absolute, _ = source_modifiers(operand.text) if not operand.value else SourceModifiers()
    if (negate or absolute) and letter != "f":
        raise Unsupported("source modifier on an integer")
    if width == 16:
        value = _half_fetch(operand, letter, modifiers, position, count)
    else:
        if operand.half is not None:
            if kind != "u32" or "op_sel" in modifiers:
                raise Unsupported("half of a register")
            # A 16-bit operand of a 32-bit instruction, such as a shift amount.
            half = _half_fetch(operand, letter, modifiers, position, count)
            return lambda state: state.terms.zext(half(state), 32)
        value = dword_fetch(operand, letter, width)
        if "op_sel" in modifiers:
            raise Unsupported("op_sel")
    if position == 0 and decoded.variant in ("dpp", "e64_dpp"):
        value = _through_dpp(value, decoded)
    if negate or absolute:
        return _signed(value, negate, absolute, width)
    return value


def _signed(value: Fetch, negate: bool, absolute: bool, width: int) -> Fetch:
    sign = 1 << (width - 1)

    def change(state: State) -> Term:
        terms, result = state.terms, value(state)
        if absolute:
            result = terms.concat(terms.const(0, 1), terms.extract(result, width - 2, 0))
        return terms.xor(result, terms.const(sign, width)) if negate else result

    return change


def _mixed_fetch(operand: Operand, modifiers: dict[str, str], position: int, count: int) -> Fetch:
    """A source of v_fma_mix: f16 where op_sel_hi is set, widened; there neg_hi is the absolute value."""
    half = flags(modifiers.get("op_sel_hi"), count, 0)[position]
    high = flags(modifiers.get("op_sel"), count, 0)[position]
    negate, absolute, _ = source_modifiers(operand.text) if operand.length else SourceModifiers()
    negate = negate != bool(flags(modifiers.get("neg_lo"), count, 0)[position])
    absolute = absolute or bool(flags(modifiers.get("neg_hi"), count, 0)[position])
    if not half:
        value = dword_fetch(operand, "f", 32)
        return _signed(value, negate, absolute, 32) if negate or absolute else value
    if not operand.length:
        raise Unsupported("half of a constant")
    start = operand.start

    def widen(state: State) -> Term:
        terms = state.terms
        part = terms.extract(state.read(start), 16 * high + 15, 16 * high)
        return terms.apply("float_widen.f16.f32", 32, (part, state.whole(MODE)))

    return _signed(widen, negate, absolute, 32) if negate or absolute else widen


def _half_fetch(operand: Operand, letter: str, modifiers: dict[str, str], position: int, count: int) -> Fetch:
    high = flags(modifiers.get("op_sel"), count + 1, 0)[position]
    if operand.half is not None:
        high = operand.half
    if not operand.length:
        if high:
            raise Unsupported("high half of a constant")
        return dword_fetch(operand, letter, 16)
    start = operand.start
    low_bit = 16 * high
    return lambda state: state.terms.extract(state.read(start), low_bit + 15, low_bit)


def _packed_fetch(
    operand: Operand, letter: str, kind: str, modifiers: dict[str, str], position: int, count: int
) -> Fetch:
    size = 32 if kind in ("pk_f32", "pk_b64") else 16
    low_from = flags(modifiers.get("op_sel"), count, 0)[position]
    high_from = flags(modifiers.get("op_sel_hi"), count, 1)[position]
    negate = (
        flags(modifiers.get("neg_lo"), count, 0)[position],
        flags(modifiers.get("neg_hi"), count, 0)[position],
    )
    if any(negate) and letter != "pk_f":
        raise Unsupported("neg on packed integers")
    if source_modifiers(operand.text) != SourceModifiers() and operand.length:
        raise Unsupported("source modifier on a packed operand")
    if kind == "pk_f32" and operand.length and not is_vector(operand.start):
        raise Unsupported("which half of a scalar pair is read differs between targets")
    whole = _packed_whole(operand, letter[-1], size)
    sign = 1 << (size - 1)

    def arrange(state: State) -> Term:
        terms, value = state.terms, whole(state)
        halves = [terms.extract(value, size * half + size - 1, size * half) for half in (high_from, low_from)]
        for place, minus in enumerate(reversed(negate)):
            if minus:
                halves[place] = terms.xor(halves[place], terms.const(sign, size))
        return terms.concat(*halves)

    return arrange


def _packed_whole(operand: Operand, letter: str, size: int) -> Fetch:
    if operand.length:
        return dword_fetch(operand, letter, 2 * size)
    value = operand.value
    if isinstance(value, int) and not -16 <= value <= 64 and 0 <= value < 1 << 32 and size == 16:
        number = value
        return lambda state: state.terms.const(number, 32)
    low = dword_fetch(operand, letter, size)
    high = _symbolic(f"high half of {operand.text} as {letter}{size}", size)
    return lambda state: state.terms.concat(high(state), low(state))


_SELECTIONS = {
    "DWORD": (31, 0), "WORD_0": (15, 0), "WORD_1": (31, 16), "BYTE_0": (7, 0), "BYTE_1": (15, 8),
    "BYTE_2": (23, 16), "BYTE_3": (31, 24),
}  # fmt: skip


def selected_bits(name: str) -> tuple[int, int]:
    """High and low bit of an SDWA selection.

    Raises:
        Unsupported: no such selection.
    """
    if name not in _SELECTIONS:
        raise Unsupported(f"SDWA selection {name}")
    return _SELECTIONS[name]


def _sdwa_fetch(operand: Operand, letter: str, width: int, modifiers: dict[str, str], position: int) -> Fetch:
    if width == 64:
        raise Unsupported("SDWA with 64 bits")
    high, low = selected_bits(modifiers.get(f"src{position}_sel", "DWORD")) if position < 2 else (31, 0)
    negate, absolute, extend = source_modifiers(operand.text)
    if (negate or absolute) and letter != "f":
        raise Unsupported("source modifier on an integer")
    if not operand.length:
        if (high, low) != (31, 0):
            raise Unsupported("SDWA selection of a constant")
        return dword_fetch(operand, letter, width)
    start = operand.start

    def select(state: State) -> Term:
        terms = state.terms
        value = terms.extract(state.read(start), high, low)
        if value.width < width:
            return terms.sext(value, width) if extend else terms.zext(value, width)
        return terms.extract(value, width - 1, 0)

    return _signed(select, negate, absolute, width) if negate or absolute else select


def _through_dpp(value: Fetch, decoded: Decoded) -> Fetch:
    control = dpp_control(decoded)
    if "fi" in control.split():
        raise Unsupported("DPP that reads inactive lanes")

    def permute(state: State) -> Term:
        source = value(state)
        return state.terms.apply(f"dpp.{control}", source.width, (source, state.active), binds=True)

    return permute


def dpp_control(decoded: Decoded) -> str:
    """Everything that decides which lane is read: ``quad_perm:[1,0,3,2]``, with ``zero`` (bound_ctrl) and ``fi``."""
    control = [f"{name}:{value}" for name, value in decoded.modifiers.items() if name in DPP_CONTROLS]
    if decoded.modifiers.get("bound_ctrl", "") != "":
        control.append("zero")
    if decoded.modifiers.get("fi", "0") not in ("0", ""):
        control.append("fi")
    return " ".join(control)


def dpp_enabled(decoded: Decoded, state: State) -> Term:
    """The lanes that a DPP instruction writes: active, in the masks, and reading a valid lane (or told to read 0)."""
    control = dpp_control(decoded)
    rows = " ".join(f"{number(decoded.modifiers.get(name, '0xf')):#x}" for name in ("row_mask", "bank_mask"))
    if "zero" in control.split() and rows == "0xf 0xf":
        return state.active
    if "dpp8" in control:
        return state.active
    terms = state.terms
    valid = terms.apply(f"dpp_valid.{rows}.{control}", 1, (state.active,), binds=True)
    return terms.and_(state.active, valid)


def register_dwords(operand: Operand, whole_wave: bool) -> list[Fetch]:
    """Each register of an operand, in every lane or in the active ones."""
    if whole_wave:
        return [_whole(register) for register in range(operand.start, operand.start + operand.length)]
    return [_read(register) for register in range(operand.start, operand.start + operand.length)]


def _whole(register: int) -> Fetch:
    return lambda state: state.whole(register)


def _read(register: int) -> Fetch:
    return lambda state: state.read(register) if is_vector(register) else state.whole(register)
