"""From an instruction text to what it reads and writes on one target."""

from __future__ import annotations

from collections.abc import Sequence

from asmevo_gate.isa import registers
from asmevo_gate.isa.form_key import DPP_CONTROLS, FormKey, form_key
from asmevo_gate.isa.instruction import Decoded, NotDecoded, Op, Operand, Role
from asmevo_gate.isa.joint_check import conflict, dpp_conflict
from asmevo_gate.isa.matrix_formats import has_matrix_formats, with_format_widths
from asmevo_gate.isa.modifier_check import bad_value
from asmevo_gate.isa.operand_check import element_roles, widths_of
from asmevo_gate.isa.operand_place import placed, placed_list, roles_of
from asmevo_gate.isa.operand_text import Tokens, slot, split
from asmevo_gate.isa.table import FormRow, Table, load_table
from asmevo_gate.isa.targets import Target

_PACKED = Op.VOP3P | Op.MFMA | Op.WMMA
_ADDRESSED = Op.BUFFER | Op.FLAT | Op.GLOBAL | Op.SCRATCH
_NOT_REFUSED = (
    (_PACKED, frozenset(("op_sel", "op_sel_hi", "neg_lo", "neg_hi", "clamp"))),
    (Op.MFMA, frozenset(("cbsz", "abid", "blgp"))),
    (_ADDRESSED, frozenset(("offset",))),
)
"""Classes -> modifiers whose place the assembler checks by opcode, where the table knows only kinds of forms."""
_MAX_MEMO = 400_000
_NARROWED = {"VCC": "vcc_lo", "EXEC": "exec_lo"}
_LINE_NAMES = {"FLAT_SCR": "flat_scratch"}
_VARIANT_CLASSES = {"dpp": Op.DPP, "e64_dpp": Op.DPP, "bare_dpp": Op.DPP, "sdwa": Op.SDWA, "vopd": Op.VOPD | Op.VALU}
_JOINED = Op.MFMA | Op.DPP | Op.SMEM | Op.IMAGE
"""Instructions whose operands and modifiers may fit alone, but not together; a temporal hint may not fit any."""


