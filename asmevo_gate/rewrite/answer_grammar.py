"""The language of answers: a GBNF grammar that a model cannot leave, and the reader that trusts none of it.

An answer is up to a few edits, one a line, and ``done``::

    move 3 before 1
    delete 4
    set 2.1 v9
    insert v_mov_b32 v9, v4 before 2
    write 5: v_lshl_add_u32 v8, v4, 4, v5
    done
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from asmevo_gate.rewrite.answer_vocabulary import Form, Vocabulary
from asmevo_gate.rewrite.edit_script import Delete, Edit, EditScript, InsertMove, Move, Replace, ReplaceOperand

MOST_EDITS = 8
"""Edits of one answer."""
DONE = "done"


class AnswerError(ValueError):
    """A text that is no answer in this vocabulary."""


def grammar(words: Vocabulary, edits: int = MOST_EDITS) -> str:
    """The grammar of all answers with at most ``edits`` edits. Every repetition is bounded."""
    rules = {f"k{at}": _any(names) for at, names in enumerate(words.names.values()) if names}
    rule_of = {kind: f"k{at}" for at, kind in enumerate(words.names)}

    def operands(form: Form) -> str:
        return ' ", " '.join(rule_of[kind] for kind in form.kinds)

    number = _any(map(str, range(words.part.length)))
    rules["slot"] = _any(map(str, range(words.part.length + 1)))
    rules["number"] = number
    kinds = {"delete": '"delete " number'}
    if words.moves:
        places: dict[tuple[int, ...], list[int]] = {}
        for one, slots in words.moves:
            places.setdefault(slots, []).append(one)
        moves = [f'({_any(map(str, ones))}) " before " ({_any(map(str, slots))})' for slots, ones in places.items()]
        kinds["move"] = f'"move " ({" | ".join(moves)})'
    if words.operands:
        where: dict[str, list[str]] = {}
        for one, operand, kind in words.operands:
            where.setdefault(kind, []).append(f"{one}.{operand}")
        sets = [f'({_any(ones)}) " " {rule_of[kind]}' for kind, ones in where.items()]
        kinds["set"] = f'"set " ({" | ".join(sets)})'
    if words.inserts:
        inserts = [f'"{form.mnemonic} " {operands(form)}' for form in words.inserts]
        kinds["insert"] = f'"insert " ({" | ".join(inserts)}) " before " slot'
    if words.forms:
        forms = [f'"{form.mnemonic} " {operands(form)}' for form in words.forms]
        kinds["write"] = f'"write " number ": " ({" | ".join(forms)})'
    rules |= kinds
    lines = [f'root ::= (edit "\\n"){{0,{edits}}} "{DONE}"', f"edit ::= {' | '.join(kinds)}"]
    return "\n".join(lines + [f"{name} ::= {rule}" for name, rule in rules.items()]) + "\n"


def _any(words: Iterable[str]) -> str:
    return " | ".join(f'"{word}"' for word in words)


def longest_edit(words: Vocabulary) -> int:
    """Characters of the longest edit with its line feed: no token is shorter than a character, all are ASCII."""
    width = len(str(words.part.length))
    longest = {kind: max(map(len, names), default=0) for kind, names in words.names.items()}
    forms = [
        len(form.mnemonic) + 1 + sum(longest[kind] + 2 for kind in form.kinds) - 2
        for form in (*words.inserts, *words.forms)
    ]
    frame = len("insert  before ") + width  # the longest words around an instruction
    return 1 + max(
        len("move  before ") + 2 * width,
        len("set . ") + width + 2 + max(longest.values(), default=0),
        frame + max(forms, default=0),
    )


def edits_within(words: Vocabulary, tokens: int) -> int:
    """How many edits always fit in so many tokens, whatever the model's tokens are; at least one."""
    return max(1, min(MOST_EDITS, (tokens - len(DONE) - 1) // longest_edit(words)))


def tokens_for(words: Vocabulary, edits: int) -> int:
    """Tokens that the longest answer takes at most, with the one that ends it."""
    return edits * longest_edit(words) + len(DONE) + 1


def read_answer(text: str, words: Vocabulary, complete: bool = True) -> tuple[EditScript, tuple[str, ...]]:
    """The script of an answer for the whole region, and its lines. Of one that a limit cut, what is whole counts.

    Raises:
        AnswerError: the text is no answer in this vocabulary.
    """
    lines = text.split("\n")
    if complete and lines[-1] != DONE:
        raise AnswerError(f"it does not end in '{DONE}'")
    lines = lines[:-1]
    if len(lines) > MOST_EDITS:
        raise AnswerError(f"it has more than {MOST_EDITS} edits")
    return tuple(_edit(line, words) for line in lines), tuple(lines)


def _edit(line: str, words: Vocabulary) -> Edit:
    for pattern, read in _READERS:
        match = pattern.fullmatch(line)
        edit = read(match, words) if match is not None else None
        if edit is not None:
            return edit
    raise AnswerError(f"{line[:80]!r} is no edit of this code")


def _move(match: re.Match[str], words: Vocabulary) -> Edit | None:
    number, slot = int(match[1]), int(match[2])
    first = words.part.first
    return Move(first + number, first + slot) if slot in dict(words.moves).get(number, ()) else None


def _delete(match: re.Match[str], words: Vocabulary) -> Edit | None:
    number = int(match[1])
    return Delete(words.part.first + number) if number < words.part.length else None


def _set(match: re.Match[str], words: Vocabulary) -> Edit | None:
    number, operand, name = int(match[1]), int(match[2]), match[3]
    kinds = (kind for one, place, kind in words.operands if (one, place) == (number, operand))
    possible = words.names.get(next(kinds, ""), ())
    return ReplaceOperand(words.part.first + number, operand, name) if name in possible else None


def _insert(match: re.Match[str], words: Vocabulary) -> Edit | None:
    mnemonic, destination, source, slot = match[1], match[2], match[3], int(match[4])
    if slot > words.part.length or not _fits(mnemonic, [destination, source], words.inserts, words):
        return None
    return InsertMove(words.part.first + slot, mnemonic, destination, source)


def _write(match: re.Match[str], words: Vocabulary) -> Edit | None:
    number, mnemonic, operands = int(match[1]), match[2], match[3]
    if number >= words.part.length or not _fits(mnemonic, operands.split(", "), words.forms, words):
        return None
    return Replace(words.part.first + number, f"{mnemonic} {operands}")


def _fits(mnemonic: str, operands: list[str], forms: tuple[Form, ...], words: Vocabulary) -> bool:
    return any(
        form.mnemonic == mnemonic
        and len(form.kinds) == len(operands)
        and all(name in words.names[kind] for name, kind in zip(operands, form.kinds, strict=True))
        for form in forms
    )


_READERS = (
    (re.compile(r"move ([0-9]{1,4}) before ([0-9]{1,4})"), _move),
    (re.compile(r"delete ([0-9]{1,4})"), _delete),
    (re.compile(r"set ([0-9]{1,4})\.([0-9]{1,2}) (\S{1,40})"), _set),
    (re.compile(r"insert (\S{1,40}) (\S{1,40}), (\S{1,40}) before ([0-9]{1,4})"), _insert),
    (re.compile(r"write ([0-9]{1,4}): (\S{1,60}) (.{1,200})"), _write),
)
