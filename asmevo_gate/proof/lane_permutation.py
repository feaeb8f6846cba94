"""Which lane a DPP control reads (GCN3 and RDNA3 ISA manuals, "Data Parallel Primitives").

Rows are 16 lanes. The result for each lane is the lane it reads, or -1 for a lane outside.
"""

from __future__ import annotations

import re


def source_lanes(control: str, lanes: int) -> list[int] | None:
    """The lane that each lane reads; ``None`` for a control that is not modelled."""
    name, _, value = control.partition(":")
    function = _CONTROLS.get(name)
    numbers = [int(part) for part in re.findall(r"\d+", value)]
    if function is None or len(numbers) != _NUMBERS.get(name, 0 if name.endswith("mirror") else 1):
        return None
    found = [function(lane, numbers, lanes) for lane in range(lanes)]
    return found if all(-1 <= lane < lanes for lane in found) else None


def _quad(lane: int, order: list[int], lanes: int) -> int:
    return lane & ~3 | order[lane & 3]


def _eight(lane: int, order: list[int], lanes: int) -> int:
    return lane & ~7 | order[lane & 7]


def _row_left(lane: int, count: list[int], lanes: int) -> int:
    return lane + count[0] if (lane & 15) + count[0] < 16 else -1


def _row_right(lane: int, count: list[int], lanes: int) -> int:
    return lane - count[0] if (lane & 15) >= count[0] else -1


def _row_rotate(lane: int, count: list[int], lanes: int) -> int:
    return lane & ~15 | (lane - count[0]) & 15


def _row_mirror(lane: int, count: list[int], lanes: int) -> int:
    return lane ^ 15


def _row_half_mirror(lane: int, count: list[int], lanes: int) -> int:
    return lane ^ 7


def _row_share(lane: int, count: list[int], lanes: int) -> int:
    return lane & ~15 | count[0]


def _row_xmask(lane: int, mask: list[int], lanes: int) -> int:
    return lane ^ mask[0]


def _broadcast(lane: int, count: list[int], lanes: int) -> int:
    """row_bcast:15: lane 15 of each row to the next row; row_bcast:31: lane 31 to rows 2 and 3."""
    if count[0] == 15:
        return (lane & ~15) - 1 if lane >= 16 else -1
    return 31 if lane >= 32 else -1


def _wave_left(lane: int, count: list[int], lanes: int) -> int:
    return lane + 1 if lane + 1 < lanes else -1


def _wave_right(lane: int, count: list[int], lanes: int) -> int:
    return lane - 1


def _wave_rotate_left(lane: int, count: list[int], lanes: int) -> int:
    return (lane + 1) % lanes


def _wave_rotate_right(lane: int, count: list[int], lanes: int) -> int:
    return (lane - 1) % lanes


_CONTROLS = {
    "quad_perm": _quad, "dpp8": _eight, "row_shl": _row_left, "row_shr": _row_right, "row_ror": _row_rotate,
    "row_mirror": _row_mirror, "row_half_mirror": _row_half_mirror, "row_share": _row_share,
    "row_newbcast": _row_share, "row_xmask": _row_xmask, "row_bcast": _broadcast, "wave_shl": _wave_left,
    "wave_shr": _wave_right, "wave_rol": _wave_rotate_left, "wave_ror": _wave_rotate_right,
}  # fmt: skip

_NUMBERS = {"quad_perm": 4, "dpp8": 8, "wave_shl": 1, "wave_shr": 1, "wave_rol": 1, "wave_ror": 1}
"""Numbers that a control has, where it is not one (none for the mirrors)."""
