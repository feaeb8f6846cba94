"""Kernels as text for tests, and the chain of acceptance on them."""

from __future__ import annotations

from asmevo_gate.analysis.liveness import live_registers
from asmevo_gate.analysis.regions import Region
from asmevo_gate.constraints.files import graph_for
from asmevo_gate.gate.rewriting import FileRewrite, GateJudge, rewrite_text
from asmevo_gate.gate.target_choice import Configuration
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.model import Program
from asmevo_gate.rewrite.acceptance import Chain, Verdict, candidate
from asmevo_gate.rewrite.edit_script import EditScript
from asmevo_gate.rewrite.proposal import Proposal, Proposer, RewriteOptions
from asmevo_gate.rewrite.proposers import deterministic_proposers
from asmevo_gate.rewrite.scope import editable_regions
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.symbols import predefined_symbols

# scalar load, wait for it, wait for vector memory, load of four dwords, store
GFX9 = ("s_load_dwordx2", "s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(0)", "global_load_dwordx4", "global_store_dword")
GFX11 = ("s_load_b64", "s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(0)", "global_load_b128", "global_store_b32")


def kernel(body: str, gpu: str = "gfx90a", results: str = "v8") -> str:
    """A kernel: v0 is an address, v[4:7] are loaded and waited for, s[2:5] are pointers, ``results`` are stored."""
    load, wait_scalar, wait_vector, load_four, store = GFX11 if gpu.startswith("gfx11") else GFX9
    stores = "".join(f"  {store} v0, {name}, s[2:3] offset:{4 * at}\n" for at, name in enumerate(results.split(",")))
    accumulators = "  .amdhsa_accum_offset 32\n" if gpu in ("gfx90a", "gfx942", "gfx950") else ""
    wave = "  .amdhsa_wavefront_size32 1\n" if gpu.startswith("gfx1") else ""
    return (
        f'.amdgcn_target "amdgcn-amd-amdhsa--{gpu}"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n'
        f"  {load} s[2:3], s[0:1], 0x0\n  v_lshlrev_b32_e32 v0, 2, v0\n  {wait_scalar}\n"
        f"  {load_four} v[4:7], v0, s[2:3]\n  {wait_vector}\n"
        f"{body}"
        f"{stores}  s_endpgm\n.rodata\n.amdhsa_kernel k\n  .amdhsa_next_free_vgpr 32\n  .amdhsa_next_free_sgpr 16\n"
        f"{accumulators}{wave}  .amdhsa_user_sgpr_kernarg_segment_ptr 1\n.end_amdhsa_kernel\n"
    )


def judge_for(gpu: str, assemble: bool = True) -> GateJudge:
    """The gate for one GPU."""
    target = find_target(gpu)
    options = SourceOptions(predefined=predefined_symbols(target.name))
    way = Configuration(target, {}, (), None)
    return GateJudge("k.s", way, options, graph_for(target), frozenset(), assemble)


def rewritten(
    text: str, gpu: str = "gfx90a", proposers: tuple[Proposer, ...] | None = None, **options: object
) -> FileRewrite:
    """What the deterministic proposers (or others) make of a text."""
    chosen = RewriteOptions(**options)  # type: ignore[arg-type]
    return rewrite_text("k.s", text, judge_for(gpu), chosen, proposers or deterministic_proposers(chosen))


def region_at(program: Program, text: str) -> Region:
    """The region that holds an instruction."""
    for function in program.functions:
        for region in editable_regions(program, function, live_registers(function)).regions:
            if any(one.statement.text == text for one in region.instructions):
                return region
    raise AssertionError(f"no region holds '{text}'")


def judged(text: str, at: str, script: EditScript, gpu: str = "gfx90a", assemble: bool = True) -> Verdict:
    """One script for the region that holds ``at``, through the chain."""
    judge = judge_for(gpu, assemble)
    program = judge.parse(text)
    made = candidate(program, region_at(program, at), Proposal(script, "test", "test"))
    if not hasattr(made, "edits"):
        return Verdict(program, (), (made,))  # type: ignore[arg-type]
    return Chain(program, judge, RewriteOptions(), {"k": 1}).run([made])  # type: ignore[list-item]
