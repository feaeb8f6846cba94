"""The picture in docs/scale.md: its measure of growth, and that it shows the committed figures."""

from __future__ import annotations

import json

import pytest

from benchmarks.speed_plot import PICTURE, RESULT, Curve, curves, drawing, growth

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.0])
def test_growth_is_the_exponent_of_a_power_law(exponent: float) -> None:
    assert growth([(size, 3e-6 * size**exponent) for size in SIZES]) == pytest.approx(exponent)


def test_growth_does_not_count_the_start_of_small_runs() -> None:
    assert growth([(size, max(1.0, size / 10_000)) for size in SIZES]) == pytest.approx(1.0)


def test_every_measured_point_is_drawn_in_its_place() -> None:
    drawn = drawing([Curve("a <b>", "#000000", ((1_000, 0.1), (10_000, 1.0), (100_000, 10.0)))])
    assert drawn.count("<circle") == 3
    assert "a &lt;b&gt;" in drawn
    assert "grows as size to the 1.00" in drawn


def test_the_picture_shows_the_committed_figures() -> None:
    result = json.loads(RESULT.read_text("utf-8"))
    assert PICTURE.read_text("utf-8") == drawing(curves(result["check"])), "run: python -m benchmarks.speed_plot"
