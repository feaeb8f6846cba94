"""Which modifiers and which kinds of operand a form takes, found by trying each on an accepted line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from descriptions import Opcode
from forms import Form

from asmevo_gate.isa.form_key import FormKey
from asmevo_gate.isa.operand_text import slot, split


class Kind(NamedTuple):
    """Forms of one kind take the same modifiers and the same kinds of operand: LLVM's parser decides both by the
    operands of the opcode."""

    family: str
    variant: str
    count: int  # type: ignore[assignment]  # shadows tuple.count
    names: tuple[int, ...]
    register_classes: tuple[str | None, ...]


class Probe(NamedTuple):
    """A line that, when accepted, shows that a kind takes a modifier, or a kind of operand at a position."""

    kind: Kind
    opcode: int
    features: str
    text: str
    modifier: str = ""
    position: int = -1
    letter: str = ""


ARRAYS = ("op_sel", "op_sel_hi", "neg_lo", "neg_hi", "neg")


def _arrays(count: int) -> Iterator[tuple[str, str]]:
    """Array modifiers for as many elements as there may be sources."""
    for length in {max(count - 1, 1), count}:
        for name in ARRAYS:
            for bits in ("0" * length, "0" * (length - 1) + "1", "1" + "0" * (length - 1), "1" * length):
                yield name, f"{name}:[{','.join(bits)}]"


def _named(*texts: str) -> list[tuple[str, str]]:
    return [(text.partition(":")[0], text) for text in texts]


VECTOR = _named(
    "clamp", "mul:2", "div:2", "byte_sel:1", "bitop3:1", "cbsz:1", "abid:1", "blgp:1", "wait_exp:1", "wait_vdst:1",
    "wait_va_vdst:1", "wait_vm_vsrc:1", "high", "index_key:1", "matrix_a_fmt:1", "matrix_b_fmt:1",
    "matrix_a_fmt:MATRIX_FMT_BF8", "matrix_b_fmt:MATRIX_FMT_BF8", "matrix_a_reuse", "matrix_b_reuse",
    "matrix_a_scale:1", "matrix_b_scale:1",
    "matrix_a_scale:MATRIX_SCALE_ROW1", "matrix_b_scale:MATRIX_SCALE_ROW1", "matrix_a_scale_fmt:1",
    "matrix_b_scale_fmt:1", "matrix_a_scale_fmt:MATRIX_SCALE_FMT_E5M3", "matrix_b_scale_fmt:MATRIX_SCALE_FMT_E5M3",
    "index_key:0", "scale_sel:1",
)  # fmt: skip
DPP_CONTROLS = _named(
    "quad_perm:[1,0,3,2]", "row_shl:1", "row_shr:1", "row_ror:1", "row_mirror", "row_half_mirror", "row_bcast:15",
    "row_newbcast:1", "row_share:1", "row_xmask:1", "wave_shl:1", "wave_rol:1", "wave_shr:1", "wave_ror:1",
)  # fmt: skip
DPP_MASKS = _named("row_mask:0x1", "bank_mask:0x1", "bound_ctrl:0", "bound_ctrl:1", "fi:1")
LANE_SWAP = _named("bound_ctrl:1", "fi:1")
DPP8 = "dpp8:[7,6,5,4,3,2,1,0]"
SDWA = _named("dst_sel:WORD_1", "dst_unused:UNUSED_PRESERVE", "src0_sel:WORD_1", "src1_sel:WORD_1")
MEMORY = _named(
    "glc", "slc", "dlc", "scc", "nv", "sc0", "sc1", "nt", "th:TH_LOAD_NT", "th:TH_STORE_NT", "th:TH_ATOMIC_NT", "th:0",
    "th:TH_ATOMIC_RETURN", "scope:SCOPE_DEV", "offset:8", "offset0:1", "offset1:1", "gds", "lds", "tfe", "lwe", "offen",
    "idxen", "addr64", "format:1", "format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT]", "format:[BUF_FMT_32_FLOAT]",
    "dfmt:1", "nfmt:2", "unorm", "da", "r128", "a16", "d16", "dim:1D", "dmask:0x1", "high", "done", "vm", "compr",
    "row_en", "wait_exp:1", "scale_offset", "wait_vdst:1", "wait_va_vdst:1", "wait_vm_vsrc:1",
)  # fmt: skip
MEMORY += [(text.split()[0], text) for text in ("glc lwe", "glc tfe", "lwe tfe", "glc lds", "sc0 lds", "glc lwe tfe")]
SCALAR = _named("glc", "dlc", "nv", "th:TH_LOAD_HT", "th:0", "scope:SCOPE_DEV", "offset:8", "scale_offset")
_DIGITS = re.compile(r"\d+")
_BANKS = ("v", "a", "s")
_ACCESSES = ("load", "store", "atomic", "buffer", "scratch", "dcache", "prefetch")
"""Second words of scalar memory instructions. A store and an atomic may have the same operands, but glc of an atomic
asks for another form, and that of a store for none."""


def kind_of(key: FormKey, opcode: Opcode) -> Kind:
    """The kind of a form as this opcode."""
    words = key.base.split("_")
    family = words[0] if key.base.startswith("s_") and words[1] not in _ACCESSES else "_".join(words[:2])
    if key.base.startswith("v_"):
        family = family[:6]
    classes = opcode.register_classes
    if not key.base.startswith("v_"):  # In memory instructions the width of an operand decides nothing.
        classes = tuple(name and _DIGITS.sub("", name) for name in classes)
    return Kind(family, key.variant, key.count, opcode.names, classes)


def probes(forms: dict[FormKey, Form], opcodes: list[Opcode]) -> Iterator[Probe]:
    """The lines to try: for each kind of form all modifiers and operands, on one accepted line."""
    tried: set[Kind] = set()
    for key, form in forms.items():
        if key.variant == "vopd":
            continue
        for number, text in form.samples:
            kind = kind_of(key, opcodes[number])
            if kind not in tried:
                tried.add(kind)
                yield from _modifier_probes(kind, number, key, text)
                yield from _operand_probes(kind, number, key, text)


def _modifier_probes(kind: Kind, number: int, key: FormKey, text: str) -> Iterator[Probe]:
    tokens = split(text)
    if key.base.startswith("v_"):
        candidates = [*VECTOR, *_arrays(len(tokens.operands))]
        if key.variant.endswith("dpp"):
            yield from _dpp_probes(kind, number, key, text)
            if "dpp8" not in tokens.modifiers:
                candidates += DPP_MASKS
            else:
                candidates += _named("fi:1")
        elif key.base.startswith("v_permlane"):
            candidates += LANE_SWAP
        if key.variant == "sdwa":
            candidates += SDWA
    elif key.base.startswith("s_"):
        candidates = SCALAR
    else:
        candidates = MEMORY
    for name, modifier in candidates:
        if name in tokens.modifiers:
            continue
        yield Probe(kind, number, key.features, f"{text} {modifier}", modifier=name)
    if "dim" in tokens.modifiers and "a16" not in tokens.modifiers:
        short = _LONG_ADDRESS.sub(lambda match: f"{match[1]}v[2:3]", text)  # two coordinates in one register
        if short != text:
            yield Probe(kind, number, key.features, f"{short} a16", modifier="a16")


_LONG_ADDRESS = re.compile(r"^(\S+ \S+, )v\[\d+:\d+\]")


def _dpp_probes(kind: Kind, number: int, key: FormKey, text: str) -> Iterator[Probe]:
    without = split(text)
    rest = [
        f"{name}:{value}" if value else name
        for name, value in without.modifiers.items()
        if name not in {control for control, _ in DPP_CONTROLS} | {"dpp8", "row_mask", "bank_mask", "fi", "bound_ctrl"}
    ]
    head = f"{without.mnemonic} {', '.join(without.operands)}"
    for name, control in [*DPP_CONTROLS, ("dpp8", DPP8)]:
        yield Probe(kind, number, key.features, " ".join([head, *rest, control]), modifier=name)


def _operand_probes(kind: Kind, number: int, key: FormKey, text: str) -> Iterator[Probe]:
    tokens = split(text)
    mnemonic, operands, modifiers = tokens
    tail = "".join(f" {name}:{value}" if value else f" {name}" for name, value in modifiers.items())
    for position, operand in enumerate(operands):
        parts = slot(operand).parts
        if len(parts) != 1:
            continue
        _, length = parts[0]
        for letter, replacement in _replacements(operand, length):
            changed = [*operands]
            changed[position] = replacement
            yield Probe(
                kind, number, key.features, f"{mnemonic} {', '.join(changed)}{tail}", position=position, letter=letter
            )


def _replacements(operand: str, length: int) -> Iterator[tuple[str, str]]:
    for letter in _BANKS:
        first = 88
        yield letter, f"{letter}{first}" if length == 1 else f"{letter}[{first}:{first + length - 1}]"
    yield "#", "1"
    yield "=", "0x12345"
    yield "-", f"-{operand}"
    yield "|", f"|{operand}|"
    yield "~", f"sext({operand})"
    if length == 1 and "." not in operand:
        yield ".", f"{operand}.h"
