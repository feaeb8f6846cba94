"""Random sentences of a GBNF grammar, by reading the grammar itself: the part of GBNF that the product writes."""

from __future__ import annotations

import re
from random import Random

_TOKEN = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|(\{\d+,\d+\})|([a-z][\w-]*)|([()|]))')


class Grammar:
    """Rules of literals, names, alternatives, groups and bounded repetitions. Anything else is an error."""

    def __init__(self, text: str) -> None:
        self._rules = {}
        for line in text.splitlines():
            name, _, rule = line.partition(" ::= ")
            tokens = _tokens(rule)
            self._rules[name] = _alternatives(tokens)
            assert not tokens, f"not read: {tokens}"

    def sentence(self, random: Random, rule: str = "root") -> str:
        """One sentence; every alternative and every number of repetitions is as likely."""
        return self._walk(self._rules[rule], random)

    def _walk(self, alternatives: list[list[tuple[str, object]]], random: Random) -> str:
        text = ""
        for kind, value in random.choice(alternatives):
            if kind == "literal":
                text += str(value)
            elif kind == "name":
                text += self.sentence(random, str(value))
            elif kind == "group":
                text += self._walk(value, random)  # type: ignore[arg-type]
            else:
                group, least, most = value  # type: ignore[misc]
                text += "".join(self._walk(group, random) for _ in range(random.randint(least, most)))
        return text


def _tokens(rule: str) -> list[tuple[str, str]]:
    found, position = [], 0
    while position < len(rule.rstrip()):
        match = _TOKEN.match(rule, position)
        assert match is not None, f"no GBNF: {rule[position:]}"
        kinds = ("literal", "times", "name", "sign")
        kind = next(kind for kind, value in zip(kinds, match.groups(), strict=True) if value is not None)
        value = match[match.lastindex or 0]
        found.append((kind, value.replace("\\n", "\n") if kind == "literal" else value))
        position = match.end()
    return found


def _alternatives(tokens: list[tuple[str, str]]) -> list[list[tuple[str, object]]]:
    found: list[list[tuple[str, object]]] = [[]]
    while tokens and tokens[0] != ("sign", ")"):
        kind, value = tokens.pop(0)
        if (kind, value) == ("sign", "|"):
            found.append([])
        elif (kind, value) == ("sign", "("):
            group = _alternatives(tokens)
            assert tokens.pop(0) == ("sign", ")")
            found[-1].append(("group", group))
        elif kind == "times":
            least, most = map(int, value.strip("{}").split(","))
            before, group = found[-1].pop()
            assert before == "group"
            found[-1].append(("times", (group, least, most)))
        else:
            found[-1].append((kind, value))
    return found
