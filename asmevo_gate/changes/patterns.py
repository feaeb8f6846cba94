"""File name patterns, read as ``.gitignore`` reads them, so that one pattern means the same everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

ASSEMBLY = ("*.s", "*.S", "*.asm", "*.co", "*.hsaco")
"""Names of assembly sources and code objects unless the settings say otherwise."""


class Patterns:
    """A set of patterns. A path matches the set when it matches one of them.

    A pattern without a slash is compared with the last component of the path; one with a slash with the
    whole path from the root. ``*`` and ``?`` stop at a slash, ``**`` does not, ``[abc]`` and ``[!abc]`` are
    sets. Upper and lower case differ. A pattern that ends in a slash stands for everything below that
    folder.
    """

    __slots__ = ("_expression", "texts")

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(texts)
        joined = "|".join(_translate(text) for text in self.texts)
        self._expression = re.compile(joined, re.DOTALL) if joined else None

    def matches(self, path: str) -> bool:
        """Whether a path, relative to the root and with forward slashes, matches."""
        return self._expression is not None and self._expression.fullmatch(path) is not None

    def pathspecs(self) -> list[str]:
        """The same set as git pathspecs that count from the top of the work tree."""
        return [":(top,glob)" + _anchored(text) for text in self.texts]


@lru_cache(maxsize=64)
def patterns(texts: tuple[str, ...]) -> Patterns:
    """The compiled set of some patterns."""
    return Patterns(texts)


def _anchored(text: str) -> str:
    if text.endswith("/"):
        text += "**"
    return text[1:] if text.startswith("/") else text if "/" in text else "**/" + text


def _translate(text: str) -> str:
    """The regular expression of one pattern."""
    text = _anchored(text)
    out: list[str] = []
    at = 0
    while at < len(text):
        if text.startswith("**/", at) and (at == 0 or text[at - 1] == "/"):
            out.append("(?:[^/]+/)*")
            at += 3
        elif text.startswith("**", at):
            out.append(".*")
            at += 2
        elif text[at] == "*":
            out.append("[^/]*")
            at += 1
        elif text[at] == "?":
            out.append("[^/]")
            at += 1
        elif text[at] == "[" and (end := text.find("]", at + 2)) != -1:
            out.append(_set(text[at + 1 : end]))
            at = end + 1
        else:
            out.append(re.escape(text[at]))
            at += 1
    return f"(?:{''.join(out)})"


def _set(body: str) -> str:
    """The expression of a set of characters, given what is between its brackets."""
    negated = body.startswith(("!", "^"))
    items: list[str] = []
    rest = body[1:] if negated else body
    while rest:
        if len(rest) >= 3 and rest[1] == "-":
            if rest[0] <= rest[2]:
                items.append(f"{re.escape(rest[0])}-{re.escape(rest[2])}")
            rest = rest[3:]
        else:
            items.append(re.escape(rest[0]))
            rest = rest[1:]
    if not items:
        return "[^/]" if negated else "(?!)"
    return f"(?!/)[{'^' if negated else ''}{''.join(items)}]"
