"""The waits that LLVM inserts between a memory operation and an instruction that depends on it: with them the
analysis is quiet, without them it reports exactly the counters that LLVM waits for."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache

import pytest

from asmevo_gate.analysis.pending_memory import pending_memory
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.model import Function
from asmevo_gate.source.parser import parse_source

LLC = "llc-22"
GPUS = ("gfx900", "gfx908", "gfx90a", "gfx942", "gfx1010", "gfx1030", "gfx1100", "gfx1151", "gfx1200", "gfx1250")
pytestmark = pytest.mark.skipif(shutil.which(LLC) is None, reason=f"needs {LLC}")

LOADS = {
    "global_load": "$vgpr0 = GLOBAL_LOAD_DWORD $vgpr{a}_vgpr{b}, 0, 0, implicit $exec",
    "buffer_load": "$vgpr0 = BUFFER_LOAD_DWORD_OFFSET $sgpr4_sgpr5_sgpr6_sgpr7, 0, 0, 0, 0, implicit $exec",
    "flat_load": "$vgpr0 = FLAT_LOAD_DWORD $vgpr{a}_vgpr{b}, 0, 0, implicit $exec, implicit $flat_scr",
    "scratch_load": "$vgpr0 = SCRATCH_LOAD_DWORD_SADDR $sgpr4, 0, 0, implicit $exec, implicit $flat_scr",
    "lds_load": "$vgpr0 = DS_READ_B32_gfx9 $vgpr{a}, 0, 0, implicit $exec",
    "lds_permute": "$vgpr0 = DS_BPERMUTE_B32 $vgpr{a}, $vgpr{b}, 0, implicit $exec",
    "lds_atomic": "$vgpr0 = DS_ADD_RTN_U32_gfx9 $vgpr{a}, $vgpr{b}, 0, 0, implicit $exec",
    "global_atomic": "$vgpr0 = GLOBAL_ATOMIC_ADD_RTN $vgpr{a}_vgpr{b}, $vgpr{c}, 0, 1, implicit $exec",
}
STORES = {
    "global_store": "GLOBAL_STORE_DWORD $vgpr4_vgpr5, $vgpr0, 0, 0, implicit $exec",
    "buffer_store": "BUFFER_STORE_DWORD_OFFSET $vgpr0, $sgpr4_sgpr5_sgpr6_sgpr7, 0, 0, 0, 0, implicit $exec",
    "flat_store": "FLAT_STORE_DWORD $vgpr4_vgpr5, $vgpr0, 0, 0, implicit $exec, implicit $flat_scr",
    "scratch_store": "SCRATCH_STORE_DWORD_SADDR $vgpr0, $sgpr4, 0, 0, implicit $exec, implicit $flat_scr",
    "lds_store": "DS_WRITE_B32_gfx9 $vgpr4, $vgpr0, 0, 0, implicit $exec",
    "global_atomic_no_result": "GLOBAL_ATOMIC_ADD $vgpr4_vgpr5, $vgpr0, 0, 0, implicit $exec",
    "export": "EXP 0, $vgpr0, $vgpr0, $vgpr0, $vgpr0, -1, -1, 15, implicit $exec",
    "gds_store": "DS_WRITE_B32_gfx9 $vgpr4, $vgpr0, 0, 1, implicit $exec",
}
SCALARS = {
    "s_load": "$sgpr0 = S_LOAD_DWORD_IMM $sgpr4_sgpr5, 0, 0",
    "s_memtime": "$sgpr0_sgpr1 = S_MEMTIME",
    "s_memrealtime": "$sgpr0_sgpr1 = S_MEMREALTIME",
    "s_sendmsg_rtn": "$sgpr0 = S_SENDMSG_RTN_B32 128, implicit $exec, implicit $m0",
    "s_get_barrier_state": "$sgpr0 = S_GET_BARRIER_STATE_IMM -1, implicit-def $scc",
}
READ, OTHER_READ = "$vgpr20 = V_MOV_B32_e32 $vgpr0, implicit $exec", "$vgpr20 = V_MOV_B32_e32 $vgpr1, implicit $exec"
LDS = ("lds_load", "lds_permute", "lds_atomic")


def _set(register: str) -> str:
    if register.startswith("v"):
        return f"${register.replace('v', 'vgpr')} = V_MOV_B32_e32 0, implicit $exec"
    return f"${register.replace('s', 'sgpr')} = S_MOV_B32 0"


def _load(name: str, a: int = 4) -> str:
    return LOADS[name].format(a=a, b=a + 1, c=a + 2)


def _cases() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in LOADS:
        found[f"{name} then read"] = [_load(name), READ]
        found[f"{name} then overwrite"] = [_load(name), _set("v0")]
        found[f"{name} then overwrite address"] = [_load(name), _set("v4")]
        found[f"{name} then something else"] = [_load(name), _set("v100")]
        found[f"{name} then store it"] = [
            _load(name), "GLOBAL_STORE_DWORD $vgpr14_vgpr15, $vgpr0, 0, 0, implicit $exec"
        ]  # fmt: skip
        for other in LOADS:
            if name in LDS and other in LDS:
                continue  # in order on all hardware; LLVM waits all the same
            found[f"{name} then {other} over it"] = [_load(name), _load(other, 24)]
            second = _load(other, 24).replace("$vgpr0 ", "$vgpr1 ", 1)
            found[f"{name} and {other}, read the first"] = [_load(name), second, READ]
            found[f"{name} and {other}, read the second"] = [_load(name), second, OTHER_READ]
        store = "GLOBAL_STORE_DWORD $vgpr24_vgpr25, $vgpr30, 0, 0, implicit $exec"
        found[f"{name} and global_store, read"] = [_load(name), store, READ]
    for name, text in STORES.items():
        found[f"{name} then overwrite data"] = [text, _set("v0")]
        found[f"{name} then overwrite address"] = [text, _set("v4")]
        found[f"{name} then load over data"] = [text, _load("global_load", 24)]
        found[f"{name} then lds_load over data"] = [text, _load("lds_load", 24)]
        found[f"{name} then write EXEC"] = [text, "$exec_lo = S_MOV_B32 -1"]
    for name, text in SCALARS.items():
        found[f"{name} then scalar read"] = [text, "$sgpr20 = S_MOV_B32 $sgpr0"]
        found[f"{name} then vector read"] = [text, "$vgpr1 = V_MOV_B32_e32 $sgpr0, implicit $exec"]
        found[f"{name} then overwrite"] = [text, _set("s0")]
        found[f"{name} then overwrite base"] = [text, _set("s4")]
        found[f"{name} then s_load over it"] = [text, "$sgpr0 = S_LOAD_DWORD_IMM $sgpr24_sgpr25, 0, 0"]
    for name in (*LOADS, *SCALARS):
        text = _load(name) if name in LOADS else SCALARS[name]
        found[f"{name} then return"] = [text, "S_SETPC_B64_return $sgpr30_sgpr31"]
    message = "S_SENDMSG 3, implicit $exec, implicit $m0"
    found["lds_load and s_load, read LDS"] = [_load("lds_load"), SCALARS["s_load"], READ]
    found["lds_load and message, read LDS"] = [_load("lds_load"), message, READ]
    saddr = "$vgpr0 = GLOBAL_LOAD_DWORD_SADDR $sgpr4_sgpr5, $vgpr2, 0, 0, implicit $exec"
    found["global_load then overwrite its scalar base"] = [saddr, _set("s4")]
    found["s_load and global_load, overwrite the first base"] = [SCALARS["s_load"], _load("global_load"), _set("s4")]
    exports = [
        f"EXP {t}, $vgpr{v}, $vgpr{v}, $vgpr{v}, $vgpr{v}, -1, -1, 15, implicit $exec"
        for t, v in ((0, 0), (0, 1), (12, 1))
    ]
    found["two exports, overwrite the first"] = [exports[0], exports[1], _set("v0")]
    found["exports of two orders, overwrite the first"] = [exports[0], exports[2], _set("v0")]
    found["LDS parameter then read"] = ["$vgpr0 = LDS_PARAM_LOAD 0, 0, 15, implicit $m0, implicit $exec", READ]
    return found


CASES = _cases()
_GFX11 = ("gfx1100", "gfx1151")
_GFX12 = ("gfx1200", "gfx1250")
_ONLY_ON = {
    "S_MEMTIME": tuple(set(GPUS) - {*_GFX11, *_GFX12}),
    "S_MEMREALTIME": tuple(set(GPUS) - {*_GFX11, *_GFX12}),
    "S_SENDMSG_RTN": (*_GFX11, *_GFX12),
    "S_GET_BARRIER": _GFX12,
    "LDS_PARAM": (*_GFX11, "gfx1200"),
    "EXP ": tuple(set(GPUS) - {"gfx90a", "gfx942", "gfx1250"}),
    "$vgpr0, 0, 1,": tuple(set(GPUS) - {"gfx90a", "gfx942", *_GFX12}),
}
"""Instructions that some GPUs lack. What else llc refuses is found by trying (slowly)."""
_WAIT = re.compile(r"\s*s_wait")


@cache
def compiled(gpu: str) -> dict[str, tuple[str, str]]:
    """Per case LLVM's output with its waits and without; cases that the GPU cannot do are left out."""
    cases = [
        case
        for case, instructions in CASES.items()
        if all(gpu in gpus for part, gpus in _ONLY_ON.items() if any(part in one for one in instructions))
    ]
    return _compiled_part(gpu, cases)


