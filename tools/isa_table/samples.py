"""Instruction lines to try on a target: every opcode's text, and what can be derived from it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from asmevo_gate.isa.operand_text import slot, split
from asmevo_gate.isa.registers import VGPR

_SPLIT_TYPE = re.compile(r"(x\d+)_([a-z]+\d+)$")
"""Matrix instructions are also written without the underscore before the type: ``..._32x32x8f16``."""
EXTRA_LINES = (
    "v_writelane_b32 v8, s12, 3", "v_writelane_b32 v8, 3, s12", "v_writelane_b32_e64 v8, s12, 3",
    "v_accvgpr_read v8, a12", "v_accvgpr_write a8, v12", "s_endpgm 1", "s_endpgm", "v_nop_sdwa", "v_nop_dpp",
    "s_waitcnt_vscnt null, 0x0", "s_waitcnt_vmcnt null, 0x0", "s_waitcnt_expcnt null, 0x0",
    "s_waitcnt_lgkmcnt null, 0x0",
    "buffer_inv sc1", "buffer_inv sc0 sc1", "buffer_wbl2 sc1", "buffer_wbl2 sc0 sc1",
    "ds_gws_sema_v gds", "ds_gws_sema_p gds", "ds_gws_sema_release_all gds",
    "v_dot2_f32_f16 v8, v12, v16, v20", "v_dot2_f32_f16_e64 v8, v12, v16, v20", "v_dot2_f32_bf16 v8, v12, v16, v20",
    "v_dot2_i32_i16 v8, v12, v16, v20", "v_dot2_u32_u16 v8, v12, v16, v20",
    "v_dot4_i32_i8 v8, v12, v16, v20", "v_dot8_i32_i4 v8, v12, v16, v20",
    "global_load_tr_b64 v8, v12, s[16:17]", "global_load_tr_b64 v8, v[12:13], off",
    "global_load_tr_b128 v[8:9], v12, s[16:17]", "global_load_tr_b128 v[8:9], v[12:13], off",
    "exp mrt0 v8, v12, v16, v20", "exp mrt0 v8, v12, off, off", "exp null off, off, off, off",
)  # fmt: skip
"""Lines that the printed text of an opcode does not lead to: two scalar registers, an operand that must be null, a
width of wave64."""
_SUFFIX = re.compile(r"_(?:e64_dpp|e32|e64|dpp|sdwa)$")
ALIAS_RULES = (
    ("dwordx2", "b64"), ("dwordx3", "b96"), ("dwordx4", "b128"), ("dwordx8", "b256"), ("dwordx16", "b512"),
    ("dword", "b32"), ("ubyte", "u8"), ("sbyte", "i8"), ("byte", "b8"), ("ushort", "u16"), ("sshort", "i16"),
    ("short", "b16"), ("_read", "_load"), ("_write", "_store"), ("cmpst", "cmpstore"), ("_wrxchg", "_storexchg"),
    ("_x2", "_u64"), ("_x2", "_b64"), ("_x2", "_i64"), ("min_f", "min_num_f"), ("max_f", "max_num_f"),
    ("_fmin", "_min_f32"), ("_fmax", "_max_f32"), ("_smin", "_min_i32"), ("_smax", "_max_i32"),
    ("_umin", "_min_u32"), ("_umax", "_max_u32"), ("_add_f", "_pk_add_f"),
    ("min_f", "minimum_f"), ("max_f", "maximum_f"), ("subrev_", "subrev_nc_"), ("add_", "add_nc_"), ("sub_", "sub_nc_"),
    ("minimum_", "min_num_"), ("maximum_", "max_num_"), ("_tru_", "_t_"), ("_pkrtz_", "_pk_rtz_"),
    ("_pknorm_", "_pk_norm_"),
    ("_flr_", "_floor_"), ("_rpi_", "_nearest_"), ("_ashr_", "_ashrrev_"), ("s_waitcnt_depctr", "s_wait_alu"),
    ("_nc_add_", "_add_"), ("add_co_u32", "add_u32"), ("sub_co_u32", "sub_u32"),
    ("add_nc_u", "add_u"), ("sub_nc_u", "sub_u"),
    ("_subrev_", "_rsub_"), ("lds_direct_load", "ds_direct_load"), ("lds_param_load", "ds_param_load"),
    ("dot2c", "dot2acc"), ("mul_legacy", "mul_dx9_zero"), ("_ff1_", "_ctz_"), ("_ff0_", "_cto_"),
    ("_flbit_", "_clz_"), ("v_ffbh_u32", "v_clz_i32_u32"),
)  # fmt: skip
"""Systematic renamings between generations. Each candidate counts only when LLVM's assembler accepts it."""
_NO_OFFSET = re.compile(r", (?:0x0|null)(?P<tail>(?: glc)?)$")
"""An offset of a scalar memory instruction that may be left out."""


def derived(lines: list[str]) -> Iterator[str]:
    """Lines, and the same lines in other spellings: bare mnemonic, every encoding suffix, systematic renamings."""
    seen: set[str] = set(EXTRA_LINES)
    yield from EXTRA_LINES
    lines = [*lines, *_image_lines(lines)]
    renamed: set[tuple[str, str]] = set()
    for line in lines:
        mnemonic, _, rest = line.partition(" ")
        bare = _SUFFIX.sub("", mnemonic)
        names = [mnemonic, bare]
        if mnemonic.startswith("v_") and bare == mnemonic:
            names += [f"{bare}_e32", f"{bare}_e64"]
        if mnemonic.startswith(("v_cmp", "v_add", "v_sub", "v_cnd", "v_div")):
            names += [f"{bare}_{suffix}" for suffix in ("e32", "e64", "dpp", "sdwa", "e64_dpp")]
        shape = re.sub(r"\d+", "0", rest)
        joined = _SPLIT_TYPE.sub(r"\1\2", mnemonic)
        if joined != mnemonic:
            names.append(joined)
        if (mnemonic, shape) not in renamed:
            renamed.add((mnemonic, shape))
            for old, new in ALIAS_RULES:
                for before, after in ((old, new), (new, old)):
                    if before in bare and before != after:
                        names.append(mnemonic.replace(before, after))
        if match := _NO_OFFSET.search(rest):
            yield f"{mnemonic} {rest[: match.start()]}{match['tail']}"
        for name in names:
            text = f"{name} {rest}".strip()
            if text not in seen:
                seen.add(text)
                yield text


