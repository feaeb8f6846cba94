"""The instruction sequences behind the rows of ``data/measured_cycles.csv``, written from their descriptions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sequence:
    """One measured row as a program.

    ``body`` is a loop body; its cost is divided by ``divide``, after that of ``minus`` (an empty loop that the
    measurement subtracted) was taken off. ``waves`` run on each of ``active_simds`` SIMDs (all when ``None``).
    ``parameter`` marks a row that the fingerprint itself quotes: it shows that the figure is used, not predicted.
    """

    body: tuple[str, ...]
    divide: float = 1.0
    minus: tuple[str, ...] = ()
    waves: int = 1
    active_simds: int | None = None
    wave_size: int | None = None
    parameter: bool = False


def sequences() -> dict[str, Sequence]:
    """Row id -> program."""
    return {
        **_pointer_chases(),
        **_lds_on_mi308x(),
        **_mi50_throughput(),
        **_mi250_full_occupancy(),
        **_w7900_loops(),
        **_mi350_traces(),
        **_gcn_instructions(),
    }


@dataclass(frozen=True)
class WholeKernel:
    """A kernel whose source the user brings: ``repository`` at GitHub, ``path`` in a checkout of it.

    ``groups`` work-groups of ``waves_of_group`` waves run on ``units`` units of ``simds`` SIMDs; a unit holds
    ``resident_groups`` of them at once. The outermost loop runs ``iterations`` times.
    """

    repository: str
    path: str
    groups: int
    waves_of_group: int
    units: int
    simds: int
    resident_groups: int
    iterations: int


def _sgemm(path: str) -> WholeKernel:
    """FP32 GEMM 4096^3 on RX 7900 XTX, CU mode: 216 VGPRs leave room for seven waves on each of two SIMDs."""
    return WholeKernel("seb-v/fp32_sgemm_amd", path, 1024, 4, 96, 2, 7 * 2 // 4, 4096 // 8)


WHOLE_KERNELS = {"114": _sgemm("src/kernel7_unroll.s"), "115": _sgemm("src/kernel8_batched_gmem.s")}

NOT_EVALUATED = {
    "84": "instruction fetch, which the model leaves out",
    "85": "instruction fetch, which the model leaves out",
    "87": "instruction fetch, which the model leaves out",
    "63": "cycles of the LDS banks, not of a sequence (see tests/cost/test_lds_banks.py)",
    "114": "whole kernel of seb-v/fp32_sgemm_amd; give --checkout to evaluate it",
    "115": "whole kernel of seb-v/fp32_sgemm_amd; give --checkout to evaluate it",
    "150": "whole kernel; its source is not part of this repository",
    "151": "whole kernel; its source is not part of this repository",
    "156": "whole kernel; its source is not part of this repository",
    "157": "whole kernel; its source is not part of this repository",
    "159": "mean of a trace over a whole kernel",
    "160": "mean of a trace over a whole kernel",
    "162": "mean of a trace over a whole kernel",
}

WINDOWS = {
    "127": (
        "v_mfma_f32_32x32x16_f16 v[0:15], v[32:35], v[36:39], v[0:15]",
        "v_add_f32_e32 v{n}, v90, v91",
    ),
}
"""Row id -> (matrix instruction, independent VALU instruction): clk of VALU work that costs nothing extra."""

_CHASE = ("global_load_dwordx2 v[0:1], v[0:1], off", "s_waitcnt vmcnt(0)")
_LDS_TAIL = (
    "s_waitcnt lgkmcnt(0)",
    "v_subrev_u32_e32 v2, 1, v2",
    "v_cmp_lt_u32_e32 vcc, 0, v2",
    "s_cbranch_vccnz loop",
)
_LOOP = ("s_add_i32 s0, s0, 1", "s_cmp_lt_i32 s0, s1", "s_cbranch_scc1 loop")


def _pointer_chases() -> dict[str, Sequence]:
    """Chases through global memory (whatever level answers), and scalar loads of kernel arguments."""
    chase = Sequence(_CHASE, active_simds=1)
    rows = dict.fromkeys(("1", "3", "4", "6", "7", "9", "10", "12", "13", "15", "16", "18", "19"), chase)
    rows |= {row: Sequence(_CHASE, minus=_CHASE[1:], active_simds=1) for row in ("21", "22")}
    rows |= {row: Sequence(_CHASE, waves=8) for row in ("78", "79")}
    scalar = Sequence(("s_load_dwordx2 s[0:1], s[4:5], 0x0", "s_waitcnt lgkmcnt(0)"))
    return rows | {"81": scalar, "82": scalar}


def _lds_on_mi308x() -> dict[str, Sequence]:
    def chase(*access: str) -> Sequence:
        return Sequence((*access, *_LDS_TAIL), minus=_LDS_TAIL, active_simds=1, parameter=True)

    def many(instructions: list[str]) -> Sequence:
        return Sequence((*instructions, *_LDS_TAIL), len(instructions), _LDS_TAIL, active_simds=1)

    return {
        "24": chase("ds_read_b32 v6, v6"),
        "25": Sequence(
            ("ds_read_b64 v[4:5], v6", "s_waitcnt lgkmcnt(0)", "v_mov_b32_e32 v6, v4", *_LDS_TAIL[1:]),
            minus=_LDS_TAIL, active_simds=1, parameter=True,
        ),
        "27": chase("ds_write_b32 v6, v7"),
        "28": chase("ds_write_b64 v6, v[8:9]"),
        "30": many([f"ds_read_b32 v{4 + i}, v1" for i in range(32)]),
        "31": many([f"ds_read_b64 v[{4 + 2 * i}:{5 + 2 * i}], v1" for i in range(16)]),
        "33": many([f"ds_write_b32 v1, v{4 + i}" for i in range(32)]),
        "34": many([f"ds_write_b64 v1, v[{4 + 2 * i}:{5 + 2 * i}]" for i in range(16)]),
    }  # fmt: skip


def _mi50_throughput() -> dict[str, Sequence]:
    """256 instructions in a counted loop, registers in steps of four, one wave on each SIMD."""
    forms = {
        "36": "v_add_co_u32_e32 v{0}, vcc, v{1}, v{2}",
        "37": "v_addc_co_u32_e32 v{0}, vcc, v{1}, v{2}, vcc",
        "39": "v_lshl_or_b32 v{0}, v{1}, v{2}, v{3}",
        "40": "v_add_lshl_u32 v{0}, v{1}, v{2}, v{3}",
        "42": "v_mul_hi_u32 v{0}, v{1}, v{2}",
        "43": "v_mad_u32_u24 v{0}, v{1}, v{2}, v{3}",
        "45": "v_dot2_f32_f16 v{0}, v{1}, v{2}, v{3}",
        "46": "v_dot4_i32_i8 v{0}, v{1}, v{2}, v{3}",
        "48": "v_pk_mul_f16 v{0}, v{1}, v{2}",
        "49": "v_mac_f16_e32 v{0}, v{1}, v{2}",
        "51": "v_fmac_f32_e32 v{0}, v{1}, v{2}",
        "52": "v_mac_f32_e32 v{0}, v{1}, v{2}",
        "54": "v_sin_f32_e32 v{0}, v{1}",
        "55": "v_cos_f16_e32 v{0}, v{1}",
    }
    rows = {}
    for row, form in forms.items():
        body = []
        for i in range(256):
            first = 4 * (i % 63)
            body.append(form.format(first, first + 1, first + 2, first + 3))
        loop = ("s_sub_u32 s12, s12, 1", *body, "s_cmp_gt_u32 s12, 0", "s_cbranch_scc1 loop")
        rows[row] = Sequence(loop, 256, parameter=True)
    return rows


def _mi250_full_occupancy() -> dict[str, Sequence]:
    """1,000 equal instructions a wave, all eight waves of each SIMD: clk per wave instruction and SIMD."""
    return {
        "57": Sequence(("v_mov_b32_e32 v0, v1",) * 1000, 8000, waves=8),
        "58": Sequence(("v_mfma_f32_32x32x8bf16_1k a[0:15], v[0:1], v[2:3], a[0:15]",) * 1000, 8000, waves=8),
        "60": Sequence(("s_mov_b32 s0, s1",) * 1000, 8000, waves=8),
        "61": Sequence(("v_mov_b32_e32 v0, v1",) * 1000, 8000, waves=8),
    }


def _w7900_loops() -> dict[str, Sequence]:
    def loop(*body: str, parameter: bool = False) -> Sequence:
        return Sequence((*body, *_LOOP), wave_size=32, active_simds=1, parameter=parameter)

    load = ("ds_load_b32 v2, v3", "s_waitcnt lgkmcnt(0)", "v_add_nc_u32_e32 v0, v2, v0")
    return {
        "108": loop(*("s_add_i32 s5, s5, 1",) * 16, parameter=True),
        "109": loop(*("v_add_nc_u32_e32 v0, 1, v0",) * 16),
        "111": loop(*load * 4, parameter=True),
        "112": loop("s_barrier", "v_add_nc_u32_e32 v0, 1, v0", parameter=True),
    }


def _mi350_traces() -> dict[str, Sequence]:
    return {
        "121": Sequence(
            tuple(
                f"v_mfma_f32_32x32x16_f16 v[{16 * i}:{16 * i + 15}], v[80:83], v[84:87], v[{16 * i}:{16 * i + 15}]"
                for i in range(4)
            ),
            4,
        ),
        "123": Sequence(tuple(f"v_add_f32_e32 v{i}, v40, v41" for i in range(32)), 32),
        "124": Sequence(tuple(f"v_permlane32_swap_b32 v{2 * i}, v{2 * i + 1}" for i in range(16)), 16, parameter=True),
        # Clk in which every one of the four SIMDs has one read done.
        "126": Sequence(tuple(f"ds_read_b64 v[{2 * i}:{2 * i + 1}], v90" for i in range(32)), 32, parameter=True),
    }


def _gcn_instructions() -> dict[str, Sequence]:
    """Single instructions on GCN 1.0 to 1.2 boards, held against the fingerprint of gfx900."""

    def repeated(*forms: str, count: int = 16) -> Sequence:
        body = tuple(form.format(*(4 * i + j for j in range(4))) for i in range(count) for form in forms)
        return Sequence(body, len(body), active_simds=1, parameter=True)

    return {
        "177": repeated("v_exp_f32_e32 v{0}, v{1}", "v_rcp_f32_e32 v{0}, v{1}", "v_sqrt_f32_e32 v{0}, v{1}"),
        "178": repeated("v_mul_lo_u32 v{0}, v{1}, v{2}"),
        "180": repeated(
            "v_div_scale_f32 v{0}, vcc, v{1}, v{2}, v{1}", "v_div_fmas_f32 v{0}, v{1}, v{2}, v{3}",
            "v_div_fixup_f32 v{0}, v{1}, v{2}, v{3}",
        ),
        "181": repeated("v_cvt_f16_f32_e32 v{0}, v{1}"),
        "183": repeated(
            "v_fma_f64 v[{0}:{1}], v[80:81], v[82:83], v[84:85]", "v_mul_f64 v[{2}:{3}], v[80:81], v[82:83]"
        ),
        "184": repeated("v_lshlrev_b64 v[{0}:{1}], v90, v[{2}:{3}]"),
        "186": repeated("s_and_saveexec_b64 s[4:5], s[6:7]"),
        "187": repeated("s_setreg_b32 hwreg(HW_REG_MODE), s0"),
        "189": Sequence(("s_branch loop",), active_simds=1, parameter=True),
        "190": repeated("s_load_dwordx8 s[8:15], s[4:5], 0x0"),
        "192": repeated("ds_read_b32 v{0}, v90"),
        "193": repeated("ds_read_b64 v[{0}:{1}], v90"),
        "195": repeated("ds_write_b32 v90, v{0}"),
        "196": repeated("ds_write_b64 v90, v[{0}:{1}]"),
        "198": repeated("ds_add_rtn_u32 v{0}, v90, v{1}"),
    }  # fmt: skip
