"""A text cut into logical lines, and a line into labels and one statement, as LLVM's lexer does for AMDGPU.

Comments are ``;`` and ``//`` up to the end of the line, ``/* */`` anywhere (also over lines), and ``#`` where a
statement may start (also after a label). There is no statement separator: ``;`` starts a comment (AMDGPUMCAsmInfo).
"""

from __future__ import annotations

import re
from enum import Enum


class Form(Enum):
    """What a piece of a line is before macros and directives are known."""

    LABEL = 0
    ASSIGNMENT = 1
    DIRECTIVE = 2
    INSTRUCTION = 3
    """An instruction or the use of a macro."""
    MALFORMED = 4
    """No statement can start like this."""


_LABEL_FORM, _DIRECTIVE_FORM, _INSTRUCTION_FORM = Form.LABEL, Form.DIRECTIVE, Form.INSTRUCTION
"""Looked up once: Python 3.11 takes as long for a member of an enumeration as for the rest of a short line."""

Piece = tuple[Form, str, str, str, int, int, bool]
"""One label or statement of a line: form, name, rest, text, offsets ``[start, end)`` in the line without outer
blanks, and whether the rest needs evaluation even where no symbol is defined. A plain tuple, because a large file
makes one for every line."""

Plain = tuple[str, str, str, int, int]
"""A line that is one instruction in lower case with nothing to evaluate: name, rest, text, and offsets as of a piece.
Nearly all lines of a large file are such lines."""
Cut = tuple[tuple[Piece, ...], Plain | None]
"""What a line is cut into, and the same as a plain line where it is one."""

NAME = r"[A-Za-z_.$@?][A-Za-z0-9_.$@?]*"
"""An identifier of LLVM's AsmLexer."""

_PLAIN_LINE = re.compile(rf"[ \t]*({NAME})([^;/\"'\r\n]*)(?:(?:;|//).*|\r)?")
_BLANK_LINE = re.compile(r"[ \t]*(?:(?:;|//|#).*|\r)?")
_AFTER_NAME = re.compile(r"[ \t]*[:=]")
_LABEL = re.compile(rf"[ \t\0]*({NAME}|\"[^\"]*\"|\d+)[ \t\0]*:")
_NAME = re.compile(rf"({NAME}|\"[^\"]*\")")
COMPUTED = re.compile(
    r"""(?:^|[^\w.])(?:v|s|a|acc|ttmp)\ *\[(?!\d+(?::\d+)?\])"""
    r"""|[*%~^]|[<>]{2}|[\w)]\s*\+|[\w)]\s*[-/](?=\s*[\w(.])|\(\s*[-(]|'|(?:^|[^\w.$@])\d+[bf](?![\w.$@])"""
)
"""What needs evaluation even where no symbol is defined: operators, computed register indices, ``1b``."""

_MAY_BE_COMPUTED = re.compile(r"[-*%~^<>+'/(]")
_ODD_BRACKET = re.compile(r"\[(?!\d+(?::\d+)?\])")
_BLANKS = " \t\0\r\n"
_LEXEME = re.compile(
    r"""(?P<code>[^;/"'\r\n]+)|(?P<string>"[^"\\]*(?:\\.[^"\\]*)*")|(?P<character>'(?:\\[^\n]|[^\\\n])'?)"""
    r"""|(?P<line_comment>(?:;|//)[^\r\n]*)|(?P<block_comment>/\*.*?\*/)|(?P<open>/\*|")|(?P<end>\r?\n|\r)|(?P<other>.)""",
    re.DOTALL,
)


def logical_lines(text: str) -> list[str]:
    """The lines of ``text`` without their line feeds; lines joined by a block comment or a string over their end
    are one logical line, which then contains line feeds."""
    lines = text.split("\n")
    if not _may_go_on(text):
        return lines
    joined: list[str] = []
    index = offset = 0
    while index < len(lines):
        line = lines[index]
        if ("/*" in line or '"' in line) and unterminated(line):
            line = text[offset : _logical_end(text, offset)]
            index += line.count("\n")
        joined.append(line)
        index += 1
        offset += len(line) + 1
    return joined


def _may_go_on(text: str) -> bool:
    """Whether some line of the text, seen alone, ends in a block comment or in a string."""
    for mark in ("/*", '"'):
        position = text.find(mark)
        while position >= 0:
            end = text.find("\n", position)
            if unterminated(text[text.rfind("\n", 0, position) + 1 : end if end >= 0 else len(text)]):
                return True
            position = text.find(mark, end) if end >= 0 else -1
    return False


