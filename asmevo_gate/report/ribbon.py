"""The live-register ribbon as text: one line of bars a kernel, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asmevo_gate.gate.picture import KernelPicture

_BARS = " ▁▂▃▄▅▆▇█"


def ribbon_lines(picture: KernelPicture, width: int = 60) -> Iterator[str]:
    """Live VGPRs along the kernel: head, and base where it differs; both on the scale of the larger peak."""
    heads = [load.vgprs for load in picture.loads]
    bases = [load.vgprs for load in picture.base_loads]
    if not heads:
        return
    most = max((*heads, *bases, 1))
    peak = max(picture.loads, key=lambda load: load.vgprs)
    yield f"{picture.name} ({picture.gpu}): live VGPRs by line, most {peak.vgprs} in line {peak.line}"
    yield f"  head {_bars(heads, most, width)}"
    if bases and bases != heads:
        yield f"  base {_bars(bases, most, width)}"


def _bars(values: list[int], most: int, width: int) -> str:
    size = max(1, -(-len(values) // width))
    peaks = [max(values[i : i + size]) for i in range(0, len(values), size)]
    return "".join(_BARS[-(-value * (len(_BARS) - 1) // most)] for value in peaks)
