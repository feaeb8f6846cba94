"""Damaged versions of good input, as strategies: most of it stays, so that the damage reaches deep code."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

_MOST_EDITS = 6
_EDGES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 63, (1 << 64) - 1)
_WORDS = (
    *("", " ", "\n", "\t", "0", "-1", "²", "٣", "9" * 30, "7" * 5000, "0x", "1e999", "nan", "-inf", "true", "null"),
    *(
        "[",
        "]",
        "{",
        "}",
        "(",
        ")",
        "<",
        ">",
        ":",
        "::",
        ",",
        ";",
        "//",
        "/*",
        "*/",
        "#",
        "\\",
        '"',
        "'",
        "|",
        "-",
        "+",
    ),
    *("*", "&", "!", "%", "@", "$", "~", "=", ".", "\0", "\r", "\x0b", "\x85", "\u2028", "\ufeff", "\ud800", "😀", "é"),
    *("v", "s", "v255", "s[0:1]", "a[0:3]", "vcc", "exec", "m0", "off", "null", "1.5", "neg(", "abs(", "sext("),
)


@st.composite
def damaged_bytes(draw: st.DrawFn, good: bytes) -> bytes:
    """Bytes with a few numbers of the edges of their types, and parts removed, repeated or cut off."""
    data = bytearray(good)
    for _ in range(draw(st.integers(1, _MOST_EDITS))):
        start = draw(st.integers(0, len(data)))
        size = draw(st.sampled_from((1, 2, 4, 8)))
        kind = draw(st.sampled_from("nnnnbrdc"))
        if kind == "n":
            number = draw(st.sampled_from(_EDGES)) & (1 << 8 * size) - 1
            data[start : start + size] = number.to_bytes(size, draw(st.sampled_from(("little", "big"))))
        elif kind == "b":
            data[start : start + size] = draw(st.binary(max_size=8))
        elif kind == "c":
            del data[start:]
        else:
            _move(data, kind, start, draw(st.integers(0, 64)))
    return bytes(data)


def _move(data: bytearray, kind: str, start: int, size: int) -> None:
    part = data[start : start + size]
    if kind == "r":
        data[start:start] = part
    else:
        del data[start : start + size]


@st.composite
def damaged_text(draw: st.DrawFn, good: str, words: tuple[str, ...] = _WORDS) -> str:
    """Text with a few words put in, replaced, removed or repeated."""
    text = good
    for _ in range(draw(st.integers(1, _MOST_EDITS))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        part = draw(st.one_of(st.sampled_from(words), st.text(max_size=3), st.just(text[start:end] * 2)))
        text = text[:start] + part + text[end:]
    return text


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=6),
        st.sampled_from((10**400, -(1 << 63))),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=8,
)
"""Any value that JSON can say, and numbers that it cannot."""


@st.composite
def damaged_value(draw: st.DrawFn, good: Any) -> Any:
    """A tree of maps and lists, in which a value or two are others, gone, or there twice."""
    found = good
    for _ in range(draw(st.integers(1, 3))):
        found = _damaged(draw, found)
    return found


def _damaged(draw: st.DrawFn, value: Any) -> Any:
    if isinstance(value, dict) and value and draw(st.integers(0, 7)):
        key = draw(st.sampled_from(sorted(value)))
        if not draw(st.integers(0, 7)):
            return {name: inner for name, inner in value.items() if name != key}
        return {**value, key: _damaged(draw, value[key])}
    if isinstance(value, list) and value and draw(st.integers(0, 7)):
        at = draw(st.integers(0, len(value) - 1))
        if not draw(st.integers(0, 7)):
            return [*value[:at], value[at], *value[at:]]
        return [*value[:at], _damaged(draw, value[at]), *value[at + 1 :]]
    return draw(VALUES)
