"""The targets of a jump against every path through random programs, run one after the other."""

from __future__ import annotations

import random

import pytest

from asmevo_gate.isa.targets import parse_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.model import Function
from asmevo_gate.source.parser import parse_source

_DESCRIPTOR = ".rodata\n.amdhsa_kernel k\n .amdhsa_next_free_vgpr 8\n .amdhsa_next_free_sgpr 32\n.end_amdhsa_kernel\n"
_PAIRS = (4, 10, 14)
_LABELS = ("one", "two", "three")
_Step = tuple[str, int, int, str]
"""What it does, to which pair, from which pair, and with which label or to which step."""


def _program(rng: random.Random) -> list[_Step]:
    steps: list[_Step] = []
    count = rng.randrange(4, 12)
    for _ in range(count):
        what = rng.choice(
            ("address", "address", "address", "copy", "copy", "halves", "spoil", "branch", "branch", "nothing")
        )
        one, other = rng.choice(_PAIRS), rng.choice(_PAIRS)
        steps.append((what, one, other, str(rng.randrange(count + 1)) if what == "branch" else rng.choice(_LABELS)))
    return steps


def _text(steps: list[_Step]) -> str:
    lines = []
    for place, (what, one, other, name) in enumerate(steps):
        lines.append(f"at_{place}:")
        if what == "address":
            lines.append(
                f"s_getpc_b64 s[{one}:{one + 1}]\ns_add_i32 s20, {name}, 4\n"
                f"s_add_u32 s{one}, s{one}, s20\ns_addc_u32 s{one + 1}, s{one + 1}, 0"
            )
        elif what == "copy":
            lines.append(f"s_mov_b64 s[{one}:{one + 1}], s[{other}:{other + 1}]")
        elif what == "halves":
            lines.append(f"s_mov_b32 s{one}, s{other}\ns_mov_b32 s{one + 1}, s{other + 1}")
        elif what == "spoil":
            lines.append(f"s_lshl_b32 s{one + len(name) % 2}, s{other}, 1")
        elif what == "branch":
            lines.append(f"s_cbranch_vccz at_{name}")
        else:
            lines.append("s_nop 0")
    jump = f"at_{len(steps)}:\ns_setpc_b64 s[4:5]\n"
    places = "".join(f"{label}:\ns_endpgm\n" for label in _LABELS)
    return ".text\nk:\n" + "\n".join(lines) + f"\n{jump}{places}{_DESCRIPTOR}"


def _outcomes(steps: list[_Step]) -> set[str]:
    """What the jump goes to on each path, ``""`` where that is no label. A half that is spoilt spoils its pair: of the
    halves of two addresses neither is one."""
    found: set[str] = set()
    seen: set[tuple[int, tuple[tuple[str, str], ...]]] = set()
    work = [(0, (("", ""),) * len(_PAIRS))]
    while work:
        place, values = work.pop()
        if (place, values) in seen:
            continue
        seen.add((place, values))
        if place == len(steps):
            low, high = values[0]
            found.add(low if low == high else "")
            continue
        what, one, other, name = steps[place]
        changed = list(values)
        at, source = _PAIRS.index(one), values[_PAIRS.index(other)]
        if what == "address":
            changed[at] = (name, name)
        elif what in ("copy", "halves"):
            changed[at] = source
        elif what == "spoil":
            half = len(name) % 2
            changed[at] = ("", changed[at][1]) if half == 0 else (changed[at][0], "")
        elif what == "branch":
            work.append((int(name), values))
        work.append((place + 1, tuple(changed)))
    return found


def _jump(function: Function) -> set[str] | None:
    (block,) = (one for one in function.blocks if function.instructions[one.end - 1].statement.name == "s_setpc_b64")
    return None if block.lost else {function.blocks[number].label for number in block.successors}


@pytest.mark.parametrize("first", range(0, 600, 50))
def test_no_path_leads_elsewhere_and_no_known_target_is_given_up(first: int) -> None:
    known = 0
    for seed in range(first, first + 50):
        steps = _program(random.Random(seed))
        (function,) = build_program(parse_source("k.s", _text(steps)), parse_target("gfx90a")).functions
        outcomes = _outcomes(steps)
        assert _jump(function) == (None if "" in outcomes else outcomes), (seed, _text(steps))
        known += "" not in outcomes
    assert known > 5
