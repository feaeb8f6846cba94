"""``asmevo-gate cost``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from asmevo_gate.cli.cost import command

KERNELS = Path(__file__).resolve().parents[2] / "examples" / "kernels"


def test_json_holds_blocks_and_loops_with_cycles() -> None:
    done = CliRunner().invoke(command, [str(KERNELS / "tile_gemm.s"), "--json", "--timeline"], standalone_mode=False)
    (kernel,) = json.loads(done.output)["kernels"]
    assert (kernel["name"], kernel["gpu"], kernel["occupancy_waves_per_simd"]) == ("tile_gemm", "gfx942", 8)
    assert [loop["label"] for loop in kernel["loops"]] == [".Lstep"]
    assert all(block["timeline"] for block in kernel["blocks"])


def test_the_number_of_waves_can_be_given() -> None:
    def cycles(waves: int) -> float:
        arguments = [str(KERNELS / "tile_gemm.s"), "--json", "--waves", str(waves)]
        done = CliRunner().invoke(command, arguments, standalone_mode=False)
        (kernel,) = json.loads(done.output)["kernels"]
        (loop,) = kernel["loops"]
        low = (
            loop["cycles_per_iteration"]["low"]
            if isinstance(loop["cycles_per_iteration"], dict)
            else loop["cycles_per_iteration"]
        )
        return float(low)

    assert cycles(8) > cycles(1)


def test_text_names_what_limits_each_loop() -> None:
    done = CliRunner().invoke(command, [str(KERNELS / "block_sum.s")], standalone_mode=False)
    assert "loop .Lhalve" in done.output
    assert "clk an iteration" in done.output


def test_a_file_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="no such file"):
        CliRunner().invoke(command, [str(tmp_path / "none.s")], standalone_mode=False, catch_exceptions=False)
