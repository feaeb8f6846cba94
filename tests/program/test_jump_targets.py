"""Where jumps and calls through registers go: every address that a path brings must be known."""

from __future__ import annotations

import pytest

from asmevo_gate.isa.targets import parse_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.program.model import COMES_BACK, Block, Call, Function
from asmevo_gate.source.parser import parse_source

_DESCRIPTOR = ".rodata\n.amdhsa_kernel k\n .amdhsa_next_free_vgpr 8\n .amdhsa_next_free_sgpr 32\n.end_amdhsa_kernel\n"


def kernel(body: str, gpu: str = "gfx90a") -> Function:
    source = parse_source("k.s", f".text\nk:\n{body}{_DESCRIPTOR}")
    assert not source.problems
    (one,) = build_program(source, parse_target(gpu)).functions
    return one


def address(label: str, pair: str = "s[4:5]", spare: str = "s6") -> str:
    """The address of a label, as Tensile's generator makes it."""
    low, high = (f"s{number}" for number in pair[2:-1].split(":"))
    return (
        f"s_getpc_b64 {pair}\ns_add_i32 {spare}, {label}, 4\n"
        f"s_add_u32 {low}, {low}, {spare}\ns_addc_u32 {high}, {high}, 0\n"
    )


def choice(first: str, second: str) -> str:
    """One of two pieces of code, by SCC."""
    return f"s_cbranch_scc1 other\n{first}s_branch chosen\nother:\n{second}chosen:\n"


def at(function: Function, label: str) -> Block:
    return next(block for block in function.blocks if block.label == label)


def call_of(function: Function, place: int = 0) -> Block:
    return [block for block in function.blocks if block.call is not None][place]


_CALL = "s_swappc_b64 s[8:9], s[4:5]\n"
_SUBROUTINES = "one:\nv_mov_b32 v0, 1\ns_setpc_b64 s[8:9]\ntwo:\nv_mov_b32 v0, 2\ns_setpc_b64 s[8:9]\n"


def called(function: Function, place: int = 0) -> list[str]:
    return [function.blocks[number].label for number in call_of(function, place).entries]


@pytest.mark.parametrize("gpu", ["gfx90a", "gfx942", "gfx1100", "gfx1200"])
def test_a_call_goes_to_each_subroutine_whose_address_a_path_brings(gpu: str) -> None:
    one = kernel(f"{choice(address('one'), address('two'))}{_CALL}s_endpgm\n{_SUBROUTINES}", gpu)
    assert called(one) == ["one", "two"]
    assert [block.leaves for block in one.blocks if block.leaves] == [COMES_BACK, COMES_BACK]
    assert [one.blocks[number].first for number in call_of(one).successors] == [call_of(one).end]


def test_every_later_call_goes_there_as_well() -> None:
    one = kernel(f"{choice(address('one'), address('two'))}{_CALL}v_mov_b32 v1, v0\n{_CALL}s_endpgm\n{_SUBROUTINES}")
    assert called(one, 1) == ["one", "two"]


def test_a_jump_table_has_several_successors() -> None:
    body = f"{choice(address('one'), address('two'))}s_setpc_b64 s[4:5]\none:\ns_nop 1\ntwo:\ns_endpgm\n"
    one = kernel(body)
    jump = at(one, "chosen")
    assert ([one.blocks[number].label for number in jump.successors], jump.leaves) == (["one", "two"], "")


def test_copied_and_selected_addresses_are_followed() -> None:
    copied = address("one") + "s_mov_b64 s[10:11], s[4:5]\ns_mov_b32 s14, s10\ns_mov_b32 s15, s11\n"
    one = kernel(f"{copied}s_swappc_b64 s[8:9], s[14:15]\ns_endpgm\n{_SUBROUTINES}")
    assert called(one) == ["one"]
    selected = f"{address('one')}{address('two', 's[10:11]')}s_cselect_b64 s[4:5], s[4:5], s[10:11]\n"
    assert called(kernel(f"{selected}{_CALL}s_endpgm\n{_SUBROUTINES}")) == ["one", "two"]


