"""Every instruction of every GPU has a timing from its fingerprint, or is said to have none; never a silent default."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache

import pytest

from asmevo_gate.cost.classification import classification
from asmevo_gate.cost.fingerprint import load_fingerprint
from asmevo_gate.cost.timing import Step, Timing, timing_for
from asmevo_gate.isa.decoder import isa_for
from asmevo_gate.isa.instruction import Decoded, Op, Role
from asmevo_gate.isa.registers import AGPRS, VGPRS
from asmevo_gate.isa.targets import find_target, target_names
from tests.oracles.isa_lines import sample_lines

LLVM_MCA = shutil.which("llvm-mca-22")
GCN = ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950")
MFMA = ("gfx908", "gfx90a", "gfx942", "gfx950")
UNTIMED = {
    # The shapes of gfx12.0 that LLVM still assembles for gfx1250, of which its cost tables and papers say nothing.
    "gfx1250": r"v_(swmmac_\w+_16x16x32_\w+|swmmac_i32_16x16x64_iu4|wmma_\w+_16x16x16_\w+|wmma_i32_16x16x32_iu4)",
    "gfx950": "v_mfma_ld_scale_b32",
}


def timing_of(target: str) -> Timing:
    return timing_for(target, load_fingerprint(target).wave_sizes[0])


@cache
def instructions(target: str) -> tuple[Decoded, ...]:
    """One instruction of each base mnemonic, variant and set of operands that the samples have for a target."""
    isa = isa_for(find_target(target), timing_of(target).wave_size)
    found: dict[tuple[str, str, int], Decoded] = {}
    for line in sample_lines()[target]:
        decoded = isa.decode(line)
        if isinstance(decoded, Decoded):
            found.setdefault((decoded.base, decoded.variant, len(decoded.operands)), decoded)
    return tuple(found.values())


def timed(target: str) -> Iterator[tuple[Decoded, Step]]:
    timing = timing_of(target)
    for decoded in instructions(target):
        yield decoded, timing.step(decoded)


@pytest.mark.parametrize("target", target_names())
def test_every_instruction_has_a_timing_or_is_known_to_have_none(target: str) -> None:
    assert len(instructions(target)) > 800
    untimed = re.compile(UNTIMED.get(target, "(?!)"))
    for decoded, step in timed(target):
        expected = decoded.base != "v_illegal" and not untimed.fullmatch(decoded.base)
        assert step.timed is expected, decoded.text


@pytest.mark.parametrize("target", target_names())
def test_every_figure_is_sane(target: str) -> None:
    for decoded, step in timed(target):
        figures = (step.busy, step.port_busy, step.slot, step.latency, step.shortest, step.longest, step.bytes)
        assert all(math.isfinite(figure) and figure >= 0 for figure in figures), decoded.text
        assert step.busy <= 260, decoded.text
        assert step.shortest <= step.longest, decoded.text
        assert step.slot > 0 or step.name == "s_delay_alu", decoded.text
        if decoded.of(Op.VALU) and not decoded.of(Op.MFMA | Op.WMMA):
            assert step.busy > 0, decoded.text


@pytest.mark.parametrize("target", target_names())
def test_a_row_that_the_fingerprint_lacks_is_named(target: str) -> None:
    rows, classes = load_fingerprint(target).rows, classification()
    for decoded, step in timed(target):
        kind, row = classes.find(decoded.base, decoded.classes)
        if kind != "alu":
            continue
        while row not in rows and row in classes.covered_by:
            row = classes.covered_by[row]
        published = row in rows and rows[row].interval.known
        assert published or f"that of '{classes.stands_in[row]}'" in step.assumption or "stands in" in step.assumption


def _dwords(decoded: Decoded, role: int) -> int:
    vectors = (operand for operand in decoded.operands if operand.mask & (VGPRS | AGPRS))
    return sum(operand.length for operand in vectors if operand.role & role)


@pytest.mark.parametrize("target", GCN)
def test_the_lds_port_of_gcn_carries_address_and_data_of_all_operands(target: str) -> None:
    """64 B a clk: a dword a lane each 4 clk. What goes in is the address and every data operand, what comes out the
    result; a 96-bit read was measured to take as long as one of 128 bits."""
    strange = re.compile(r"ds_(gws|ordered|.*_src2_|.*_tr|.*addtid|.*barrier|condxchg|add_gs|sub_gs|nop|.*b6$)")
    checked = 0
    for decoded, step in timed(target):
        if not decoded.of(Op.DS) or strange.match(decoded.base) or decoded.of(Op.GDS | Op.LDSDIR):
            continue
        into, out = _dwords(decoded, Role.READ) - 1, _dwords(decoded, Role.WRITE)
        wanted = 4 * (into + 1) if into > 0 else 4 * (4 if out == 3 else out)
        assert step.busy == wanted, decoded.text
        checked += 1
    assert checked > 80


@pytest.mark.parametrize("base", ["ds_add_src2_u32", "ds_max_src2_f32", "ds_and_src2_b64"])
def test_an_lds_instruction_on_two_addresses_carries_no_data(base: str) -> None:
    (decoded,) = (one for one in instructions("gfx900") if one.base == base)
    assert timing_of("gfx900").step(decoded).busy == (8 if base.endswith("64") else 4)


@pytest.mark.skipif(LLVM_MCA is None, reason="needs llvm-mca-22")
@pytest.mark.parametrize("target", MFMA)
def test_matrix_timings_are_those_of_llvm(target: str) -> None:
    """Interval and latency of each MFMA in llvm-mca's tables (in units of 4 clk), which are known to be right but for
    eight-bit operands of the f8f6f4 shapes: those take twice as long (CDNA4 ISA; LLVM's model has a note on it)."""
    matrix = [(decoded, step) for decoded, step in timed(target) if decoded.of(Op.MFMA) and step.timed]
    assert len(matrix) >= 20
    command = [str(LLVM_MCA), "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-instruction-tables"]
    text = "\n".join(decoded.text for decoded, _ in matrix) + "\n"
    output = subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=120).stdout
    table = output.partition("Instruction Info:")[2].partition("Resources:")[0]
    rows = re.findall(r"(?m)^\s*\d+\s+(\d+)\s+([\d.]+)\s.*v_(?:s?mfma)", table)
    assert len(rows) == len(matrix)
    for (decoded, step), (latency, interval) in zip(matrix, rows, strict=True):
        ours, theirs = (step.busy, step.latency), (4 * float(interval), 4 * float(latency))
        if "f8f6f4" in decoded.base and decoded.modifiers.get("cbsz", "0") in ("0", "1"):
            theirs = (2 * theirs[0], theirs[1] + theirs[0])
        assert ours == theirs, decoded.text