def _logical_end(text: str, position: int) -> int:
    """The offset of the line feed that ends the logical line which starts at ``position``."""
    while match := _LEXEME.match(text, position):
        if match.lastgroup == "open":
            break
        if match.lastgroup == "end" and match[0] != "\r":
            return match.end() - 1
        position = match.end()
    return len(text)


def unterminated(line: str) -> str:
    """``/*`` or ``"`` when a block comment or a string is still open at the end of ``line``, else the empty string."""
    position = 0
    while match := _LEXEME.match(line, position):
        if match.lastgroup == "open":
            return match[0]
        position = match.end()
    return ""


def blank_comments(line: str) -> str:
    """The line with the characters of its comments replaced by NUL, so that offsets stay."""
    parts: list[str] = []
    position = 0
    while match := _LEXEME.match(line, position):
        group = match.lastgroup
        if group in ("line_comment", "block_comment"):
            parts.append("\0" * (match.end() - position))
        elif group == "open" and match[0] == "/*":
            parts.append("\0" * (len(line) - position))
            break
        else:
            parts.append(match[0])
        position = match.end()
    return "".join(parts)


def pieces_of(line: str) -> tuple[Piece, ...]:
    """The labels and the statement of one logical line; empty for a blank or a comment."""
    match = _PLAIN_LINE.fullmatch(line)
    if match:
        name, rest = match.groups()
        start = match.start(1)
        if ":" in rest or "=" in rest:
            if not rest.strip(" \t:") and rest.count(":") == 1:
                end = match.start(2) + rest.index(":") + 1
                return ((_LABEL_FORM, name, "", line[start:end], start, end, False),)
            if _AFTER_NAME.match(rest):
                return _cut(line[: match.end(2)])
        rest = rest.rstrip()
        end = start + len(name) + len(rest)
        form = _DIRECTIVE_FORM if name[0] == "." and name != "." else _INSTRUCTION_FORM
        return ((form, name, rest.lstrip(), line[start:end], start, end, is_computed(rest)),)
    if _BLANK_LINE.fullmatch(line):
        return ()
    return _cut(blank_comments(line))


def cut(line: str) -> Cut:
    """One logical line in pieces; one that goes over several lines of the text is never plain."""
    pieces = pieces_of(line)
    if len(pieces) != 1 or "\n" in line:
        return pieces, None
    form, name, rest, text, start, end, computed = pieces[0]
    if form is not _INSTRUCTION_FORM or computed or not name.islower():
        return pieces, None
    return pieces, (name, rest, text, start, end)


def is_computed(rest: str) -> bool:
    """True when :data:`COMPUTED` occurs in an operand text; most texts are decided without that search."""
    return (
        _MAY_BE_COMPUTED.search(rest) is not None
        or ("[" in rest and _ODD_BRACKET.search(rest) is not None)
        or rest[-1:] in ("b", "f")
        or "b," in rest
        or "f," in rest
    ) and COMPUTED.search(rest) is not None


def _cut(code: str) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    position = 0
    while match := _LABEL.match(code, position):
        start, end = match.start(1), match.end()
        pieces.append((Form.LABEL, match[1].strip('"'), "", _clean(code[start:end]), start, end, False))
        position = end
    end = len(code.rstrip(_BLANKS))
    while position < end and code[position] in _BLANKS:
        position += 1
    if position >= end or code[position] == "#":
        return tuple(pieces)
    text = _clean(code[position:end])
    name_match = _NAME.match(code, position)
    if not name_match:
        pieces.append((Form.MALFORMED, "", text, text, position, end, False))
        return tuple(pieces)
    name = name_match[1].strip('"')
    rest = _clean(code[name_match.end() : end])
    computed = is_computed(rest)
    if rest[:1] == "=" and rest[:2] != "==":
        pieces.append((Form.ASSIGNMENT, name, rest[1:].lstrip(), text, position, end, computed))
    else:
        form = Form.DIRECTIVE if name[:1] == "." and name != "." else Form.INSTRUCTION
        pieces.append((form, name, rest, text, position, end, computed))
    return tuple(pieces)


def _clean(code: str) -> str:
    if "\0" in code:
        code = re.sub(r"\0+", " ", code)
    return code.strip(_BLANKS)
