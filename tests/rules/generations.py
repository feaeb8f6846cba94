"""Examples of rules, carried over to the other GPU generations: mnemonics, waits and barriers of each."""

from __future__ import annotations

import re

import msgspec

from asmevo_gate.rules.rule import Example

GENERATIONS = {
    "gfx900": "GCN",
    "gfx90a": "CDNA",
    "gfx942": "CDNA 3",
    "gfx1030": "RDNA 2",
    "gfx1100": "RDNA 3",
    "gfx1200": "RDNA 4",
    "gfx1250": "gfx1250",
}
"""One GPU of each generation whose rules differ, with the generation's name."""
_BEFORE_GFX11 = ("gfx900", "gfx90a", "gfx942", "gfx1030")
_COUNTERS_OF_THEIR_OWN = ("gfx1200", "gfx1250")
_WIDTHS = {"dwordx2": "b64", "dwordx3": "b96", "dwordx4": "b128", "dwordx8": "b256", "dwordx16": "b512", "dword": "b32"}
_OLD_MEMORY = re.compile(r"\b(global|flat|buffer|scratch|s|s_buffer)_(load|store)_(dwordx\d+|dword)\b")
_NEW_MEMORY = re.compile(r"\b(global|flat|buffer|scratch|s|s_buffer)_(load|store)_(b\d+)\b")
_WAIT = re.compile(r"^[ \t]*s_waitcnt\b(.*)$", re.MULTILINE)
_COUNT = re.compile(r"(vmcnt|lgkmcnt|expcnt)\((\d+)\)")
_TARGET_LINES = re.compile(r"^\s*\.amdhsa_(accum_offset|tg_split|reserve_xnack_mask)\b.*\n", re.MULTILINE)


def carried_over(example: Example, gpu: str) -> Example:
    """The example for another GPU: the same program in that GPU's words. Lines keep their numbers.

    Only spellings change: whether the program means the same there is for the caller to see.
    """
    texts = [None if text is None else _translated(text, gpu) for text in (example.text, example.base)]
    assert texts[0] is not None
    return msgspec.structs.replace(example, gpu=gpu, text=texts[0], base=texts[1])


def _translated(text: str, gpu: str) -> str:
    old = gpu in _BEFORE_GFX11
    if old:
        narrow = {new: name for name, new in _WIDTHS.items()}
        text = _NEW_MEMORY.sub(lambda m: f"{m[1]}_{m[2]}_{narrow.get(m[3], m[3])}", text)
        text = re.sub(r"\bds_load_b32\b", "ds_read_b32", re.sub(r"\bds_store_b32\b", "ds_write_b32", text))
        text = re.sub(r"\bds_load_b64\b", "ds_read_b64", re.sub(r"\bds_store_b64\b", "ds_write_b64", text))
    else:
        text = _OLD_MEMORY.sub(lambda m: f"{m[1]}_{m[2]}_{_WIDTHS[m[3]]}", text)
        text = re.sub(r"\bds_read_b", "ds_load_b", re.sub(r"\bds_write_b", "ds_store_b", text))
    text = re.sub(r"gfx\d+[0-9a-f]*(?=[\":\s])", gpu, text) if ".amdgcn_target" in text else text
    if gpu in _COUNTERS_OF_THEIR_OWN:
        text = _WAIT.sub(lambda m: _own_wait(m[1], text), text)
    return text


def _own_wait(counts: str, text: str) -> str:
    """A combined wait as one wait of gfx12; the counter for ``lgkmcnt`` depends on what the program loads."""
    found = dict(_COUNT.findall(counts))
    scalar = "dscnt" if re.search(r"\bds_", text) else "kmcnt"
    names = {"vmcnt": "loadcnt", "lgkmcnt": scalar, "expcnt": "expcnt"}
    if not found:
        return f"  s_waitcnt{counts}"
    name, count = next(iter(found.items()))
    return f"  s_wait_{names[name]} {count}"


_SIZES = ".amdhsa_kernel k\n.amdhsa_next_free_vgpr {vgprs}\n.amdhsa_next_free_sgpr 16\n.end_amdhsa_kernel\n"
_UNIFIED = _SIZES.replace(".end_", ".amdhsa_accum_offset 16\n.end_")
_GROUP = ".amdhsa_group_segment_fixed_size 2048\n.end_amdhsa_kernel\n"
_LANES = "k:\n  v_cmp_gt_u32 vcc_lo, 128, v0\n  s_and_saveexec_b32 s8, vcc_lo\n  s_cbranch_execz .Lskip\n"
_NEW_BARRIER = "  s_barrier_signal -1\n  s_barrier_wait -1\n"
_REJOIN = ".Lskip:\n  s_or_b32 exec_lo, exec_lo, s8\n"
_STORE = "  global_store_b32 v[2:3], v1, off\n"


