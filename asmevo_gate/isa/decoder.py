"""From an instruction text to what it reads and writes on one target."""

from __future__ import annotations

import re

from asmevo_gate.isa import registers
from asmevo_gate.isa.instruction import Decoded, NotDecoded, Op, Operand, Role
from asmevo_gate.isa.operand_text import Slot, Tokens, slot, split
from asmevo_gate.isa.table import FormRow, Table, load_table
from asmevo_gate.isa.targets import Target

_SUFFIX = re.compile(r"_(e64_dpp|e32|e64|dpp|sdwa)$")
_DPP_MODIFIERS = frozenset(
    [
        "quad_perm",
        "row_shl",
        "row_shr",
        "row_ror",
        "row_mirror",
        "row_half_mirror",
        "row_bcast",
        "row_newbcast",
        "row_share",
        "row_xmask",
        "wave_shl",
        "wave_rol",
        "wave_shr",
        "wave_ror",
        "dpp8",
        "bank_mask",
        "row_mask",
        "bound_ctrl",
        "fi",
    ]
)
_SDWA_MODIFIERS = frozenset(("dst_sel", "dst_unused", "src0_sel", "src1_sel"))
_OTHER_VARIANTS = {
    "": ("e64", "e32"), "e32": ("",), "e64": ("",), "dpp": ("e64_dpp",), "e64_dpp": ("dpp",),
    "sdwa": (), "vopd": (),
}  # fmt: skip
_ROLES = {"D": Role.WRITE, "U": Role.READ, "B": Role.READ | Role.WRITE, "K": Role.WRITE | Role.KEEP}
_MAX_MEMO = 400_000
_LINE_NAMES = {"FLAT_SCR": "flat_scratch"}
_NARROWED = {"VCC": "vcc_lo", "EXEC": "exec_lo"}


