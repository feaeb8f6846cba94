"""What both engines report: one broken edge at one instruction."""

from __future__ import annotations

import msgspec

from asmevo_gate.constraints.model import Edge, Severity
from asmevo_gate.program.model import Function, Instruction

UNBOUNDED = 1 << 30
"""Required distance of a hazard that only its mitigation ends."""


class HazardViolation(msgspec.Struct, frozen=True):
    """A hazard between two instructions.

    ``registers`` is a bit set on the register line (hardware register ids for s_setreg hazards), 0 where the edge
    concerns no registers. ``found`` is the distance in the edge's unit on the shortest path, ``needed`` the required
    one (``None`` where no distance helps). ``through`` are the producer, what lies between that the edge names, and
    the consumer; ``blocks`` the numbers of the basic blocks on that path, producer's first. ``linked`` is the function
    with its callees that indices and block numbers count in, where the path leads over a call.
    """

    edge_id: str
    edge: Edge
    consumer: Instruction
    producer: Instruction | None
    registers: int
    found: int | None
    needed: int | None
    through: tuple[Instruction, ...]
    blocks: tuple[int, ...]
    linked: Function | None = None

    @property
    def severity(self) -> Severity:
        """That of the edge; over a call at most a warning. Compilers look at one function at a time and leave such
        paths in working code, and no document says how much of the distance the jump itself makes up for."""
        return "warning" if self.linked is not None and self.edge.severity == "error" else self.edge.severity

    @property
    def key(self) -> tuple[int, str, int, int | None, int | None]:
        """What two engines must agree on: consumer, edge, producer, found and needed distance."""
        producer = self.producer.index if self.producer is not None else -1
        return self.consumer.index, self.edge_id, producer, self.found, self.needed
