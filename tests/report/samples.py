"""Reports of our own making that use every field of the result model, and hostile variants of them."""

from __future__ import annotations

from asmevo_gate.gate.result import (
    BlockReport,
    Coverage,
    Finding,
    Input,
    Interval,
    KernelReport,
    Location,
    Metrics,
    Report,
    Rewrite,
    Tool,
    Unknown,
)
from asmevo_gate.report.context import RenderContext, RuleHelp

TOOL = Tool("asmevo-gate", "0.1.0", "2026.1", "llvm-mc 22.1.8")

LOAD = Location("kernels/saxpy.s", 31, "\tbuffer_load_dword v4, v1, s[8:11], 0 offen")
JUMP = Location("kernels/saxpy.s", 33, "\ts_branch .LBB0_4")

MISSING_WAIT = Finding(
    rule="wait.vmcnt.raw",
    family="wait",
    severity="error",
    file="kernels/saxpy.s",
    line=40,
    column=2,
    end_line=40,
    kernel="saxpy",
    message="v4 is read while the load that writes it may still be pending (vmcnt)",
    repair="insert s_waitcnt vmcnt(0) before line 40",
    producer=LOAD,
    path=(LOAD, JUMP, Location("kernels/saxpy.s", 40, "\tv_fma_f32 v5, v4, v2, v3")),
    fingerprint="wait.vmcnt.raw:saxpy:1",
    macro=(
        Location("kernels/saxpy.s", 40, "FMA v5, v4"),
        Location("kernels/tile.inc", 12, "v_fma_f32 \\d, \\a, v2, v3"),
    ),
    text="\tFMA v5, v4",
    gpu="gfx90a",
)
OCCUPANCY = Finding(
    rule="register.occupancy-step",
    family="performance",
    severity="warning",
    file="kernels/saxpy.s",
    line=3,
    column=1,
    end_line=3,
    kernel="saxpy",
    message="68 allocated VGPRs lose an occupancy step: 8 -> 7 waves a SIMD",
    fingerprint="register.occupancy-step:saxpy",
    text=".amdhsa_next_free_vgpr 66",
    gpu="gfx90a",
)
OLD = Finding(
    rule="descriptor.vgpr-count",
    family="descriptor",
    severity="error",
    file="kernels/reduce.s",
    line=9,
    column=3,
    end_line=11,
    kernel="reduce",
    message="v40 is beyond the 32 VGPRs that the descriptor allocates",
    repair="set .amdhsa_next_free_vgpr 41",
    new=False,
    fingerprint="descriptor.vgpr-count:reduce",
)
SUPPRESSED = Finding(
    rule="hazard.valu-sgpr-vmem",
    family="hazard",
    severity="error",
    file="kernels/reduce.s",
    line=21,
    column=5,
    end_line=21,
    kernel="reduce",
    message="s4 is read 2 wait states after a VALU write, 5 are needed",
    fingerprint="hazard.valu-sgpr-vmem:reduce",
    suppressed="measured: this part is never reached on hardware",
    gpu="gfx90a",
)

SAXPY = KernelReport(
    name="saxpy",
    file="kernels/saxpy.s",
    gpu="gfx90a",
    metrics=Metrics(
        vgpr_live_max=66,
        vgpr_allocated=72,
        agpr_allocated=0,
        sgpr_allocated=16,
        lds_bytes=4096,
        scratch_bytes=0,
        occupancy_waves_per_simd=7,
        instructions=118,
        cycles=Interval(420.0, 900.0),
        ipc=0.75,
    ),
    base=Metrics(
        vgpr_live_max=60,
        vgpr_allocated=64,
        agpr_allocated=0,
        sgpr_allocated=16,
        lds_bytes=8192,
        scratch_bytes=0,
        occupancy_waves_per_simd=8,
        instructions=112,
        cycles=Interval(400.0, 880.0),
        ipc=0.5,
    ),
    delta={"vgpr_allocated": 8.0, "occupancy_waves_per_simd": -1.0, "lds_bytes": -4096.0},
    blocks=(
        BlockReport(".LBB0_1", 20, 36, 80, 1, Interval(300.0, 640.0), 0.9, "VALU"),
        BlockReport(".LBB0_4", 37, 44, 38, 0),
    ),
)
REDUCE = KernelReport("reduce", "kernels/reduce.s", "gfx90a", Metrics(vgpr_allocated=32), Metrics(vgpr_allocated=32))
NEW = KernelReport(
    "_Z5scalePfi",
    "kernels/scale.s",
    "gfx1100",
    Metrics(vgpr_allocated=8, occupancy_waves_per_simd=16, cycles=12.5),
)