class Isa:
    """The instructions of one target in one wave size. Use :func:`isa_for`, which keeps one per pair."""

    def __init__(self, target: Target, wave_size: int) -> None:
        table = load_table()
        self.target = target
        self.wave_size = wave_size
        self._table: Table = table
        bit = 1 << table.targets.index(target.table)
        self._forms: dict[tuple[str, str, int, str], FormRow] = {}
        self._bases: set[str] = set()
        for row in table.forms:
            if row[3] & bit:
                self._forms[row[0], row[1], len(row[4]), row[2]] = row
                self._bases.add(row[0])
        self._implicit = [(self._mask(written), self._mask(read)) for written, read in table.implicit]
        self._memo: dict[str, Decoded | NotDecoded] = {}

    def decode(self, text: str) -> Decoded | NotDecoded:
        """The meaning of one instruction text (comments removed, symbols substituted); remembered per text."""
        known = self._memo.get(text)
        if known is None:
            if len(self._memo) >= _MAX_MEMO:
                self._memo.clear()
            known = self._memo[text] = self._decode(text)
        return known

    def mnemonics(self) -> tuple[str, ...]:
        """Every base mnemonic of the target, sorted."""
        return tuple(sorted(self._bases))

    def _mask(self, names: list[str]) -> int:
        mask = 0
        for name in names:
            if self.wave_size == 32:
                name = _NARROWED.get(name, name)
            for start, length in slot(_LINE_NAMES.get(name, name.lower())).parts:
                mask |= registers.bits(start, length)
        return mask

    def _decode(self, text: str) -> Decoded | NotDecoded:
        if "::" in text:
            return self._decode_dual(text)
        return self._decode_one(text, split(text))

    def _decode_dual(self, text: str) -> Decoded | NotDecoded:
        x_text, _, y_text = text.partition("::")
        halves: list[Decoded] = []
        for half in (x_text.strip(), y_text.strip()):
            decoded = self._decode_one(half, split(half), "vopd")
            if isinstance(decoded, NotDecoded):
                return NotDecoded(text, decoded.mnemonic, decoded.kind, decoded.reason, decoded.available_on)
            halves.append(decoded)
        x, y = halves
        return Decoded(
            text=text,
            mnemonic=f"{x.mnemonic} :: {y.mnemonic}",
            base=f"{x.base}::{y.base}",
            variant="vopd",
            operands=x.operands + y.operands,
            modifiers={**x.modifiers, **y.modifiers},
            reads=x.reads | y.reads,
            writes=x.writes | y.writes,
            keeps=x.keeps | y.keeps,
            implicit_reads=x.implicit_reads | y.implicit_reads,
            implicit_writes=x.implicit_writes | y.implicit_writes,
            classes=x.classes | y.classes | Op.VOPD | Op.VALU,
            size=8,
            schedule=x.schedule,
            halves=(x, y),
        )

    def _decode_one(self, text: str, tokens: Tokens, variant: str = "") -> Decoded | NotDecoded:
        mnemonic, operand_texts, modifiers = tokens
        suffix = _SUFFIX.search(mnemonic)
        base = mnemonic[: suffix.start()] if suffix else mnemonic
        if variant != "vopd":
            variant = _variant(suffix[1] if suffix else "", modifiers)
        row = self._find(base, variant, len(operand_texts), _features(modifiers))
        if row is None:
            return self._refuse(text, mnemonic, base, variant, len(operand_texts))
        slots = [slot(operand) for operand in operand_texts]
        for operand, one in zip(operand_texts, slots, strict=True):
            if one.problem:
                return NotDecoded(text, mnemonic, "no_form", f"'{operand}': {one.problem}")
            if one.symbolic:
                return NotDecoded(
                    text, mnemonic, "symbolic", f"'{operand}' needs a symbol that the file does not define"
                )
        return self._assemble(text, mnemonic, base, variant, row, operand_texts, slots, modifiers)

    def _assemble(
        self, text: str, mnemonic: str, base: str, variant: str, row: FormRow,
        operand_texts: list[str], slots: list[Slot], modifiers: dict[str, str],
    ) -> Decoded:  # fmt: skip
        implicit_writes, implicit_reads = self._implicit[row[5]]
        classes, size, schedule = self._table.attributes[row[6]]
        reads, writes, keeps = implicit_reads, implicit_writes, 0
        preserved = modifiers.get("dst_unused") == "UNUSED_PRESERVE"
        operands: list[Operand] = []
        for position, (operand, one, letter) in enumerate(zip(operand_texts, slots, row[4], strict=True)):
            role = _ROLES.get(letter, Role.NONE)
            if one.parts and letter == "-":
                role = Role.READ
            if position == 0 and role & Role.WRITE and (preserved or one.half is not None):
                role |= Role.KEEP
            for start, length in one.parts or ((-1, 0),):
                mask = ((1 << length) - 1) << start if length else 0
                operands.append(
                    Operand(operand, role if length else Role.NONE, start, length, one.half, one.value)
                )
                if role & (Role.READ | Role.KEEP):
                    reads |= mask
                if role & Role.WRITE:
                    writes |= mask
                if role & Role.KEEP:
                    keeps |= mask
        found = Op(classes)
        if variant in ("dpp", "e64_dpp"):
            found |= Op.DPP
        if variant == "sdwa":
            found |= Op.SDWA
        if "gds" in modifiers:
            found |= Op.GDS
        if "lds" in modifiers and found & Op.BUFFER:
            found |= Op.LDS_DMA
        return Decoded(
            text=text, mnemonic=mnemonic, base=base, variant=variant, operands=tuple(operands), modifiers=modifiers,
            reads=reads, writes=writes, keeps=keeps, implicit_reads=implicit_reads, implicit_writes=implicit_writes,
            classes=found, size=size, schedule=schedule,
        )  # fmt: skip

    def _find(self, base: str, variant: str, count: int, features: tuple[str, ...]) -> FormRow | None:
        forms = self._forms
        for one in (variant, *_OTHER_VARIANTS[variant]):
            row = forms.get((base, one, count, "+".join(features)))
            if row is not None:
                return row
        for left_out in range(len(features)):
            row = self._find(base, variant, count, features[:left_out] + features[left_out + 1 :])
            if row is not None:
                return row
        return None

    def _refuse(self, text: str, mnemonic: str, base: str, variant: str, count: int) -> NotDecoded:
        if base in self._bases:
            what = f"'{mnemonic}' has no form with {count} operands" + (f" as {variant}" if variant else "")
            return NotDecoded(text, mnemonic, "no_form", f"{what} on {self.target.name}")
        mask = 0
        for row in self._table.forms:
            if row[0] == base:
                mask |= row[3]
        if not mask:
            return NotDecoded(text, mnemonic, "unknown_mnemonic", f"'{mnemonic}' is no AMDGPU instruction")
        available = tuple(name for i, name in enumerate(self._table.targets) if mask >> i & 1)
        return NotDecoded(
            text, mnemonic, "not_on_target", f"'{mnemonic}' does not exist on {self.target.name}", available
        )


def _variant(suffix: str, modifiers: dict[str, str]) -> str:
    if suffix in ("", "e32", "e64"):
        for name in modifiers:
            if name in _DPP_MODIFIERS:
                return "e64_dpp" if suffix == "e64" else "dpp"
            if name in _SDWA_MODIFIERS:
                return "sdwa"
    return suffix


def _features(modifiers: dict[str, str]) -> tuple[str, ...]:
    """The modifiers that change what an instruction reads and writes."""
    found: set[str] = {name for name in ("lds", "lwe", "tfe") if name in modifiers}
    hint = modifiers.get("th", "")
    if (
        "glc" in modifiers
        or "sc0" in modifiers
        or ("TH_ATOMIC" in hint and "RETURN" in hint)
        or (hint.isdigit() and int(hint) & 1)
    ):
        found.add("ret")
    return tuple(sorted(found))


_isas: dict[tuple[str, int], Isa] = {}


def isa_for(target: Target, wave_size: int) -> Isa:
    """The instructions of a target in a wave size; one object per pair, so that each text is decoded once."""
    key = (target.name, wave_size)
    isa = _isas.get(key)
    if isa is None:
        isa = _isas[key] = Isa(target, wave_size)
    return isa
