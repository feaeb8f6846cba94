"""What the wait rules say: ids, counts, places, producers, paths and repairs."""

from __future__ import annotations

import pytest

from asmevo_gate.analysis.pending_memory import PendingMemory, pending_memory
from asmevo_gate.analysis.pending_violations import wait_violations
from asmevo_gate.errors import LimitError
from asmevo_gate.gate.file_check import check_text
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.model import Function
from asmevo_gate.rules.registry import find_rule
from asmevo_gate.source.options import SourceOptions
from tests.analysis.written_functions import FIRST_LINE, kernel


@pytest.mark.parametrize(
    ("rule_id", "found"),
    [
        ("wait.vmcnt.raw", "wait.counter.raw"),
        ("wait.kmcnt.waw", "wait.counter.waw"),
        ("wait.xcnt.war", "wait.counter.war"),
        ("wait.tensorcnt", "wait.counter.ldsdma"),
        ("wait.lgkmcnt.sendmsg", "wait.counter.sendmsg"),
    ],
)
def test_reported_ids_lead_to_their_rule(rule_id: str, found: str) -> None:
    assert find_rule(rule_id).id == found


def test_a_violation_names_counts_producers_and_the_wait_that_is_too_weak() -> None:
    function = kernel(
        "gfx942",
        """
        global_load_dword v2, v[0:1], off
        global_load_dword v3, v[0:1], off
        global_load_dword v4, v[0:1], off
        s_waitcnt vmcnt(2)
        v_add_f32 v9, v2, v3
        s_endpgm
        """,
    )
    (one,) = wait_violations(pending_memory(function))
    assert (one.rule, one.required, one.found) == ("wait.vmcnt.raw", 1, 2)
    assert [producer.index for producer in one.producers] == [1]
    assert one.consumer.statement.place.line == FIRST_LINE + 4
    assert one.found_at is not None and one.found_at.index == 3


def test_the_strictest_producer_decides() -> None:
    function = kernel(
        "gfx942",
        "global_load_dword v2, v[0:1], off\nglobal_load_dword v3, v[0:1], off\nv_add_f32 v9, v2, v3\ns_endpgm",
    )
    (one,) = wait_violations(pending_memory(function))
    assert one.required == 0 and one.found is None
    assert [producer.index for producer in one.producers] == [1, 0]


def test_the_path_is_one_on_which_the_wait_is_too_weak() -> None:
    function = kernel(
        "gfx942",
        """
        global_load_dword v2, v[0:1], off
        s_cbranch_scc1 .Lshort
        global_load_dword v3, v[0:1], off
        s_branch .Ljoin
        .Lshort:
        s_nop 0
        .Ljoin:
        s_waitcnt vmcnt(1)
        v_mov_b32 v9, v2
        s_endpgm
        """,
    )
    (one,) = wait_violations(pending_memory(function))
    assert [step.index for step in one.path] == [0, 1, 6]
    assert one.found == 1


def complete_graph(blocks: int) -> Function:
    """Every block branches to every other one: as irreducible as a graph can be."""
    lines = []
    for block in range(blocks):
        lines += [f".L{block}:", f"global_load_dword v{block + 2}, v[0:1], off", f"ds_read_b32 v{block + 2}, v0"]
        lines += [f"s_cbranch_scc1 .L{other}" for other in range(blocks)]
    return kernel("gfx942", "\n".join([*lines, "s_endpgm"]))


def test_the_analysis_ends_on_a_graph_of_all_edges() -> None:
    memory = pending_memory(complete_graph(20))
    assert {race.access for race in memory.races_of_graph} == {"waw"}
    assert len({race.consumer for race in memory.races_of_graph}) == 40


def test_too_much_work_is_an_error_that_says_so() -> None:
    with pytest.raises(LimitError, match="too many memory operations"):
        PendingMemory(complete_graph(20), work_limit=1_000)


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, "(vmcnt 1, line 3) came when fewer operations had been issued behind it"),
        (3, "(vmcnt 3, line 3) is not enough"),
    ],
)
def test_a_wait_that_came_too_early_is_told_from_one_that_is_too_weak(count: int, said: str) -> None:
    text = (
        "k:\n  global_load_dword v2, v[0:1], off\n  s_waitcnt vmcnt({count})\n  global_load_dword v3, v[0:1], off\n"
        "  v_mov_b32 v9, v2\n  s_endpgm\n"
    )
    checked = check_text("k.s", text.format(count=count), find_target("gfx942"), SourceOptions())
    (message,) = [one.violation.message for one in checked.violations if one.violation.rule == "wait.vmcnt.raw"]
    assert message.endswith(said)
