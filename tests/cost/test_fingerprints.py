"""The fingerprints: complete, sourced, consistent with themselves and with the other data of the package."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest
import yaml

import asmevo_gate
from asmevo_gate.analysis.occupancy import waves_by_vgprs
from asmevo_gate.cost.classification import classification
from asmevo_gate.cost.fingerprint import (
    Leaf,
    MatrixRow,
    data_directory,
    fingerprint_names,
    load_fingerprint,
)
from asmevo_gate.cost.interval import low_of
from asmevo_gate.cost.timing import timing_for
from asmevo_gate.errors import GateError, UsageError
from asmevo_gate.isa.decoder import isa_for
from asmevo_gate.isa.instruction import Op
from asmevo_gate.isa.resource_limits import resource_limits
from asmevo_gate.isa.targets import document, find_target, target_names
from tests.cost.programs import cost

ROOT = Path(__file__).resolve().parents[2]
MICROARCH = ROOT / "microarch"
TARGETS = tuple(path.stem for path in sorted(MICROARCH.glob("gfx*.yaml")))
"""Every GPU with a file of its own: those with an instruction table, and any other that got one."""


def compiler() -> ModuleType:
    path = ROOT / "tools" / "compile_microarch.py"
    specification = importlib.util.spec_from_file_location("compile_microarch", path)
    assert specification and specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def schema(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads((MICROARCH / name).read_text()))


def test_every_target_has_a_fingerprint() -> None:
    assert fingerprint_names() == target_names()
    assert set(target_names()) <= set(TARGETS)


@pytest.mark.parametrize("target", TARGETS)
def test_file_follows_its_schema(target: str) -> None:
    document = json.loads((MICROARCH / "compiled" / f"{target}.json").read_text())  # equal to the YAML, see below
    errors = [f"{error.json_path}: {error.message}" for error in schema("schema.json").iter_errors(document)]
    assert errors == []
    assert document["target"] == target


def test_classification_follows_its_schema() -> None:
    document = yaml.safe_load((MICROARCH / "classification.yaml").read_text())
    validator = schema("classification.schema.json")
    assert [error.message for error in validator.iter_errors(document)] == []


@pytest.mark.parametrize(
    "change",
    [
        {"confidence": "unknown"},
        {"value": None},
        {"source": []},
        {"confidence": "certain"},
        {"alternatives": [{"value": 3, "source": ["x"]}]},
        {"conflict": "two say different things"},
    ],
)
def test_schema_refuses_a_figure_without_grounds(change: dict[str, object]) -> None:
    document = json.loads((MICROARCH / "compiled" / "gfx900.json").read_text())
    validator = schema("schema.json")
    document["rows"]["valu"]["latency"] = {"value": 4, "source": ["x"], "confidence": "measured", **change}
    assert list(validator.iter_errors(document))


def test_compiled_form_is_fresh() -> None:
    assert compiler().stale_files() == [], "run python tools/compile_microarch.py"


def test_a_changed_source_makes_the_compiled_form_stale(tmp_path: Path) -> None:
    (tmp_path / "compiled").mkdir()
    (tmp_path / "gfx1.yaml").write_text("value: 4\n")
    assert compiler().stale_files(tmp_path) == ["gfx1.json"]
    (tmp_path / "compiled" / "gfx1.json").write_text('{"value":4}\n')
    assert compiler().stale_files(tmp_path) == []
    (tmp_path / "gfx1.yaml").write_text("value: 5\n")
    (tmp_path / "compiled" / "gfx2.json").write_text("{}\n")
    assert compiler().stale_files(tmp_path) == ["gfx1.json", "gfx2.json"]


@pytest.mark.parametrize("target", TARGETS)
def test_every_source_is_spelled_out_and_used(target: str) -> None:
    fingerprint = load_fingerprint(target)
    used = {source for _, leaf in fingerprint.leaves() for source in leaf.source}
    used |= {s for _, leaf in fingerprint.leaves() for other in leaf.alternatives for s in other.source}
    assert used == set(fingerprint.sources)


@pytest.mark.parametrize("target", TARGETS)
def test_disagreeing_sources_are_named(target: str) -> None:
    for path, leaf in load_fingerprint(target).leaves():
        assert bool(leaf.alternatives) == bool(leaf.conflict), path
        assert leaf.known == (leaf.confidence != "unknown"), path
        assert all(other.value != leaf.value for other in leaf.alternatives), path


@pytest.mark.parametrize("target", TARGETS)
def test_registers_and_waves_agree_with_the_resource_limits(target: str) -> None:
    fingerprint, limits = load_fingerprint(target), resource_limits(find_target(target))
    assert fingerprint.wave_sizes == tuple(sorted(find_target(target).wave_sizes))
    assert fingerprint.structure_number("max_waves_per_simd") == limits.max_waves_per_eu
    for name, leaf in fingerprint.waves_by_vgprs.items():
        size = int(name.removeprefix("wave"))
        assert isinstance(leaf.value, list)
        for row in leaf.value:
            assert isinstance(row, list)
            assert waves_by_vgprs(limits, size, int(row[0])) == row[1], (name, row)
    smallest = limits.vgpr[min(limits.vgpr)]
    assert fingerprint.registers["vgprs_per_simd_lane"].number == smallest.file
    assert fingerprint.registers["vgpr_granule"].lookup(min(limits.vgpr)) == smallest.granule


@pytest.mark.parametrize("target", TARGETS)
def test_lds_is_that_of_the_resource_limits(target: str) -> None:
    lds, limits = load_fingerprint(target).lds, resource_limits(find_target(target))
    assert lds["granule"].number == limits.lds_granule
    assert lds["bytes"].number == max(block.lds_bytes for block in limits.sharing.values())


LLC = shutil.which("llc-22")
ONE_BLOCK_SIZE = ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx1250")
"""Targets that state LDS in blocks of the size in which they allocate it: gfx10 to gfx12.0 state smaller ones, and for
gfx950 llc 22 counts blocks of 2,048 bytes where its own manual says 1,280."""


@pytest.mark.skipif(LLC is None, reason="needs llc-22")
@pytest.mark.parametrize("target", ONE_BLOCK_SIZE)
def test_llvm_states_lds_in_blocks_of_the_granule(target: str) -> None:
    granule = int(load_fingerprint(target).lds["granule"].number)
    for used, blocks in ((4, 1), (granule, 1), (granule + 4, 2)):
        text = (
            f"@lds = internal addrspace(3) global [{used // 4} x i32] poison\n"
            "define amdgpu_kernel void @k(i32 %v) {\n  store volatile i32 %v, ptr addrspace(3) @lds\n  ret void\n}\n"
        )
        command = [str(LLC), "-mtriple=amdgcn-mesa-mesa3d", f"-mcpu={target}", "-o", "-"]
        output = subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=60).stdout
        assert re.findall(r"granulated_lds_size = (\d+)", output) == [str(blocks)]


def macs(row: MatrixRow) -> int:
    """Multiply-adds of one instruction, twice as many for sparse A operands as its stored elements."""
    m, n, k, blocks = re.fullmatch(r"(\d+)x(\d+)x(\d+)(?:_(\d+)B)?", row.shape).groups()  # type: ignore[union-attr]
    return int(m) * int(n) * int(k) * int(blocks or 1)


@pytest.mark.parametrize("target", [name for name in TARGETS if load_fingerprint(name).matrix])
def test_matrix_rates_follow_from_shape_and_cycles(target: str) -> None:
    fingerprint = load_fingerprint(target)
    simds = fingerprint.structure_number("simds")
    if fingerprint.matrix[0].flops_per_clk and "CU" in fingerprint.matrix[0].flops_per_clk.unit:
        simds = fingerprint.structure_number("simds_per_cu")
    for row in fingerprint.matrix:
        assert row.flops_per_clk is not None
        rate = 2 * macs(row) * simds / row.cycles.number
        assert row.flops_per_clk.number in (rate, rate / 2, rate * 2), row.names
        if row.passes:
            assert row.passes.number * 4 == row.cycles.number, row.names
        assert row.valu_free_clk.get(0) < row.cycles.number


@pytest.mark.parametrize("target", [name for name in TARGETS if load_fingerprint(name).matrix])
def test_matrix_rows_are_instructions_of_the_target(target: str) -> None:
    known = set(isa_for(find_target(target), timing_for(target, wave_of(target)).wave_size).mnemonics())
    assert {row.names[0] for row in load_fingerprint(target).matrix} - known == set()


def wave_of(target: str) -> int:
    return load_fingerprint(target).wave_sizes[0]


@pytest.mark.parametrize("target", ["gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1200", "gfx1201"])
def test_every_matrix_instruction_has_a_row(target: str) -> None:
    names = {name for row in load_fingerprint(target).matrix for name in row.names}
    matrix = {
        mnemonic
        for mnemonic in isa_for(find_target(target), wave_of(target)).mnemonics()
        if re.match(r"v_(mfma|smfmac|wmma|swmmac)_", mnemonic) and "_ld_scale" not in mnemonic
    }
    assert matrix - names == set()


@pytest.mark.parametrize("target", TARGETS)
def test_a_stand_in_always_ends_at_a_published_interval(target: str) -> None:
    rows = load_fingerprint(target).rows
    stands_in = classification().covered_by | classification().stands_in
    for name in stands_in:
        seen = []
        while name not in rows or not rows[name].interval.known:
            assert name not in seen, name
            seen.append(name)
            name = stands_in[name]
        assert name in rows


def test_gpus_with_the_same_instructions_share_a_fingerprint() -> None:
    sharing = {name: table for name, table in document()["same_instructions"].items() if name not in TARGETS}
    assert sharing
    for name, table in sharing.items():
        assert load_fingerprint(name) == load_fingerprint(table)


TRANSCENDENTALS = "v_exp_f32 v0, v1\nv_exp_f32 v2, v1\nv_exp_f32 v3, v1"


def clk(target: str) -> float:
    """Clk of one pass of independent transcendentals in a loop."""
    return low_of(cost(target, TRANSCENDENTALS).cycles)


def test_a_gpu_is_added_by_adding_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What docs/add-a-gpu.md tells: copy a file, change a figure, compile; the model then uses it."""
    source = tmp_path / "microarch"
    shutil.copytree(MICROARCH, source)
    shutil.rmtree(source / "compiled")
    text = (MICROARCH / "gfx1100.yaml").read_text()
    added = yaml.safe_load(text)
    slower = added["rows"]["trans"]["interval"]["value"] * 3
    added["target"] = "gfx1101"
    added["rows"]["trans"]["interval"]["value"] = slower
    (source / "gfx1101.yaml").write_text(yaml.safe_dump(added))
    assert not list(schema("schema.json").iter_errors(added))
    (source / "compiled").mkdir()
    for name, content in compiler().compiled_files(source).items():
        (source / "compiled" / name).write_text(content)
    before = clk("gfx1101")
    load_fingerprint.cache_clear()
    timing_for.cache_clear()
    monkeypatch.setattr("asmevo_gate.cost.fingerprint.data_directory", lambda: source / "compiled")
    try:
        after, untouched = clk("gfx1101"), clk("gfx1100")
    finally:
        load_fingerprint.cache_clear()
        timing_for.cache_clear()
    assert after == 3 * before == 3 * slower
    assert untouched == before


