"""Text from checked files made fit to print: nothing invisible, nothing that a log, a page or a shell obeys.

Kernel names, messages and source lines come from files that a merge request may have written with intent.
Each function here is the one place where text of that kind is made harmless for one kind of reader.
"""

from __future__ import annotations

import re


def visible(text: str) -> str:
    """``text`` on one line with every character that does not print (control, bidirectional override, lone
    surrogate, line separator, private use) written as ``\\xNN``, ``\\uNNNN`` or ``\\UNNNNNNNN``; tabs as a
    blank.

    ``##[`` is broken up as well: a GitHub runner obeys it anywhere in a line of a log.
    """
    if not text.isprintable():
        text = "".join(c if c.isprintable() else _escaped(c) for c in text)
    return text.replace("##[", "##\\[")


def _escaped(character: str) -> str:
    code = ord(character)
    if character == "\t":
        return " "
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def one_line(text: str) -> str:
    """``visible`` of ``text`` with runs of blanks and line ends folded into one blank: for messages."""
    return visible(re.sub(r"[ \t\r\n]+", " ", text).strip(" "))


def clipped(text: str, limit: int) -> str:
    """At most ``limit`` characters of ``text``, with an ellipsis where it was cut."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def plural(number: int, noun: str) -> str:
    """``1 kernel``, ``2 kernels``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


_MARKDOWN = r"(?i)([\\`*_{}\[\]<>|~$&]|:(?=//|[\w+\-]+:)|(?<=www)\.|^[#+\-=]|(?<=^\d)[.)])"
_ORDERED = r"^(\d{2,9})([.)])"
_REFERENCE = r"([@#!~%&$])(?=\w)"


def markdown_text(text: str) -> str:
    """``text`` as Markdown prose that shows exactly these characters: no markup, HTML, table cell end or
    link.

    GitLab and GitHub look for mentions and references (``@name``, ``#12``, ``!12``) after Markdown is
    rendered, where an escape no longer helps: a zero-width space parts the sign from the name.
    """
    parted = re.sub(_REFERENCE, "\\1\u200b", one_line(text))
    return re.sub(_ORDERED, r"\1\\\2", re.sub(_MARKDOWN, r"\\\1", parted))


def markdown_code(text: str, in_table: bool = False) -> str:
    """``text`` as a Markdown code span, whatever back-quotes it holds; ``in_table`` also escapes the cell
    separator."""
    shown = visible(text)
    if not shown.strip():
        return "` `"
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    span = f"{fence}{pad}{shown}{pad}{fence}"
    return span.replace("|", "\\|") if in_table else span


def markdown_block(lines: list[str], language: str = "") -> str:
    """Lines as a fenced block that none of them can end."""
    shown = [visible(line) for line in lines]
    longest = max((len(run) for line in shown for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *shown, fence])


def xml_text(text: str) -> str:
    """``text`` with every line made visible: only characters that XML 1.0 allows remain."""
    return "\n".join(visible(line) for line in text.split("\n"))