def _barrier(gpu: str) -> tuple[Example, Example]:
    tail = _SIZES.format(vgprs=8).replace(".end_amdhsa_kernel\n", _GROUP)
    return (
        Example(gpu, _LANES + _NEW_BARRIER + _REJOIN + "  s_endpgm\n" + tail, line=5),
        Example(gpu, _LANES + "  v_mov_b32 v1, 0\n" + _REJOIN + _NEW_BARRIER + "  s_endpgm\n" + tail),
    )


def _directives(gpu: str) -> tuple[Example, Example]:
    """A directive that every GPU has, and one that only old assemblers know."""
    good = "k:\n  s_endpgm\n" + (_UNIFIED if gpu == "gfx90a" else _SIZES).format(vgprs=8)
    return Example(gpu, good.replace(".amdhsa_next_free_vgpr 8", ".amdhsa_next_free_vgprs 8"), line=4), Example(
        gpu, good
    )


def _reserve(gpu: str) -> tuple[Example, Example]:
    code = "k:\n  s_mov_b32 s15, 0\n  v_cmp_gt_u32 vcc, 9, v0\n  s_endpgm\n"
    sizes = _UNIFIED.format(vgprs=8).replace(".end_", ".amdhsa_reserve_flat_scratch 0\n.end_")
    without = sizes.replace(".end_", ".amdhsa_reserve_vcc 0\n.end_")
    return Example(f"{gpu}:xnack-", code + without, line=7), Example(f"{gpu}:xnack-", code + sizes)


def _redundant(gpu: str) -> tuple[Example, Example]:
    load = "k:\n  ds_load_b32 v2, v0\n" if gpu == "gfx1100" else "k:\n  ds_read_b32 v2, v0\n"
    tail = "  v_mov_b32 v3, v2\n  s_endpgm\n" + _SIZES.format(vgprs=8)
    wait = "  s_waitcnt lgkmcnt(0)\n"
    return Example(gpu, load + wait + wait + tail, line=3), Example(gpu, load + wait + tail)


def _lds_dma(gpu: str) -> tuple[Example, Example]:
    head = "k:\n  s_mov_b32 m0, 0\n  s_nop 0\n  buffer_load_dword v1, s[8:11], 0 offen lds\n"
    tail = "  ds_read_b32 v2, v3\n  s_endpgm\n" + (_UNIFIED if gpu == "gfx90a" else _SIZES).format(vgprs=16)
    return Example(gpu, head + tail, line=5), Example(gpu, head + "  s_waitcnt vmcnt(0)\n" + tail)


def _occupancy(gpu: str, most: int) -> tuple[Example, Example]:
    """One VGPR over the most that a number of waves leaves each."""
    text = (
        "k:\n  v_mov_b32 v0, 0\n  v_mov_b32 v{last}, v0\n  global_store_b32 v[0:1], v{last}, off\n  s_endpgm\n" + _SIZES
    )
    before = text.format(last=most - 1, vgprs=most)
    return Example(gpu, text.format(last=most, vgprs=most + 1), line=3, base=before), Example(gpu, before, base=before)


def _hazard(gpu: str, first: str, second: str, repair: str) -> tuple[Example, Example]:
    return (
        Example(gpu, f"k:\n  {first}\n  {second}\n  s_endpgm\n", line=3),
        Example(gpu, f"k:\n  {first}\n  {repair}\n  {second}\n  s_endpgm\n"),
    )


