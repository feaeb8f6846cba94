"""The engine for one function: the plain one where little is to be done, ONNX where much is, one answer."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.model import ConstraintGraph
from asmevo_gate.constraints.screened import Screen
from asmevo_gate.constraints.violation import HazardViolation
from asmevo_gate.program.model import Function

MANY = 20_000
"""Walks (3 to 15 us each) from which on loading numpy and onnxruntime (0.15 s) costs less than it saves."""


def hazard_violations(
    function: Function,
    graph: ConstraintGraph,
    profiles: frozenset[str] = frozenset(),
    cache: Path | None = None,
    view: FunctionView | None = None,
) -> list[HazardViolation]:
    """All violations of a function, in program order.

    ``profiles`` are opt-in profiles that are switched on; ``cache`` is a directory for compiled graphs that are not
    shipped; ``view`` is the function as the graph sees it, where that was made already.
    """
    view = view or FunctionView(function, graph)
    screen = Screen(view, profiles)
    if screen.walks < MANY or importlib.util.find_spec("onnxruntime") is None:
        return screen.violations()
    from asmevo_gate.constraints import onnx_engine
    from asmevo_gate.constraints.compiled_graph import EngineUnavailable

    try:
        return onnx_engine.violations_of(view, onnx_engine.compiled(graph, cache), profiles)
    except EngineUnavailable:
        return screen.violations()
