"""What is in flight through subroutines against a program that has a copy of each of them for every call."""

from __future__ import annotations

import random

import pytest

from asmevo_gate.analysis.pending_memory import PendingMemory, pending_memory
from asmevo_gate.isa.targets import parse_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.calls import CallTargets, linked_function
from asmevo_gate.program.model import Function
from asmevo_gate.source.parser import parse_source

_DESCRIPTOR = ".rodata\n.amdhsa_kernel k\n .amdhsa_next_free_vgpr 8\n .amdhsa_next_free_sgpr 32\n.end_amdhsa_kernel\n"
_LINES = (
    "global_load_dword v{0}, v0, s[10:11]",
    "global_load_dword v{0}, v{1}, s[10:11]",
    "global_store_dword v0, v{0}, s[10:11]",
    "ds_read_b32 v{0}, v7",
    "ds_write_b32 v7, v{0}",
    "v_add_f32 v{0}, v{1}, v{1}",
    "v_mov_b32 v{0}, 0",
    "s_waitcnt vmcnt({2})",
    "s_waitcnt lgkmcnt({2})",
    "s_barrier",
)


def _code(rng: random.Random, calls: list[str], name: str) -> str:
    """Random straight code with branches forwards, a loop, and calls."""
    lines: list[str] = []
    for place in range(rng.randrange(3, 9)):
        kind = rng.random()
        if kind < 0.25 and calls:
            lines.append(rng.choice(calls))
        elif kind < 0.4:
            inside = _line(rng)
            lines += [f"s_cbranch_vccz {name}_{place}", inside, f"{name}_{place}:"]
        elif kind < 0.47:
            lines += [f"{name}_{place}:", _line(rng), f"s_cbranch_vccz {name}_{place}"]
        else:
            lines.append(_line(rng))
    return "\n".join(lines) + "\n"


def _line(rng: random.Random) -> str:
    return rng.choice(_LINES).format(rng.randrange(1, 5), rng.randrange(1, 5), rng.randrange(3))


def _address(label: str) -> str:
    return f"s_getpc_b64 s[4:5]\ns_add_i32 s6, {label}, 4\ns_add_u32 s4, s4, s6\ns_addc_u32 s5, s5, 0\n"


def _kernel(seed: int) -> Function:
    rng = random.Random(seed)
    either = f"s_cbranch_vccnz other\n{_address('a')}s_branch chosen\nother:\n{_address('b')}chosen:\n"
    call = "s_swappc_b64 s[8:9], s[4:5]"
    body = either + _code(rng, [call, "s_call_b64 s[8:9], a"], "k") + f"{call}\n{_line(rng)}\ns_endpgm\n"
    inner = "s_call_b64 s[12:13], c"
    subroutines = "".join(
        f"{name}:\n{_code(rng, calls, name)}{''.join(calls)}\ns_setpc_b64 s[{link}:{link + 1}]\n"
        for name, calls, link in (("a", [inner], 8), ("b", [], 8), ("c", [], 12))
    )
    source = parse_source("k.s", f".text\nk:\n{body}{subroutines}{_DESCRIPTOR}")
    (function,) = build_program(source, parse_target("gfx90a")).functions
    assert not any(block.lost or (block.call and not block.entries) for block in function.blocks)
    return function


def _races(memory: PendingMemory) -> dict[tuple[object, ...], tuple[bool, int]]:
    """Each race by the lines of its ends: whether it is certain, and the least count that is needed."""
    found: dict[tuple[object, ...], tuple[bool, int]] = {}
    lines = [one.statement.place.line for one in memory.function.instructions]
    for race in memory.races_of_graph:
        barrier = lines[race.barrier] if race.barrier >= 0 else -1
        key = (race.access, race.track, lines[race.producer], lines[race.consumer], barrier)
        certain, later = found.get(key, (False, 1 << 30))
        found[key] = (certain or race.certain, min(later, race.later))
    return found


@pytest.mark.parametrize("seed", range(150))
def test_each_call_is_followed_as_if_it_had_a_copy_of_its_own(seed: int) -> None:
    function = _kernel(seed)
    memory = pending_memory(function)
    linked = linked_function(function, CallTargets([function]))
    assert not linked.unresolved
    effects = [memory.model.effect(one) for one in linked.function.instructions]
    for index in linked.followed:
        effects[index] = effects[index]._replace(unknown="", active=False, special=False)
    inside, copied = _races(memory), _races(PendingMemory(linked.function, effects=effects))
    assert inside.keys() == copied.keys()
    assert {key: later for key, (_, later) in inside.items()} == {key: later for key, (_, later) in copied.items()}


def test_the_random_programs_have_races_in_subroutines_and_behind_them() -> None:
    kinds = set()
    for seed in range(40):
        function = _kernel(seed)
        within = {
            index
            for number in function.in_subroutines
            for index in range(function.blocks[number].first, function.blocks[number].end)
        }
        for race in pending_memory(function).races_of_graph:
            kinds.add((race.producer in within, race.consumer in within))
    assert len(kinds) == 4
