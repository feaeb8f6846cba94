"""What DPP and lane instructions do to the 64 lanes of a wave, all active, as the ISA guides say (Vega, RDNA 2:
"DPP_CTRL", V_READLANE, V_WRITELANE, V_PERMLANEX16). Written to be compared with, not to be fast."""

from __future__ import annotations

import re
from collections.abc import Callable

LANES = 64
_ROW = 16
Registers = dict[str, list[int]]
"""VGPRs hold a value a lane, SGPRs one value."""


def _in_row(lane: int, place: int) -> int | None:
    return lane - lane % _ROW + place if 0 <= place < _ROW else None


_SOURCES: dict[str, Callable[[int, int], int | None]] = {
    "row_shl": lambda lane, n: _in_row(lane, lane % _ROW + n),
    "row_shr": lambda lane, n: _in_row(lane, lane % _ROW - n),
    "row_ror": lambda lane, n: _in_row(lane, (lane % _ROW - n) % _ROW),
    "row_mirror": lambda lane, _: _in_row(lane, _ROW - 1 - lane % _ROW),
    "row_half_mirror": lambda lane, _: lane - lane % 8 + 7 - lane % 8,
    "row_newbcast": lambda lane, n: _in_row(lane, n),
    "row_share": lambda lane, n: _in_row(lane, n),
    "row_xmask": lambda lane, n: _in_row(lane, lane % _ROW ^ n),
    "wave_shl": lambda lane, n: lane + n if lane + n < LANES else None,
    "wave_shr": lambda lane, n: lane - n if lane >= n else None,
    "wave_rol": lambda lane, n: (lane + n) % LANES,
    "wave_ror": lambda lane, n: (lane - n) % LANES,
}


def _source(control: str, value: str, lane: int) -> int | None:
    """The lane that a lane reads; ``None`` when there is none."""
    if control == "quad_perm":
        return lane - lane % 4 + [int(one) for one in value.strip("[]").split(",")][lane % 4]
    if control == "row_bcast":
        # Lane 15 of each row to the next row; lane 31 to rows 2 and 3.
        row = lane // _ROW
        if value == "15":
            return row * _ROW - 1 if row else None
        return 31 if row >= 2 else None
    return _SOURCES[control](lane, int(value or "0"))


_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "v_mov_b32": lambda a, _: a,
    "v_add_f32": lambda a, b: a + b,
    "v_sub_f32": lambda a, b: a - b,
    "v_max_i32": max,
    "v_xor_b32": lambda a, b: a ^ b,
}
_CONTROL = re.compile(r"\b(quad_perm|row_\w+|wave_\w+):?(\[[^\]]*\]|\d+)?")


def run(lines: tuple[str, ...], registers: Registers) -> Registers:
    """The registers behind some instructions."""
    state = {name: list(values) for name, values in registers.items()}
    for line in lines:
        name, rest = line.split(None, 1)
        operands = [part.split()[0] for part in re.sub(r"\[[^\]]*\]", "", rest).split(",")]
        if name == "v_readlane_b32":
            state[operands[0]] = [state[operands[1]][int(operands[2])]]
        elif name == "v_writelane_b32":
            state[operands[0]] = list(state[operands[0]])
            state[operands[0]][int(operands[2])] = state[operands[1]][0]
        elif name == "v_permlanex16_b32":
            assert operands[2:] == ["-1", "-1"], "every lane takes lane 15 of the other row of its pair"
            old = state[operands[1]]
            state[operands[0]] = [old[(lane // _ROW ^ 1) * _ROW + 15] for lane in range(LANES)]
        elif name == "v_mov_b32":
            state[operands[0]] = state[operands[1]] * LANES
        else:
            _dpp(name.removesuffix("_dpp"), rest, operands, state)
    return state


def _dpp(base: str, rest: str, operands: list[str], state: Registers) -> None:
    masks = {name: int(value, 0) for name, value in re.findall(r"(row_mask|bank_mask):(\w+)", rest)}
    plain = re.sub(r"(row|bank)_mask:\w+", "", rest)
    control = _CONTROL.search(plain)
    assert control is not None, rest
    first, second = state[operands[1]], state[operands[-1]]
    result = list(state[operands[0]])
    for lane in range(LANES):
        row, bank = lane // _ROW, lane % _ROW // 4
        if not masks.get("row_mask", 15) >> row & 1 or not masks.get("bank_mask", 15) >> bank & 1:
            continue
        source = _source(control[1], control[2] or "", lane)
        if source is not None:
            result[lane] = _OPERATIONS[base](first[source], second[lane])
        elif "bound_ctrl" in rest:
            result[lane] = _OPERATIONS[base](0, second[lane])
    state[operands[0]] = result
