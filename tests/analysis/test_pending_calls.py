"""Memory operations in flight over calls whose callee the file holds."""

from __future__ import annotations

import pytest

from asmevo_gate.analysis.pending_calls import wait_violations_over_calls
from asmevo_gate.analysis.pending_memory import pending_memory
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.calls import CallTargets, linked_function
from asmevo_gate.source.parser import parse_source

_FILE = """.text
.type k,@function
k:
{caller}
s_endpgm
.type f,@function
f:
{callee}
s_setpc_b64 s[30:31]
.rodata
.amdhsa_kernel k
.amdhsa_next_free_vgpr 16
.amdhsa_next_free_sgpr 40
.amdhsa_accum_offset 16
.end_amdhsa_kernel
"""
_LOAD, _USE, _CALL = "global_load_dword v2, v1, s[6:7]", "v_add_f32 v3, v2, v2", "s_call_b64 s[30:31], f"


def found(caller: list[str], callee: list[str]) -> list[tuple[str, str, int]]:
    """Rule, mnemonic of the consumer and required count of each violation."""
    text = _FILE.format(caller="\n".join(caller), callee="\n".join(callee))
    program = build_program(parse_source("k.s", text), find_target("gfx942"))
    kernel = next(one for one in program.functions if one.is_kernel)
    linked = linked_function(kernel, CallTargets(program.functions))
    violations = wait_violations_over_calls(pending_memory(kernel), linked)
    return [(one.rule, one.consumer.statement.name, one.required) for one in violations]


RAW = [("wait.vmcnt.raw", "v_add_f32", 0)]


@pytest.mark.parametrize(
    ("caller", "callee", "expected"),
    [
        ([_LOAD, _CALL, _USE], ["s_nop 0"], RAW),
        ([_LOAD, _CALL], [_USE], RAW),
        ([_CALL, _USE], [_LOAD], RAW),
        ([_LOAD, _CALL, "v_mov_b32 v2, 0"], ["s_nop 0"], [("wait.vmcnt.waw", "v_mov_b32", 0)]),
        ([_LOAD, _CALL, "s_waitcnt vmcnt(2)", _USE], ["global_load_dword v4, v1, s[6:7]"], [(*RAW[0][:2], 1)]),
        ([_LOAD, _CALL, _USE, _LOAD, _CALL], ["s_nop 0"], RAW),
    ],
)
def test_a_result_that_is_needed_over_a_call_is_waited_for(
    caller: list[str], callee: list[str], expected: list[tuple[str, str, int]]
) -> None:
    assert found(caller, callee) == expected


@pytest.mark.parametrize(
    ("caller", "callee"),
    [
        ([_LOAD, "s_waitcnt vmcnt(0)", _CALL, _USE], ["s_nop 0"]),
        ([_LOAD, _CALL, _USE], ["s_waitcnt vmcnt(0)"]),
        ([_LOAD, _CALL], ["s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)", _USE]),
        ([_CALL, "s_waitcnt vmcnt(0)", _USE], [_LOAD]),
        ([_LOAD, _CALL, "s_waitcnt vmcnt(1)", _USE], ["global_load_dword v4, v1, s[6:7]"]),
        ([_LOAD, _USE, _CALL], ["s_nop 0"]),
        ([_LOAD, "s_swappc_b64 s[30:31], s[8:9]", _USE], ["s_nop 0"]),
    ],
    ids=["before", "inside", "convention", "behind", "counted", "not over the call", "callee not known"],
)
def test_waits_on_either_side_of_the_call_count(caller: list[str], callee: list[str]) -> None:
    assert found(caller, callee) == []