OWN: dict[tuple[str, str], tuple[Example, Example]] = {
    ("cf.barrier_divergent", "gfx1200"): _barrier("gfx1200"),
    ("cf.barrier_divergent", "gfx1250"): _barrier("gfx1250"),
    ("cf.end_divergent", "gfx1250"): (
        Example(
            "gfx1250",
            _LANES + _STORE + "  s_endpgm\n" + _REJOIN + _STORE + "  s_endpgm\n" + _SIZES.format(vgprs=8),
            line=6,
        ),
        Example("gfx1250", _LANES + _STORE + _REJOIN + _STORE + "  s_endpgm\n" + _SIZES.format(vgprs=8)),
    ),
    ("cf.exec_not_restored", "gfx1250"): (
        Example("gfx1250", _LANES + "  v_mov_b32 v1, 0\n.Lskip:\n" + _STORE + "  s_endpgm\n", line=7),
        Example("gfx1250", _LANES + "  v_mov_b32 v1, 0\n" + _REJOIN + _STORE + "  s_endpgm\n"),
    ),
    ("enc.not_on_target", "gfx900"): (
        Example("gfx900", "k:\n  v_fmac_f64 v[0:1], v[2:3], v[4:5]\n  s_endpgm\n", line=2),
        Example("gfx900", "k:\n  v_mac_f32 v0, v1, v2\n  s_endpgm\n"),
    ),
    ("kd.directive", "gfx900"): _directives("gfx900"),
    ("kd.directive", "gfx1200"): _directives("gfx1200"),
    ("kd.directive", "gfx1250"): _directives("gfx1250"),
    ("kd.reserve", "gfx90a"): _reserve("gfx90a"),
    ("wait.redundant", "gfx1030"): _redundant("gfx1030"),
    ("wait.redundant", "gfx1100"): _redundant("gfx1100"),
    ("wait.counter.ldsdma", "gfx1030"): _lds_dma("gfx1030"),
    ("haz", "gfx1030"): _hazard(
        "gfx1030", "flat_atomic_fmin v[0:1], v2", "s_denorm_mode 0", "s_waitcnt_vscnt null, 0x0"
    ),
    ("haz", "gfx1100"): _hazard("gfx1100", "v_exp_f32 v0, v1", "v_add_f32 v2, v0, v0", "s_waitcnt_depctr 0xfff"),
    ("haz", "gfx1200"): (
        Example("gfx1200", "k:\n  v_mov_b32 v0, s4\n  s_mov_b32 s5, 0\n  v_mov_b32 v1, s5\n  s_endpgm\n", line=4),
        Example(
            "gfx1200",
            "k:\n  v_mov_b32 v0, s4\n  s_mov_b32 s5, 0\n  s_wait_alu depctr_sa_sdst(0)\n  v_mov_b32 v1, s5\n"
            "  s_endpgm\n",
        ),
    ),
    ("haz", "gfx1250"): _hazard("gfx1250", "v_exp_f32 v0, v1", "v_add_f32 v2, v0, v0", "v_mov_b32 v9, 0"),
    ("perf.occupancy_step", "gfx1100"): _occupancy("gfx1100", 96),
    ("perf.occupancy_step", "gfx1200"): _occupancy("gfx1200", 96),
    ("wait.counter.ldsdma", "gfx900"): _lds_dma("gfx900"),
    ("wait.counter.ldsdma", "gfx90a"): _lds_dma("gfx90a"),
    ("wait.counter.war", "gfx90a"): (
        Example("gfx90a", "k:\n  ds_gws_init v0 gds\n  v_mov_b32 v0, 0\n  s_endpgm\n", line=3),
        Example("gfx90a", "k:\n  ds_gws_init v0 gds\n  s_waitcnt expcnt(0)\n  v_mov_b32 v0, 0\n  s_endpgm\n"),
    ),
}
"""Pairs (bad, good) for what no example of the rule can be carried over to."""

_NO_VOPD = "the GPU has no dual-issue encoding"
_NO_ACCUM = "the GPU has no accumulation registers behind .amdhsa_accum_offset"
_SGPRS_FIXED = "each wave has all SGPRs, whatever the descriptor says"
_WAVE64_ONLY = "the GPU has no wave32"
_NO_SCALAR_STORE = "the GPU has no scalar stores"
_WHOLE_BARRIER = "the barrier of the GPU is one instruction"
_KEEPS_VGPRS = "the GPU has no message that gives VGPRs back"
_NO_LDS_LOAD = "no memory instruction of the GPU puts data in LDS"

NOT_APPLICABLE: dict[tuple[str, str], str] = {
    **{("enc.vopd", gpu): _NO_VOPD for gpu in ("gfx900", "gfx90a", "gfx942", "gfx1030")},
    ("enc.vopd", "gfx1250"): "the rule says that VOPD of gfx1250 is not checked",
    **{("kd.accum_offset", gpu): _NO_ACCUM for gpu in ("gfx900", "gfx1030", "gfx1100", "gfx1200", "gfx1250")},
    **{(rule, gpu): _SGPRS_FIXED for rule in ("kd.reserve", "kd.sgpr.under")
       for gpu in ("gfx1030", "gfx1100", "gfx1200", "gfx1250")},
    **{("wave.exec64_in_wave32", gpu): _WAVE64_ONLY for gpu in ("gfx900", "gfx90a", "gfx942")},
    **{("wait.scalar_store", gpu): _NO_SCALAR_STORE for gpu in ("gfx1030", "gfx1100", "gfx1200", "gfx1250")},
    **{("wait.counter.ldsdma", gpu): _NO_LDS_LOAD for gpu in ("gfx1100", "gfx1200")},
    **{("cf.split_barrier", gpu): _WHOLE_BARRIER for gpu in ("gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100")},
    **{("reg.deallocated", gpu): _KEEPS_VGPRS for gpu in ("gfx900", "gfx90a", "gfx942", "gfx1030")},
    ("kd.reserve", "gfx942"): "six SGPRs behind those that are asked for are always there",
    ("wait.counter.war", "gfx942"): "the GPU has neither exports nor GDS",
}  # fmt: skip
"""Rules that say nothing about a generation, with the reason."""