def _compiled_part(gpu: str, cases: list[str]) -> dict[str, tuple[str, str]]:
    output = _llc(gpu, "".join(_machine_function(number, CASES[case]) for number, case in enumerate(cases)))
    if output is not None:
        return _split(output, cases)
    if len(cases) == 1:
        return {}
    middle = len(cases) // 2
    return _compiled_part(gpu, cases[:middle]) | _compiled_part(gpu, cases[middle:])


def _machine_function(number: int, instructions: list[str]) -> str:
    body = "".join(f"    {one}\n" for one in [*instructions, "S_ENDPGM 0"])
    return f"---\nname: f{number}\nbody: |\n  bb.0:\n{body}...\n"


def _llc(gpu: str, text: str) -> str | None:
    done = subprocess.run(
        [LLC, "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-x", "mir", "-start-before=si-insert-waitcnts",
         "-verify-machineinstrs=0", "-o", "-", "-"],
        input=text, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return done.stdout if done.returncode == 0 else None


def _split(output: str, cases: list[str]) -> dict[str, tuple[str, str]]:
    found = {}
    for number, case in enumerate(cases):
        match = re.search(rf"^f{number}:.*?s_endpgm", output, re.S | re.M)
        if match is None:
            continue
        lines = [line.split(";")[0].strip() for line in match[0].splitlines()[1:]]
        lines = [line for line in lines if line and not line.startswith((".", "s_set_vgpr", "s_setreg", "s_setprio"))]
        # The pair s_setprio, s_waitcnt_expcnt behind exports of gfx11.5 is a hazard workaround of another pass.
        lines = [line for line in lines if not line.startswith("s_waitcnt_expcnt")]
        first = next(index for index, line in enumerate(lines) if not _WAIT.match(line))
        good = lines[first:]
        bad = [line for line in good if not _WAIT.match(line) or "depctr" in line or "s_wait_alu" in line]
        found[case] = ("\n".join(good), "\n".join(bad))
    return found


def _function(gpu: str, text: str) -> Function | None:
    source = parse_source("f.s", f".text\n.type f,@function\nf:\n{text}\n")
    (function,) = build_program(source, find_target(gpu)).functions
    return None if any(one.decoded is None for one in function.instructions) else function


def _counters(function: Function) -> set[str]:
    memory = pending_memory(function)
    return {memory.model.counters[race.track] for race in memory.races}


def _waited_for(text: str) -> set[str]:
    named = re.findall(r"(vmcnt|lgkmcnt|expcnt|vscnt|loadcnt|storecnt|samplecnt|bvhcnt|dscnt|kmcnt|xcnt)", text)
    return set(named)


@pytest.mark.parametrize("gpu", GPUS)
def test_waits_of_llvm_are_enough_and_none_is_unneeded(gpu: str) -> None:
    wrong = []
    checked = 0
    for case, (good, bad) in compiled(gpu).items():
        with_waits, without = _function(gpu, good), _function(gpu, bad)
        if with_waits is None or without is None:
            continue
        checked += 1
        if _counters(with_waits):
            wrong.append(f"{case}: reported although LLVM waits: {_counters(with_waits)}")
        waits = " ".join(line for line in good.splitlines() if _WAIT.match(line))
        if _counters(without) != _waited_for(waits):
            wrong.append(f"{case}: LLVM has '{waits}', without it {_counters(without) or 'nothing'} is reported")
    assert not wrong, "\n".join(wrong)
    assert checked > 150