def test_unknown_gpu_is_refused() -> None:
    with pytest.raises(UsageError, match="gfx1"):
        load_fingerprint("gfx1")


def test_files_are_found_in_a_checkout() -> None:
    assert (data_directory() / "gfx942.json").is_file()


def test_files_of_an_installed_package_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "asmevo_gate"
    for place in (package / "data" / "microarch", tmp_path / "microarch"):
        (place / "compiled").mkdir(parents=True)
    monkeypatch.setattr(asmevo_gate, "__file__", str(package / "__init__.py"))
    assert data_directory() == package / "data" / "microarch" / "compiled"
    (package / "data" / "microarch" / "compiled").rmdir()
    assert data_directory() == tmp_path / "microarch" / "compiled"
    (tmp_path / "microarch" / "compiled").rmdir()
    with pytest.raises(GateError, match="missing"):
        data_directory()


def test_figures_of_all_sources_bound_a_leaf() -> None:
    latency = load_fingerprint("gfx942").memory.levels[0].latency
    assert (latency.lowest, latency.number, latency.highest) == (100, 120, 120)


def test_a_missing_figure_is_never_a_number() -> None:
    leaf = Leaf(None, [], "unknown")
    assert not leaf.known
    assert leaf.get(7) == 7
    with pytest.raises(GateError, match="missing"):
        _ = leaf.number
    with pytest.raises(GateError, match="table"):
        leaf.lookup(4)