_LOADED = "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n"


@pytest.mark.parametrize(
    "other",
    [
        _LOADED,
        "s_nop 0\n",
        address("one").replace("s_addc_u32 s5, s5, 0\n", ""),
        address("one").replace("s_addc", "s_cmp_eq_u32 s5, 0\ns_addc"),
        address("one").replace("s_add_u32 s4, s4, s6", "s_sub_u32 s4, s4, s6"),
        address("one").replace(", 4", ", 8"),
        address("one") + "s_mov_b32 s5, 0\n",
        address("one") + "v_readfirstlane_b32 s4, v0\n",
        "s_getpc_b64 s[4:5]\n" + address("one", "s[10:11]").replace("s_add_u32 s10, s10, s6", "s_add_u32 s4, s4, s6"),
        "s_getpc_b64 s[4:5]\ns_add_u32 s4, s4, one@gotpcrel32@lo+4\ns_addc_u32 s5, s5, one@gotpcrel32@hi+12\n",
    ],
    ids=["memory", "none", "no high half", "carry", "minus", "not four", "high", "low", "another counter", "table"],
)
def test_one_way_that_brings_something_else_makes_the_target_unknown(other: str) -> None:
    one = kernel(f"{choice(address('one'), other)}{_CALL}s_endpgm\n{_SUBROUTINES}")
    assert called(one) == []
    assert call_of(one).call == Call(())
    jump = kernel(f"{choice(address('one'), other)}s_setpc_b64 s[4:5]\none:\ns_endpgm\n")
    assert "s_setpc_b64 is not known" in at(jump, "chosen").leaves


def test_an_address_that_a_loop_overwrites_is_not_known_in_the_next_round() -> None:
    body = f"{address('one')}again:\n{_CALL}s_add_u32 s4, s4, 8\ns_cbranch_scc0 again\ns_endpgm\n{_SUBROUTINES}"
    assert called(kernel(body)) == []


def test_an_address_that_a_subroutine_overwrites_is_not_known_behind_it() -> None:
    body = f"{address('one')}{_CALL}{_CALL}s_endpgm\n{_SUBROUTINES.replace('v_mov_b32 v0, 1', 's_mov_b32 s4, 1')}"
    one = kernel(body)
    assert (called(one), called(one, 1)) == (["one"], [])


def reason(function: Function) -> str:
    call = call_of(function).call
    assert call is not None
    return call.reason


@pytest.mark.parametrize(
    ("subroutine", "why"),
    [
        ("s_mov_b32 s8, 0\ns_setpc_b64 s[8:9]\n", "target of s_setpc_b64 in the called code is not known"),
        ("s_setpc_b64 s[12:13]\n", "target of s_setpc_b64 in the called code is not known"),
        ("s_load_dwordx2 s[8:9], s[0:1], 0x0\ns_setpc_b64 s[8:9]\n", "is not known"),
        (f"{address('sub')}s_swappc_b64 s[12:13], s[4:5]\ns_setpc_b64 s[8:9]\n", "calls itself"),
        ("s_swappc_b64 s[12:13], s[14:15]\ns_setpc_b64 s[8:9]\n", "calls code that is not known"),
        ("s_branch elsewhere\n", "outside of the function"),
        ("s_nop 0\n", "past the last instruction"),
        ("v_mov_b32 v0, 1\n" * 20_001 + "s_setpc_b64 s[8:9]\n", "more than 20000 instructions"),
    ],
    ids=["overwritten", "another", "loaded", "recursion", "call", "elsewhere", "end", "size"],
)
def test_a_subroutine_that_may_not_come_back_to_its_call_is_not_followed(subroutine: str, why: str) -> None:
    one = kernel(f"{address('sub')}{_CALL}s_endpgm\nsub:\n{subroutine}")
    assert called(one) == []
    assert why in reason(one)