class Isa:
    """The instructions of one target in one wave size. Use :func:`isa_for`, which keeps one per pair."""

    def __init__(self, target: Target, wave_size: int) -> None:
        table = load_table()
        self.target = target
        self.wave_size = wave_size
        self._table: Table = table
        self._bit = 1 << table.targets.index(target.table)
        self._implicit = [(self._mask(written), self._mask(read)) for written, read in table.implicit]
        self._rows: dict[FormKey, FormRow | None] = {}
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
        bit = self._bit
        return tuple(
            sorted(base for base, rows in self._table.mnemonics.items() if any(row.mask & bit for row in rows))
        )

    def forms(self, mnemonic: str) -> tuple[str, ...]:
        """The forms of a base mnemonic on the target, for people: ``e64: 3 operands; clamp, mul``."""
        return tuple(
            f"{row.variant or 'plain'}: {len(row.roles)} operands"
            + (f"; {', '.join(sorted(self._table.modifiers[row.modifiers]))}" if row.modifiers else "")
            for row in self._table.mnemonics.get(mnemonic, ())
            if row.mask & self._bit and row.variant != "bare_dpp"
        )

    def classes(self, mnemonic: str) -> int:
        """The class bits that the forms of a base mnemonic have together on the target; none when it has no form."""
        found = 0
        for row in self._table.mnemonics.get(mnemonic, ()):
            if row.mask & self._bit:
                found |= self._table.attributes[row.attributes][0]
        return found

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
        tokens = split(text)
        key = form_key(tokens.mnemonic, len(tokens.operands), tokens.modifiers)
        found = self._decode_one(text, tokens, key)
        if isinstance(found, NotDecoded) and found.kind == "no_form" and not key.variant and key.base.startswith("v_"):
            # LLVM's assembler goes on to SDWA when no other encoding fits: v_cndmask_b32 v1, 0, s2.
            as_sdwa = self._decode_one(text, tokens, key._replace(variant="sdwa"))
            return found if isinstance(as_sdwa, NotDecoded) else as_sdwa
        return found

    def _decode_dual(self, text: str) -> Decoded | NotDecoded:
        halves: list[Decoded] = []
        for side, half in zip("xy", text.split("::", 1), strict=True):
            half = half.strip()
            tokens = split(half)
            decoded = self._decode_one(half, tokens, FormKey(tokens.mnemonic, "vopd", len(tokens.operands), side))
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
            classes=x.classes | y.classes,
            size=max(x.size, y.size),
            schedule=x.schedule,
            halves=(x, y),
            has_indexed=x.has_indexed or y.has_indexed,
        )

    def _decode_one(self, text: str, tokens: Tokens, key: FormKey) -> Decoded | NotDecoded:
        row = self._find(key)
        if row is None:
            return self._refuse(text, tokens.mnemonic, key)
        table = self._table
        modifiers = tokens.modifiers
        classes, size, schedule = table.attributes[row.attributes]
        refused = self._refused(text, tokens, key, row, classes)
        if refused is not None:
            return refused
        expected: Sequence[str] = table.slots[row.slots]
        if modifiers:
            if has_matrix_formats(key.base):
                expected = with_format_widths(expected, modifiers)
            elif "a16" in modifiers and len(expected) > 1:
                expected = [expected[0], _with_packed_coordinates(expected[1]), *expected[2:]]
        implicit_writes, implicit_reads = self._implicit[row.implicit]
        reads, writes, keeps = implicit_reads, implicit_writes, 0
        every_lane = bool(modifiers) and _writes_every_lane(modifiers)
        a_part = bool(modifiers) and _keeps_a_part(modifiers, key.count)
        operands: list[Operand] = []
        wave_size = self.wave_size
        for operand, kinds, (letter, role) in zip(tokens.operands, expected, roles_of(row.roles), strict=True):
            if every_lane and letter == "O":
                role &= ~Role.KEEP
            if a_part and role & Role.WRITE and not operands:
                role |= Role.KEEP
            one = placed(operand, kinds, letter, role, wave_size)
            if one.refusal:
                return NotDecoded(text, tokens.mnemonic, *one.refusal)
            if letter == "E" and slot(operand).parts:
                one = placed_list(operand, element_roles(table.slots[row.slots][row.roles.index("E")]))
            operands += one.operands
            reads |= one.reads
            writes |= one.writes
            keeps |= one.keeps
        classes |= _VARIANT_CLASSES.get(key.variant, Op.NONE)
        if (classes & _JOINED or "th" in modifiers) and (problem := self._joint_problem(tokens, key, classes)):
            return NotDecoded(text, tokens.mnemonic, "no_form", problem)
        if "gds" in modifiers:
            classes |= Op.GDS
        if "lds" in modifiers and classes & Op.BUFFER:
            classes |= Op.LDS_DMA
        return Decoded(
            text, tokens.mnemonic, key.base, key.variant.removeprefix("bare_"), tuple(operands), modifiers,
            reads, writes, keeps,
            implicit_reads, implicit_writes, classes, size, schedule, (), bool(classes & Op.CALL),
            row.roles != row.roles.upper(),
        )  # fmt: skip

    def _refused(self, text: str, tokens: Tokens, key: FormKey, row: FormRow, classes: int) -> NotDecoded | None:
        """Why a form does not take the modifiers, or is not there in this wave size."""
        allowed = self._table.modifiers[row.modifiers]
        for name, value in tokens.modifiers.items():
            if (
                name not in allowed
                and not _may_stand(name, classes, key.count)
                and not (name.startswith("no") and name[2:] in allowed)
            ):
                return self._refuse_modifier(text, tokens.mnemonic, key, name)
            if problem := bad_value(name, value):
                return NotDecoded(text, tokens.mnemonic, "no_form", problem)
        if row.wave and row.wave != self.wave_size:
            reason = f"'{tokens.mnemonic}' exists in wave{row.wave} only on {self.target.name}"
            return NotDecoded(text, tokens.mnemonic, "no_form", reason)
        if "dim" in allowed and "dim" not in tokens.modifiers:
            return NotDecoded(text, tokens.mnemonic, "no_form", f"'{tokens.mnemonic}' needs dim: on {self.target.name}")
        return None

    def _joint_problem(self, tokens: Tokens, key: FormKey, classes: int) -> str:
        """Why operands and modifiers that fit alone do not go together."""
        data_widths = self._data_widths(key) if classes & Op.IMAGE else frozenset()
        problem = dpp_conflict(tokens.modifiers) if key.variant.endswith("dpp") and tokens.operands else ""
        slots = [slot(operand) for operand in tokens.operands]
        return problem or conflict(key.base, classes, slots, data_widths, tokens.modifiers)

    def _data_widths(self, key: FormKey) -> frozenset[int]:
        """The widths of the first operand in the form without features."""
        plain = self._find(key._replace(features=""))
        return widths_of(self._table.slots[plain.slots][0], self.wave_size) if plain and plain.roles else frozenset()

    def _find(self, key: FormKey) -> FormRow | None:
        try:
            return self._rows[key]
        except KeyError:
            pass
        found = self._match(key)
        if found is None and key.features:
            # glc of a load or store, lwe: nothing more is read or written.
            rest = "+".join(part for part in key.features.split("+") if part not in ("ret", "lwe"))
            simpler = self._match(key._replace(features=rest))
            if simpler is not None and not self._table.attributes[simpler.attributes][0] & Op.ATOMIC:
                found = simpler
        self._rows[key] = found
        return found

    def _match(self, key: FormKey) -> FormRow | None:
        for row in self._table.mnemonics.get(key.base, ()):
            if (
                row.mask & self._bit
                and row.variant == key.variant
                and len(row.roles) == key.count
                and row.features == key.features
            ):
                return row
        return None

    def _refuse(self, text: str, mnemonic: str, key: FormKey) -> NotDecoded:
        rows = self._table.mnemonics.get(key.base)
        if rows is None:
            return NotDecoded(text, mnemonic, "unknown_mnemonic", f"'{mnemonic}' is no AMDGPU instruction")
        if not any(row.mask & self._bit for row in rows):
            reason = f"'{mnemonic}' does not exist on {self.target.name}"
            return NotDecoded(text, mnemonic, "not_on_target", reason, self._targets(rows))
        same_variant = [row for row in rows if row.variant == key.variant]
        if not any(row.mask & self._bit for row in same_variant):
            variant = key.variant.removeprefix("bare_") or "plain"
            reason = f"'{mnemonic}' has no {variant} form on {self.target.name}"
            kind = "not_on_target" if same_variant else "no_form"
            return NotDecoded(text, mnemonic, kind, reason, self._targets(same_variant))
        same = [row for row in same_variant if len(row.roles) == key.count and row.features == key.features]
        what = f"{key.count} operands" + (f" and {key.features.replace('+', ', ')}" if key.features else "")
        reason = f"'{mnemonic}' has no form with {what} on {self.target.name}"
        return NotDecoded(text, mnemonic, "no_form", reason, self._targets(same))

    def _refuse_modifier(self, text: str, mnemonic: str, key: FormKey, name: str) -> NotDecoded:
        table = self._table
        taking = [
            row
            for row in table.mnemonics[key.base]
            if row.variant == key.variant and len(row.roles) == key.count and name in table.modifiers[row.modifiers]
        ]
        what = "DPP control" if name in DPP_CONTROLS else "modifier"
        reason = f"'{mnemonic}' takes no {what} '{name}' on {self.target.name}"
        return NotDecoded(text, mnemonic, "no_form", reason, self._targets(taking))

    def _targets(self, rows: list[FormRow]) -> tuple[str, ...]:
        mask = 0
        for row in rows:
            mask |= row.mask
        return tuple(name for i, name in enumerate(self._table.targets) if mask >> i & 1)


