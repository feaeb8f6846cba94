"""Where a compiled constraint graph comes from: shipped beside the data, kept in a cache, or compiled on the spot."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from asmevo_gate.constraints.files import constraint_directory
from asmevo_gate.constraints.graph_digest import graph_digest
from asmevo_gate.constraints.model import ConstraintGraph
from asmevo_gate.errors import GateError
from asmevo_gate.file_writing import replace_file


class EngineUnavailable(GateError):
    """The ONNX engine cannot run here; the reference engine can."""


def compiled_graph(graph: ConstraintGraph, cache: Path | None = None) -> bytes:
    """The serialised model of a graph: from the shipped files, from ``cache``, or compiled (and put in the cache).

    Raises:
        EngineUnavailable: the graph is in no file and the package ``onnx`` is not installed.
    """
    digest = graph_digest(graph)
    shipped = constraint_directory().joinpath("compiled").joinpath(f"{graph.name}.onnx")
    if shipped.is_file():
        content = shipped.read_bytes()
        if digest.encode() in content:
            return content
    kept = cache / f"constraint-graph-{digest[:32]}.onnx" if cache else None
    if kept is not None and kept.is_file():
        return kept.read_bytes()
    if importlib.util.find_spec("onnx") is None:
        raise EngineUnavailable(
            f"the constraint graph '{graph.name}' is not compiled",
            "install the package 'onnx', or use the reference engine",
        )
    from asmevo_gate.constraints.compile_onnx import compile_graph

    content = compile_graph(graph)
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        replace_file(kept, content)
    return content