def test_a_table_gives_the_next_larger_entry() -> None:
    leaf = Leaf([[4, 1], [8, 2], [16, 4]], ["x"], "documented")
    assert [leaf.lookup(key) for key in (1, 4, 5, 12, 99)] == [1, 1, 2, 4, 4]


@pytest.mark.parametrize(
    ("base", "classes", "wanted"),
    [
        ("v_exp_f32", Op.VALU | Op.TRANS, ("alu", "trans")),
        ("v_rcp_f64", Op.VALU | Op.TRANS, ("alu", "f64_trans")),
        ("v_fma_f64", Op.VALU, ("alu", "f64_fma")),
        ("v_add_f64", Op.VALU, ("alu", "f64_add")),
        ("v_cvt_f64_u32", Op.VALU, ("alu", "f64_add")),
        ("v_mul_lo_u32", Op.VALU, ("alu", "mul_u32")),
        ("v_mul_u32_u24", Op.VALU, ("alu", "mad_u24")),
        ("v_mad_u64_u32", Op.VALU, ("alu", "mad_u64")),
        ("v_cmp_lt_u64", Op.VALU | Op.VOPC, ("alu", "int64")),
        ("v_pk_fma_f32", Op.VALU | Op.PACKED, ("alu", "pk_f32")),
        ("v_pk_fma_f16", Op.VALU | Op.PACKED, ("alu", "pk_f16")),
        ("v_add_nc_u32", Op.VALU, ("alu", "valu_int")),
        ("v_fma_f32", Op.VALU, ("alu", "valu")),
        ("s_waitcnt", Op.SALU | Op.WAIT, ("wait", "")),
        ("s_nop", Op.SALU | Op.SOPP, ("nop", "")),
        ("s_add_f32", Op.SALU, ("alu", "sfpu")),
        ("s_add_u32", Op.SALU, ("alu", "salu")),
        ("s_and_saveexec_b64", Op.SALU, ("alu", "saveexec")),
        ("s_endpgm", Op.SALU | Op.TERMINATOR, ("branch", "")),
        ("buffer_load_dword", Op.VALU | Op.BUFFER | Op.LOAD | Op.LDS_DMA, ("vmem", "")),
    ],
)
def test_instructions_take_their_class(base: str, classes: int, wanted: tuple[str, str]) -> None:
    assert classification().find(base, classes) == wanted
