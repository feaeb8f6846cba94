"""The model against published measurements: what benchmarks/cost_truth.py reports must stay true."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from benchmarks import cost_truth

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        # The comparison with llvm-mca takes a minute and is the benchmark's business.
        patch.setattr(cost_truth, "mca", lambda target, body: None)
        return cost_truth.run()


def test_every_row_is_evaluated_or_left_out_with_a_reason(report: dict[str, Any]) -> None:
    with (BENCHMARKS / "data" / "measured_cycles.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["id"] for row in csv.DictReader(file)}
    evaluated = {result["id"] for result in report["results"]}
    assert evaluated | set(report["not_evaluated"]) == rows
    assert not evaluated & set(report["not_evaluated"])


def test_alu_matrix_lds_and_loops_are_close(report: dict[str, Any]) -> None:
    assert report["compute"]["rows"] >= 50
    assert report["compute"]["median_error"] <= 0.05
    assert report["compute"]["mean_error"] <= 0.10


def test_so_are_the_rows_that_no_fingerprint_quotes(report: dict[str, Any]) -> None:
    predicted = report["compute_predicted"]
    assert predicted["rows"] >= 10
    assert predicted["median_error"] <= 0.05
    assert predicted["mean_error"] <= 0.10


def test_memory_is_inside_the_interval(report: dict[str, Any]) -> None:
    assert report["memory"]["inside_interval"] == report["memory"]["rows"] >= 15


def test_every_measurement_has_a_source(report: dict[str, Any]) -> None:
    assert all(result["source"] for result in report["results"])
