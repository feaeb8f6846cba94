"""Identity of a constraint graph, so that a compiled model is never used for other data."""

from __future__ import annotations

import hashlib

import msgspec

from asmevo_gate.constraints.model import ConstraintGraph

MODEL_FORMAT = "4"
"""Changes when the layout of the compiled model changes."""


def graph_digest(graph: ConstraintGraph) -> str:
    """SHA-256 of a graph and the layout of its model, as hexadecimal digits."""
    return hashlib.sha256(MODEL_FORMAT.encode() + msgspec.json.encode(graph, order="deterministic")).hexdigest()