def _may_stand(name: str, classes: int, operands: int) -> bool:
    return operands > 0 and any(classes & concerned and name in names for concerned, names in _NOT_REFUSED)


def _with_packed_coordinates(kinds: str) -> str:
    """The widths of an image address (``v 3,4``), with those that it has when two coordinates share a register. Which
    lists there are then is not known."""
    letters, widths = [*kinds.split(" "), ""][:2]
    counts = [int(width) for width in widths.split(",") if width.isdigit()]
    if not counts:
        return letters
    return f"{letters} {','.join(map(str, sorted({*counts, *((count + 1) // 2 for count in counts)})))}"


def _writes_every_lane(modifiers: dict[str, str]) -> bool:
    """True when DPP leaves out no lane that EXEC selects: full masks, and lanes without a source get zero.

    ``bound_ctrl:0`` and ``bound_ctrl:1`` are two spellings of the same bit.
    """
    return (
        "bound_ctrl" in modifiers
        and modifiers.get("row_mask", "0xf") in ("0xf", "15", "0xF")
        and modifiers.get("bank_mask", "0xf") in ("0xf", "15", "0xF")
    )


def _keeps_a_part(modifiers: dict[str, str], count: int) -> bool:
    """True when the rest of the destination stays: SDWA preserve (the default), or a high half chosen by op_sel."""
    if modifiers.get("dst_sel", "DWORD") not in ("DWORD", "6"):
        return modifiers.get("dst_unused", "UNUSED_PRESERVE") in ("UNUSED_PRESERVE", "2")
    selected = modifiers.get("op_sel")
    if selected is None:
        return False
    elements = selected.strip("[] ").replace(" ", "").split(",")
    return len(elements) == count and elements[-1] == "1"


_isas: dict[tuple[str, int], Isa] = {}


def isa_for(target: Target, wave_size: int) -> Isa:
    """The instructions of a target in a wave size; one object per pair, so that each text is decoded once."""
    key = (target.name, wave_size)
    isa = _isas.get(key)
    if isa is None:
        isa = _isas[key] = Isa(target, wave_size)
    return isa
