"""What instructions compute, one module a family of instructions."""

from __future__ import annotations

from asmevo_gate.proof.operations import Call, Meaning
from asmevo_gate.proof.terms import Term

KEEP_HIGH = frozenset(["v_mad_f16", "v_mad_u16", "v_mad_i16", "v_fma_f16", "v_div_fixup_f16"])
"""16-bit instructions that keep the high half of their destination also on targets where most clear it (LLVM
GCNSubtarget::zeroesHigh16BitsOfDest)."""


SATURATED: dict[str, Meaning] = {}
"""What the integer instructions that know ``clamp`` compute with it."""


def load() -> None:
    """Make every written meaning known to :data:`asmevo_gate.proof.operations.OPERATIONS`."""
    from asmevo_gate.proof.semantics import (  # noqa: F401
        bits,
        compares,
        conversions,
        floats,
        integer,
        lanes,
        moves,
        packed,
        scalar,
        scalar_masks,
    )

    SATURATED.update(integer.SATURATED | packed.SATURATED)


def output_modifiers(call: Call, value: Term, kind: str) -> Term:
    """A float result through omod (``mul:2``, ``mul:4``, ``div:2``), then clamp."""
    terms = call.terms
    for name in ("mul", "div"):
        if name in call.modifiers:
            value = terms.apply(f"fomod_{name}{call.modifiers[name]}.{kind}", value.width, (value, call.mode))
    if "clamp" in call.modifiers:
        value = terms.apply(f"fclamp.{kind}", value.width, (value, call.mode))
    return value
