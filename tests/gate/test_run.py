"""One run on real repositories: what is new, what changed, what decides."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from asmevo_gate.changes import named_files, range_changes, staged_changes
from asmevo_gate.errors import GateError
from asmevo_gate.gate.baseline import make_baseline, read_baseline
from asmevo_gate.gate.result import Report
from asmevo_gate.gate.run import Request, run_gate
from asmevo_gate.gate.settings import Settings, load_settings
from asmevo_gate.isa.targets import parse_target
from asmevo_gate.verify.assembler import Assembled, NotAssembled, assemble, find_assembler
from asmevo_gate.verify.disassembler import NotDisassembled, find_disassembler

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
WAIT = "  s_waitcnt vmcnt(0)\n  v_fmac_f32"
NO_WAIT = "  v_fmac_f32"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "saxpy.s").write_text((EXAMPLES / "kernels" / "saxpy.s").read_text())
    commit(tmp_path, "base")
    return tmp_path


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


def commit(root: Path, message: str) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)


def edit(root: Path, old: str, new: str) -> None:
    file = root / "saxpy.s"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def run_staged(root: Path, request: Request | None = None) -> Report:
    git(root, "add", "-A")
    with staged_changes(root) as changes:
        return run_gate(changes, Settings(root=root), request or Request(assemble=False))


def rules(report: Report, new: bool = True) -> list[str]:
    return [one.rule for one in report.findings if one.new is new and one.severity != "info" and not one.suppressed]


def test_a_dropped_wait_fails_the_gate_and_names_both_instructions(repository: Path) -> None:
    edit(repository, WAIT, NO_WAIT)
    report = run_staged(repository)
    assert (report.verdict, rules(report)) == ("fail", ["wait.vmcnt.raw"])
    (finding,) = (one for one in report.findings if one.severity == "error")
    assert finding.producer is not None
    assert finding.producer.text.startswith("global_load_dword")
    assert (finding.kernel, finding.gpu, finding.file) == ("saxpy", "gfx90a", "saxpy.s")


def test_a_fault_that_base_has_too_is_not_new_even_when_its_line_moved(repository: Path) -> None:
    edit(repository, WAIT, NO_WAIT)
    commit(repository, "broken")
    edit(repository, "saxpy:\n", "saxpy:\n  s_nop 0\n  s_nop 0\n")
    report = run_staged(repository)
    assert (report.verdict, rules(report), rules(report, new=False)) == ("pass", [], ["wait.vmcnt.raw"])


def test_a_second_fault_of_the_same_kind_is_new(repository: Path) -> None:
    edit(repository, WAIT, NO_WAIT)
    commit(repository, "broken")
    edit(repository, "  s_waitcnt lgkmcnt(0)\n", "")
    report = run_staged(repository)
    assert report.verdict == "fail"
    assert "wait.lgkmcnt.raw" in rules(report)
    assert "wait.vmcnt.raw" in rules(report, new=False)


def test_a_renamed_file_is_compared_with_its_old_name(repository: Path) -> None:
    git(repository, "mv", "saxpy.s", "axpy.s")
    (kernel,) = run_staged(repository).kernels
    assert kernel.base == kernel.metrics
    assert kernel.delta is not None
    assert set(kernel.delta.values()) == {0}


def test_deltas_say_what_the_change_costs(repository: Path) -> None:
    (repository / "saxpy.s").write_text((EXAMPLES / "change" / "saxpy.s").read_text())
    report = run_staged(repository)
    (kernel,) = report.kernels
    assert kernel.delta is not None
    assert kernel.delta["vgpr_allocated"] == 72 - 16
    assert kernel.delta["occupancy_waves_per_simd"] == -1
    assert report.verdict == "warn"


def test_an_instruction_that_the_gate_does_not_know_is_no_pass(repository: Path) -> None:
    edit(repository, "saxpy:\n", "saxpy:\n  v_unheard_of_b32 v0, v1\n")
    report = run_staged(repository)
    assert report.verdict == "not_checked"
    (unknown,) = report.coverage.unknown
    assert unknown.text == "v_unheard_of_b32 v0, v1"
    assert report.coverage.instructions == report.coverage.modelled + 1


def test_a_wait_for_a_count_that_is_not_known_is_no_pass(repository: Path) -> None:
    edit(repository, "s_waitcnt vmcnt(0)", "s_waitcnt NOT_DEFINED_HERE")
    report = run_staged(repository)
    assert report.verdict == "not_checked"
    assert [(one.text, one.reason.endswith("is not known")) for one in report.coverage.unknown] == [
        ("s_waitcnt NOT_DEFINED_HERE", True)
    ]


def test_a_suppression_needs_a_reason_and_a_finding(repository: Path) -> None:
    edit(repository, WAIT, "  ; asmevo: ignore[wait.vmcnt.raw] the data is known to be there\n" + NO_WAIT)
    assert run_staged(repository).verdict == "pass"
    edit(repository, "] the data is known to be there", "]")
    report = run_staged(repository)
    assert (report.verdict, sorted(rules(report))) == ("fail", ["gate.suppression", "wait.vmcnt.raw"])
    edit(repository, "; asmevo: ignore[wait.vmcnt.raw]\n" + NO_WAIT, "; asmevo: ignore[cf.falls_off] why not\n" + WAIT)
    assert rules(run_staged(repository)) == ["gate.suppression"]


def test_a_baseline_keeps_known_findings_from_failing(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    edit(repository, WAIT, NO_WAIT)
    report = run_staged(repository)
    file = tmp_path_factory.mktemp("baseline") / "known.json"
    file.write_bytes(make_baseline(report.findings))
    with staged_changes(repository) as changes:
        again = run_gate(changes, Settings(), Request(assemble=False), read_baseline(file))
    assert again.verdict == "pass"


@pytest.mark.parametrize("content", ["", "{}", '{"schema": "asmevo-gate/baseline/9", "findings": []}', "[1]"])
def test_a_malformed_baseline_is_an_error_and_not_an_empty_one(tmp_path: Path, content: str) -> None:
    file = tmp_path / "known.json"
    file.write_text(content)
    with pytest.raises(GateError, match="baseline"):
        read_baseline(file)
    with pytest.raises(GateError, match="baseline"):
        read_baseline(tmp_path / "missing.json")


def test_a_range_is_compared_with_its_merge_base(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "work")
    edit(repository, WAIT, NO_WAIT)
    commit(repository, "drop a wait")
    with range_changes(repository, "main", "work") as changes:
        report = run_gate(changes, Settings(), Request(assemble=False))
    assert rules(report) == ["wait.vmcnt.raw"]


def test_assembly_of_other_processors_is_skipped_with_a_reason(repository: Path) -> None:
    (repository / "memcpy.s").write_text("\t.text\nmemcpy:\n\tmovq %rdi, %rax\n\tret\n")
    report = run_staged(repository)
    assert report.verdict == "pass"
    assert [(one.file, bool(one.reason)) for one in report.skipped] == [("memcpy.s", True)]


def test_variants_of_a_file_are_all_checked(tmp_path: Path) -> None:
    body = ".text\nk:\n.if FAULTY\n  v_mac_f32 v0, v1, v2\n.endif\n  s_endpgm\n"
    (tmp_path / "k.s").write_text(body)
    (tmp_path / ".asmevo-gate.yaml").write_text(
        "targets:\n  - paths: ['*.s']\n    gpus: [gfx942]\n    variants:\n      - {name: good, defines: {FAULTY: 0}}\n"
        "      - {name: bad, defines: {FAULTY: 1}}\n"
    )
    settings = load_settings(tmp_path)
    with named_files(["k.s"], tmp_path) as changes:
        report = run_gate(changes, settings, Request(named=True, assemble=False))
    assert rules(report) == ["enc.not_on_target"]
    assert len(report.kernels) == 2


def test_a_file_without_a_target_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "k.s").write_text(".text\nk:\n  s_endpgm\n")
    with named_files(["k.s"], tmp_path) as changes, pytest.raises(GateError, match="which GPU"):
        run_gate(changes, Settings(), Request(named=True))


def test_a_code_object_is_checked_against_its_base(tmp_path: Path) -> None:
    assembler = find_assembler(parse_target("gfx90a"))
    if isinstance(assembler, NotAssembled) or isinstance(find_disassembler(), NotDisassembled):
        pytest.skip("no AMDGPU assembler and disassembler")
    git(tmp_path, "init", "-q", "-b", "main")
    source = (EXAMPLES / "kernels" / "saxpy.s").read_text()
    for text in (source, source.replace(WAIT, NO_WAIT)):
        made = assemble(text, parse_target("gfx90a"), assembler)
        assert isinstance(made, Assembled)
        (tmp_path / "saxpy.co").write_bytes(made.object)
        if text is source:
            commit(tmp_path, "base")
    report = run_staged(tmp_path)
    assert rules(report) == ["wait.vmcnt.raw"]
    assert report.kernels[0].delta is not None
    assert report.kernels[0].delta["instructions"] == -1


def test_a_wrapper_that_only_includes_is_checked_when_its_path_has_a_gpu(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "kernel.inc").write_text(".text\nk:\n  v_mac_f32 v0, v1, v2\n  s_endpgm\n")
    (tmp_path / "wrapper.s").write_text('.include "kernel.inc"\n')
    assert [one.file for one in run_staged(tmp_path).skipped] == ["wrapper.s"]
    (tmp_path / ".asmevo-gate.yaml").write_text("targets:\n  - {paths: ['*.s'], gpus: [gfx942]}\n")
    git(tmp_path, "add", "-A")
    with staged_changes(tmp_path) as changes:
        report = run_gate(changes, load_settings(tmp_path), Request(assemble=False))
    assert rules(report) == ["enc.not_on_target"]


def test_blocks_are_matched_with_base_by_label_then_by_content_then_by_place(repository: Path) -> None:
    edit(repository, ".Lend", ".Ldone")
    edit(repository, "  v_lshlrev_b64 v[2:3], 2, v[0:1]\n", "  v_lshlrev_b64 v[2:3], 2, v[0:1]\n  s_nop 15\n" * 40)
    (kernel,) = run_staged(repository).kernels
    entry, body, end = kernel.blocks
    assert (entry.label, entry.base_cycles) == ("saxpy", entry.cycles)
    assert body.label == ""
    assert body.base_cycles is not None
    assert body.base_cycles != body.cycles
    assert (end.label, end.base_cycles) == (".Ldone", end.cycles)
