"""The kernel descriptor as the ``.amdhsa_kernel`` block (or a code object) states it."""

from __future__ import annotations

from dataclasses import dataclass

from asmevo_gate.source.statement import Statement


@dataclass(frozen=True)
class Descriptor:
    """One ``.amdhsa_kernel`` block.

    ``values`` holds the evaluated value of each directive given, by its name without ``.amdhsa_``
    (``{"next_free_vgpr": 24}``); a directive whose expression could not be evaluated is in ``unknown`` with the reason.
    ``places`` maps the same names to their statements. Defaults come from the ISA's ABI data, not from here.
    """

    kernel: str
    values: dict[str, int]
    unknown: dict[str, str]
    places: dict[str, Statement]
    opening: Statement | None
    """The ``.amdhsa_kernel`` statement; ``None`` for a descriptor read from a code object."""
