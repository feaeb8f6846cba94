"""For every distance edge of every target, made from the data: exactly enough distance is quiet, one too few is
reported; the same across a branch and around a loop."""

from __future__ import annotations

from functools import cache

import pytest

from asmevo_gate.constraints.files import graph_for
from asmevo_gate.constraints.reference import violations
from asmevo_gate.isa.targets import find_target
from tests.constraints.edge_programs import EdgeProgram, edge_programs
from tests.constraints.programs import kernel

_TARGETS = (
    ("gfx900", 64), ("gfx906", 64), ("gfx908", 64), ("gfx90a", 64), ("gfx942", 64), ("gfx950", 64), ("gfx1010", 32),
    ("gfx1030", 32), ("gfx1100", 32), ("gfx1151", 32), ("gfx1200", 32), ("gfx1201", 32), ("gfx1250", 32),
)  # fmt: skip
_FILL = {"wait_states": "s_nop 0", "valu": "v_nop", "valu_not_nop": "v_mov_b32 v250, 0",
         "sgpr_writes": "s_mov_b32 s99, 0"}  # fmt: skip


@cache
def _programs() -> tuple[EdgeProgram, ...]:
    return tuple(one for gpu, wave in _TARGETS for one in edge_programs(gpu, wave) if not isinstance(one, str))


def test_every_distance_edge_of_every_target_has_a_program() -> None:
    without = [(gpu, one) for gpu, wave in _TARGETS for one in edge_programs(gpu, wave) if isinstance(one, str)]
    assert without == []


def _broken(program: EdgeProgram, text: str) -> bool:
    function = kernel(program.gpu, text, program.wave)
    graph = graph_for(find_target(program.gpu))
    return any(one.edge_id == program.edge_id for one in violations(function, graph))


def _between(program: EdgeProgram, count: int) -> str:
    return "".join(f"{_FILL[program.unit]}\n" for _ in range(count))


@pytest.mark.parametrize("program", _programs(), ids=lambda one: f"{one.gpu}-{one.edge_id}-{one.producer.split()[0]}")
def test_an_edge_holds_at_its_distance_and_not_below(program: EdgeProgram) -> None:
    end = "\ns_endpgm\n.Lend:\ns_endpgm"
    enough = program.needed if program.needed is not None else 0
    for missing in {1, enough}:
        near = _between(program, enough - missing) if program.needed else ""
        straight = f"{program.producer}\n{near}{program.consumer}{end}"
        assert _broken(program, straight), straight
    if program.needed is not None:
        straight = f"{program.producer}\n{_between(program, enough)}{program.consumer}{end}"
        assert not _broken(program, straight), straight


@pytest.mark.parametrize("program", _programs(), ids=lambda one: f"{one.gpu}-{one.edge_id}-{one.producer.split()[0]}")
def test_an_edge_holds_across_a_branch_and_around_a_loop(program: EdgeProgram) -> None:
    counted = 1 if program.unit == "wait_states" else 0
    enough = program.needed if program.needed is not None else 1 << 10
    long = _between(program, min(enough, 20))
    short = _between(program, max(min(enough, 20) - 1 - counted, 0)) if program.needed else ""
    if program.needed is not None and enough - 1 - counted < 0:
        short = None  # the branch alone is distance enough
    join = (
        f"{program.producer}\ns_cbranch_scc0 .Lshort\n{long}s_branch .Ljoin\n.Lshort:\n{{}}.Ljoin:\n{program.consumer}"
    )
    end = "\ns_endpgm\n.Lend:\ns_endpgm"
    if short is not None:
        assert _broken(program, join.format(short) + end), join.format(short)
        loop = f"s_nop 0\n.Lloop:\n{program.consumer}\n{long}{program.producer}\n{short}s_cbranch_scc1 .Lloop{end}"
        assert _broken(program, loop), loop
    if program.needed is not None:
        assert not _broken(program, join.format(long) + end)