def test_recursion_over_two_subroutines_is_not_followed() -> None:
    body = (
        f"{address('a')}{_CALL}s_endpgm\n"
        f"a:\n{address('b')}s_swappc_b64 s[12:13], s[4:5]\ns_setpc_b64 s[8:9]\n"
        f"b:\n{address('a')}s_swappc_b64 s[8:9], s[4:5]\ns_setpc_b64 s[12:13]\n"
    )
    assert "calls itself" in reason(kernel(body))


def test_subroutines_may_call_subroutines_and_keep_their_return_address_elsewhere() -> None:
    body = (
        f"{address('a')}{_CALL}s_endpgm\n"
        f"a:\ns_mov_b64 s[12:13], s[8:9]\ns_call_b64 s[8:9], b\ns_setpc_b64 s[12:13]\n"
        "b:\nv_mov_b32 v0, 1\ns_setpc_b64 s[8:9]\n"
    )
    one = kernel(body)
    assert (called(one), called(one, 1)) == (["a"], ["b"])
    assert sorted(map(len, one.subroutines.values())) == [1, 3]


def test_a_call_that_never_comes_back_leads_nowhere() -> None:
    one = kernel("s_call_b64 s[8:9], sub\ns_nop 0\ns_endpgm\nsub:\ns_endpgm\n")
    assert (call_of(one).successors, called(one)) == ((), ["sub"])


def test_two_link_registers_may_not_be_mixed_up() -> None:
    """Entered through the second call the subroutine goes back behind the first one."""
    body = "s_call_b64 s[8:9], sub\ns_call_b64 s[12:13], sub\ns_endpgm\nsub:\ns_nop 0\ns_setpc_b64 s[8:9]\n"
    one = kernel(body)
    assert (called(one), called(one, 1)) == ([], [])
    assert at(one, "sub").lost


def test_code_that_is_both_run_into_and_called_does_not_come_back() -> None:
    one = kernel("s_call_b64 s[8:9], sub\nsub:\ns_nop 0\ns_setpc_b64 s[8:9]\n")
    assert at(one, "sub").lost


def test_a_kernel_returns_nowhere() -> None:
    assert kernel("s_load_dwordx2 s[30:31], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_setpc_b64 s[30:31]\n").blocks[0].lost


def test_a_call_of_the_function_itself_is_no_subroutine() -> None:
    source = parse_source("f.s", "f:\n s_cbranch_scc1 .Lend\n s_call_b64 s[30:31], f\n.Lend:\n s_setpc_b64 s[30:31]\n")
    (one,) = build_program(source, parse_target("gfx90a")).functions
    assert call_of(one).call == Call(("f",))


def test_numbers_in_place_of_labels_lead_to_the_same_places() -> None:
    from asmevo_gate.verify.assembler import NotAssembled, find_assembler
    from asmevo_gate.verify.disassembler import NotDisassembled, find_disassembler
    from asmevo_gate.verify.numeric_branches import has_numeric_branches, label_numeric_branches

    target = parse_target("gfx90a")
    if isinstance(find_assembler(target), NotAssembled) or isinstance(find_disassembler(), NotDisassembled):
        pytest.skip("no AMDGPU assembler or disassembler is installed")
    # Behind s_getpc_b64 are five instructions of 4 bytes; the generator adds 4 itself.
    body = address("0x10") + f"{_CALL}s_endpgm\nv_mov_b32 v0, 1\ns_setpc_b64 s[8:9]\n"
    source = parse_source("k.s", f".text\nk:\n{body}")
    assert has_numeric_branches(source)
    (one,) = build_program(label_numeric_branches(source, target, 64), target).functions
    (entry,) = call_of(one).entries
    assert one.instructions[one.blocks[entry].first].statement.name == "v_mov_b32"
    assert one.blocks[entry].leaves == COMES_BACK