def _image_lines(lines: list[str]) -> Iterator[str]:
    """Image lines that need a modifier of another value than the one that the extractor gives: a single bit of dmask
    for msaa_load, and the status dword of tfe behind the data of an atomic."""
    for line in lines:
        if line.startswith("image_msaa_load"):
            yield line.replace("dmask:0xf", "dmask:0x1")
        elif line.startswith("image_atomic") and " tfe" not in line:
            data = slot(split(line).operands[0])
            if not data.parts or data.parts[0][0] >= VGPR.count:
                continue
            start, length = data.parts[0]
            _, comma, rest = line.partition(", ")
            wider = f"{line.partition(' ')[0]} v[{start}:{start + length}]{comma}{rest}"
            yield f"{wider} tfe"
            if "glc" not in line and "TH_ATOMIC" not in line:
                yield from (f"{wider} glc tfe", f"{wider} th:TH_ATOMIC_RETURN tfe")


def lane_mask_spellings(lines: list[str]) -> Iterator[str]:
    """VOP2/VOPC lines with and without an explicit lane mask: LLVM accepts both for some encodings."""
    seen: set[tuple[str, int]] = set()
    for line in lines:
        mnemonic = line.partition(" ")[0]
        if not mnemonic.startswith(("v_cmp", "v_add", "v_sub", "v_cndmask", "v_div_", "v_mad_")):
            continue
        tokens = split(line)
        if (mnemonic, len(tokens.operands)) in seen:
            continue
        seen.add((mnemonic, len(tokens.operands)))
        bare = _SUFFIX.sub("", mnemonic)
        heads = dict.fromkeys((mnemonic, bare, f"{bare}_e64"))
        tail = " ".join(f"{key}:{value}" if value else key for key, value in tokens.modifiers.items())
        operands = tokens.operands
        for mask, other in (("vcc", "vcc"), ("vcc_lo", "vcc_lo"), ("s20", "s24"), ("s[20:21]", "s[24:25]")):
            if mnemonic.startswith("v_cmp"):
                spellings = [[mask, *operands], [mask, *operands[1:]], operands[1:]]
            else:
                spellings = [
                    [*operands, mask], [*operands[:1], mask, *operands[1:]],
                    [*operands[:1], mask, *operands[1:], other],
                    [*operands[:1], mask, *operands[2:], other], [*operands[:1], mask, *operands[2:]],
                    [*operands[:1], *operands[2:4]],
                    [*operands[:-1], mask], [*operands[:1], mask, *operands[2:-1], other], operands[:-1],
                ]  # fmt: skip
            for spelling in spellings:
                for head in heads:
                    yield f"{head} {', '.join(spelling)} {tail}".rstrip()


_DUAL = re.compile(r"V_DUAL_(.+)_X_(.+?)_(?:e96_)?gfx\w+")
_DUAL_SUFFIX = re.compile(r"(?:_pseudo)?_(?:e32|e64)$")
_PARTNERS = ("mov_b32", "add_f32", "fmac_f32", "mul_f32")


def vopd_lines(opcode_names: list[str]) -> Iterator[str]:
    """Dual-issue lines: every half with a few partners, with registers that fall on different banks."""
    halves: set[str] = set()
    for name in opcode_names:
        match = _DUAL.fullmatch(name)
        if match:
            halves |= {_DUAL_SUFFIX.sub("", part).lower() for part in match.groups()}
    for half in sorted(halves):
        for old, new in ALIAS_RULES:
            halves |= {half.replace(before, after) for before, after in ((old, new), (new, old)) if before in half}
    for half in sorted(halves):
        for partner in _PARTNERS:
            for x, y in ((half, partner), (partner, half)):
                for x_rest in _half_operands(x, 0):
                    for y_rest in _half_operands(y, 1):
                        yield f"v_dual_{x} {x_rest} :: v_dual_{y} {y_rest}"


def _half_operands(mnemonic: str, side: int) -> Iterator[str]:
    """Operand lists of one half; the two sides use registers of different parity and different banks."""
    wide = "64" in mnemonic
    first = 16 + (3 if side and not wide else 2 * side)

    def register(number: int) -> str:
        return f"v[{number}:{number + 1}]" if wide else f"v{number}"

    a, b, c = (register(number) for number in ((30, 35, 42) if not wide else (30, 34, 42)))
    if side:
        a, b, c = (register(number) for number in ((49, 54, 61) if not wide else (52, 56, 64)))
    out = register(first)
    if "mov" in mnemonic:
        yield f"{out}, {a}"
    elif "fmaak" in mnemonic:
        yield f"{out}, {a}, {b}, 0x12345"
    elif "fmamk" in mnemonic:
        yield f"{out}, {a}, 0x12345, {b}"
    else:
        yield f"{out}, {a}, {b}"
        yield f"{out}, {a}, {b}, {c}"
        yield f"{out}, {a}, {b}, vcc_lo"
        yield f"{out}, {a}, {b}, s20"
    if "bitop2" in mnemonic:
        yield f"{out}, {a}, {b} bitop3:0x14"