REWRITES = (
    Rewrite(
        "saxpy", ".LBB0_1:20-36", "accepted", "peephole", "removes a redundant move", "value numbering",
        {"instructions": -1.0, "cycles": -4.0}, "--- a/kernels/saxpy.s\n+++ b/kernels/saxpy.s\n",
    ),
    Rewrite("saxpy", ".LBB0_4:37-44", "rejected", "not_proved", "the solver gave up after 2 s", "", {}, ""),
)  # fmt: skip


def failing() -> Report:
    """A run that fails: new, old and suppressed findings, better and worse numbers, rewrites."""
    return Report(
        tool=TOOL,
        verdict="fail",
        execution="complete",
        coverage=Coverage(230, 230),
        findings=(SUPPRESSED, OCCUPANCY, OLD, MISSING_WAIT),
        kernels=(NEW, SAXPY, REDUCE),
        rewrites=REWRITES,
        skipped=(Unknown("host/start.s", 0, "", "no AMDGPU assembly"),),
        command="asmevo-gate check --base main --head HEAD",
        inputs=(
            Input("kernels/saxpy.s", "5d1f" * 16, "77aa" * 16),
            Input("kernels/scale.s", "90cd" * 16),
        ),
    )


def passing() -> Report:
    """A run in which nothing is wrong and one kernel got better."""
    better = KernelReport("saxpy", "kernels/saxpy.s", "gfx90a", Metrics(vgpr_allocated=64), Metrics(vgpr_allocated=72))
    return Report(TOOL, "pass", "complete", Coverage(118, 118), kernels=(better, REDUCE))


def not_checked() -> Report:
    """A run that timed out and met lines that it could not model."""
    unknown = (
        Unknown("kernels/saxpy.s", 52, "v_frobnicate_b32 v0, v1", "no such instruction in the table of gfx90a"),
        Unknown("kernels/saxpy.s", 60, "s_waitcnt COUNT", "the symbol COUNT is not defined in this file"),
    )
    skipped = (Unknown("kernels/blob.s", 0, "", "no text: a NUL byte at offset 3"),)
    return Report(TOOL, "not_checked", "timed_out", Coverage(120, 118, unknown), kernels=(SAXPY,), skipped=skipped)


def empty() -> Report:
    """A run that had nothing to look at."""
    return Report(TOOL, "pass", "complete", Coverage())


HELP = RuleHelp(
    "wait.vmcnt",
    "A register is used before its load has written it",
    "wait",
    "error",
    "# A register is used before its load has written it\n\n## Repair\n\nWait for the load.\n",
    "https://example.org/rules/wait.vmcnt.md",
)
CONTEXT = RenderContext(rules={HELP.id: HELP}, full_report="https://ci.example.org/job/7/report.html")

SAMPLES = {"failing": failing, "passing": passing, "not_checked": not_checked, "empty": empty}


def with_text(text: str, file: str | None = None) -> Report:
    """The failing report with ``text`` wherever a file under check could put text of its own."""
    path = file if file is not None else f"k/{text}.s"
    place = Location(path, 4, text)
    finding = Finding(
        rule="wait.vmcnt.raw", family="wait", severity="error", file=path, line=7, column=1, end_line=7,
        kernel=text, message=f"{text} is read too early", repair=text, producer=place, path=(place, place),
        fingerprint=text, macro=(place,), text=text, gpu="gfx90a",
    )  # fmt: skip
    return Report(
        tool=TOOL,
        verdict="fail",
        execution="partial",
        coverage=Coverage(3, 2, (Unknown(path, 9, text, text),)),
        findings=(finding, finding, Finding(**{**_fields(finding), "new": False, "suppressed": text})),
        kernels=(
            KernelReport(text, path, "gfx90a", Metrics(vgpr_allocated=8), Metrics(vgpr_allocated=4)),
            KernelReport(text, path, text, Metrics(cycles=float("nan"))),
        ),
        rewrites=(Rewrite(text, text, "accepted", text, text, text, {text: 1.0}, text),
                  Rewrite(text, text, "rejected", text, text, text, {}, text)),
        skipped=(Unknown(path, 0, text, text),),
        command=text,
        inputs=(Input(path, "0" * 64),),
    )  # fmt: skip


def _fields(finding: Finding) -> dict[str, object]:
    return {name: getattr(finding, name) for name in finding.__struct_fields__}
