"""Whether the waits of a changed region are still strong enough.

A missing wait does not always show as a race: a wait between two stores orders them for other waves. So a wait may
become weaker, or go, only as far as the counter analysis says of that very wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from asmevo_gate.analysis.pending_slack import Slack
from asmevo_gate.analysis.regions import Region
from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.isa.waits import decode_wait

_NO_LIMIT = 1 << 30


def too_weak(region: Region, new: Sequence[Decoded], slack: Iterable[Slack]) -> str:
    """The first wait that would be weaker than allowed, in words; ``""`` when there is none."""
    target = region.function.target
    allowed: dict[int, dict[str, int]] = {}
    for one in slack:
        allowed.setdefault(one.wait.index, {})[one.counter] = _NO_LIMIT if one.enough is None else one.enough
    left = [one for one in new if one.classes & Op.WAIT]
    for instruction in region.instructions:
        decoded = instruction.decoded
        if decoded is None or not decoded.classes & Op.WAIT:
            continue
        limits = decode_wait(decoded, target)
        if limits is None:
            if not left or left.pop(0).text != decoded.text:
                return f"'{decoded.text}', whose counts are not known, would change"
            continue
        needed = {
            counter: max(count, allowed.get(instruction.index, {}).get(counter, 0)) for counter, count in limits.items()
        }
        needed = {counter: count for counter, count in needed.items() if count < _NO_LIMIT}
        found = decode_wait(left[0], target) if left else None
        if found is not None and all(found.get(counter, _NO_LIMIT) <= count for counter, count in needed.items()):
            if needed or found == limits:
                left.pop(0)
            continue
        if needed:
            return f"'{decoded.text}' would go or wait for less, and something may depend on it"
    return ""
