"""For every edge of every target, made from the data: exactly enough is quiet, one too few is reported; the same
across a branch and around a loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from asmevo_gate.constraints.files import graph_for
from asmevo_gate.constraints.reference import violations
from asmevo_gate.isa.targets import find_target, parse_target, target_names
from tests.constraints.edge_pairs import EdgePair, edge_pairs
from tests.constraints.edge_shapes import Shape, joined, looped, straight
from tests.constraints.programs import kernel


def _spelled(gpu: str) -> str:
    """The target with the features that some of its edges ask for."""
    edges = graph_for(find_target(gpu)).edges.values()
    return gpu + "".join(sorted({f":{name}{value}" for edge in edges for name, value in edge.feature.items()}))


_TARGETS = [(_spelled(gpu), wave) for gpu in target_names() for wave in find_target(gpu).wave_sizes]
_VGPRS = 8
"""The VGPRs that the descriptor gives; an edge about the last of them needs a number."""
_PAIRS = [pair for gpu, wave in _TARGETS for pair in edge_pairs(gpu, wave)[0]]
_SHAPES: tuple[Callable[[EdgePair], Iterator[Shape]], ...] = (straight, joined, looped)
_CASES = [(pair, shape) for pair in _PAIRS for shape in _SHAPES if shape is straight or not pair.straight_only]


@pytest.mark.parametrize(("gpu", "wave"), _TARGETS)
def test_every_edge_has_a_pair_in_every_shape(gpu: str, wave: int) -> None:
    pairs, without = edge_pairs(gpu, wave)
    assert without == ()
    graph = graph_for(parse_target(gpu))
    active = {name for name, edge in graph.edges.items() if edge.wave in (None, wave)}
    assert {pair.edge_id for pair in pairs if not pair.straight_only} == active


@pytest.mark.parametrize(("pair", "shape"), _CASES, ids=lambda one: str(getattr(one, "__name__", one)))
def test_exactly_enough_is_quiet_and_less_is_reported(
    pair: EdgePair, shape: Callable[[EdgePair], Iterator[Shape]]
) -> None:
    for one in shape(pair):
        assert _broken(pair, one.text) == one.broken, f"{one.name}:\n{one.text}"


def test_shapes_of_both_answers_exist_for_every_pair() -> None:
    for pair in _PAIRS:
        assert {one.broken for one in straight(pair)} == {True, False}, pair


def _broken(pair: EdgePair, text: str) -> bool:
    function = kernel(pair.gpu, text, pair.wave, _VGPRS)
    graph = graph_for(parse_target(pair.gpu))
    return any(one.edge_id == pair.edge_id for one in violations(function, graph, pair.profiles))
