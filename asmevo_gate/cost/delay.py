"""Which of the instructions behind it an s_delay_alu holds back."""

from __future__ import annotations

import re

_DELAY = r"instid(?P<which>[01])\(\s*(?P<what>\w+)\s*\)"
_SKIP = r"instskip\(\s*(?:(?P<word>SAME|NEXT)|SKIP_(?P<count>\d))\s*\)"


def held_by_delay(text: str, value: int | None) -> tuple[int, ...]:
    """Distances of the instructions that an s_delay_alu holds (RDNA 3 ISA, section 5.7).

    ``value`` is the operand where it is a number, ``text`` how it is written where it has names.
    """
    if value is not None:
        first, skip, second = value & 15, value >> 4 & 7, value >> 7 & 15
    else:
        named = {match["which"]: match["what"] for match in re.finditer(_DELAY, text)}
        first = 0 if named.get("0", "NO_DEP") == "NO_DEP" else 1
        second = 0 if named.get("1", "NO_DEP") == "NO_DEP" else 1
        found = re.search(_SKIP, text)
        skip = 0
        if found:
            skip = int(found["count"]) + 1 if found["count"] else ("SAME", "NEXT").index(found["word"])
    distances = [1] if first else []
    if second:
        distances.append(1 + skip)
    return tuple(dict.fromkeys(distances))
