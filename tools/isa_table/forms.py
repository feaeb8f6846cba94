"""From accepted lines to forms: what each operand of a line is used for, and what else the form touches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from descriptions import Descriptions, Opcode, implicit_mask
from llvm_program import Assembled

from asmevo_gate.isa.form_key import FormKey, form_key
from asmevo_gate.isa.operand_text import Slot, Tokens, slot, split


class Form:
    """All that is known of one form on one target."""

    def __init__(self, count: int) -> None:
        self.roles = ["-"] * count
        self.widths: list[set[tuple[int, int]]] = [set() for _ in range(count)]
        """Per operand (dwords, wave size in which a line had this width)."""
        self.letters: list[set[str]] = [set() for _ in range(count)]
        self.low_only: list[bool | None] = [None] * count
        """True when every line had the operand in a class of v0 to v127, None when it was never a register."""
        self.shapes: list[set[tuple[int, ...]]] = [set() for _ in range(count)]
        """Per operand the widths of the elements of the lists that stood there."""
        self.elements: list[str] = [""] * count
        """Per operand with the role ``E`` the role of each element of its list."""
        self.waves: set[int] = set()
        """The wave sizes in which a line was accepted."""
        self.opcodes: set[int] = set()
        self.written: frozenset[str] | None = None
        self.read: frozenset[str] | None = None
        self.modifiers: set[str] = set()
        self.samples: list[tuple[int, str]] = []
        """Accepted lines with the opcode that each became; one for every opcode."""

    def to_json(self) -> list[Any]:
        """For the cache of the extractor."""
        return [
            self.roles, [sorted(w) for w in self.widths], [sorted(x) for x in self.letters], sorted(self.opcodes),
            sorted(self.written or ()), sorted(self.read or ()), sorted(self.modifiers), self.samples, self.low_only,
            [sorted(shapes) for shapes in self.shapes], self.elements, sorted(self.waves),
        ]  # fmt: skip

    @classmethod
    def from_json(cls, row: list[Any]) -> Form:
        form = cls(len(row[0]))
        form.roles = row[0]
        form.widths = [{(length, wave) for length, wave in widths} for widths in row[1]]
        form.letters = [set(letters) for letters in row[2]]
        form.opcodes, form.modifiers, form.samples = (
            set(row[3]),
            set(row[6]),
            [(number, text) for number, text in row[7]],
        )
        form.low_only = row[8]
        form.shapes = [{tuple(shape) for shape in shapes} for shapes in row[9]]
        form.elements = row[10]
        form.waves = set(row[11])
        form.written, form.read = frozenset(row[4]), frozenset(row[5])
        return form


def mask_of(one: Slot) -> int:
    mask = 0
    for start, length in one.parts:
        mask |= ((1 << length) - 1) << start
    return mask


def add_sample(
    forms: dict[FormKey, Form], text: str, assembled: Assembled, descriptions: Descriptions, wave: int,
    conflicts: list[str],
) -> None:  # fmt: skip
    """Learn from one accepted line; a line in which registers overlap teaches nothing and is left out."""
    if "::" in text:
        _add_dual(forms, text, assembled, descriptions, wave, conflicts)
        return
    tokens = split(text)
    opcode = descriptions.opcodes[assembled.opcode]
    learnt = roles_of(tokens, opcode, descriptions.explicit(assembled))
    if learnt is None:
        return
    roles, written, read = learnt
    key = form_key(tokens.mnemonic, len(tokens.operands), tokens.modifiers)
    form = forms.get(key)
    if form is None:
        form = forms[key] = Form(len(roles))
    _merge(form, key, roles, written, read, tokens, wave, conflicts)
    _note_classes(form, tokens, assembled, opcode, descriptions)
    if assembled.opcode not in form.opcodes or len(form.samples) < 2:
        form.samples.append((assembled.opcode, text))
    form.opcodes.add(assembled.opcode)


def _note_classes(form: Form, tokens: Tokens, assembled: Assembled, opcode: Opcode, descriptions: Descriptions) -> None:
    """16-bit operands of 32-bit encodings reach v0 to v127 only: the other bit chooses the half."""
    for position, text in enumerate(tokens.operands):
        mask = mask_of(slot(text))
        if not mask:
            continue
        if text.endswith((".l", ".h")):
            form.letters[position].add(".")
        for number, operand in enumerate(assembled.operands[: len(opcode.register_classes)]):
            if isinstance(operand, str) and descriptions.masks[int(operand[1:])] == mask:
                low = (opcode.register_classes[number] or "").endswith("Lo128")
                form.low_only[position] = low and form.low_only[position] is not False
                break


def _merge(
    form: Form, key: FormKey, roles: list[str], written: frozenset[str], read: frozenset[str], tokens: Tokens,
    wave: int, conflicts: list[str],
) -> None:  # fmt: skip
    form.waves.add(wave)
    for position, role in enumerate(roles):
        if role == "-":
            continue
        role, form.elements[position] = role[:1], role[1:] or form.elements[position]
        if form.roles[position] not in ("-", role):
            conflicts.append(f"{key} operand {position}: {form.roles[position]} and {role} ({tokens})")
        form.roles[position] = role
    if form.written is None or form.read is None:
        form.written, form.read = written, read
    elif (form.written, form.read) != (written, read):
        # The twin opcode with fewer implicit reads describes the same instruction (DS without M0).
        if form.written != written:
            conflicts.append(f"{key} implicit {sorted(form.written)} and {sorted(written)} ({tokens})")
        form.read &= read
    form.modifiers |= tokens.modifiers.keys()
    for position, text in enumerate(tokens.operands):
        one = slot(text)
        if text[0] != "[":
            form.widths[position] |= {(length, wave) for _, length in one.parts}
        elif len(one.elements) > 1:
            form.shapes[position].add(tuple(length for _, length in one.elements))


def roles_of(
    tokens: Tokens, opcode: Opcode, explicit: tuple[int, int]
) -> tuple[list[str], frozenset[str], frozenset[str]] | None:
    """Role letters of the operands, and the implicit registers that no operand shows; ``None`` when registers of two
    operands overlap, so that it cannot be told which is which. A list whose elements have different roles is ``E``
    followed by a letter for each."""
    masks = [mask_of(slot(text)) for text in tokens.operands]
    written, read = explicit
    seen = 0
    for mask in masks:
        if mask & seen & (written | read):
            return None
        seen |= mask
    implicit_written, implicit_read = list(opcode.implicit_defs), list(opcode.implicit_uses)
    roles: list[str] = []
    for text, mask in zip(tokens.operands, masks, strict=True):
        if not mask:
            roles.append("-")
            continue
        elements = [_role(((1 << length) - 1) << start, written, read) for start, length in slot(text).elements]
        if len(set(elements)) > 1 and all(elements):
            roles.append("E" + "".join(elements))
            continue
        role = _role(mask, written, read)
        if not role:
            role = _implicit_role(mask, implicit_written, implicit_read)
        roles.append(role or "-")
    return roles, frozenset(implicit_written), frozenset(implicit_read)


def _role(mask: int, written: int, read: int) -> str:
    return "B" if mask & written and mask & read else "D" if mask & written else "U" if mask & read else ""


def _implicit_role(mask: int, written: list[str], read: list[str]) -> str:
    """An operand that LLVM keeps as an implicit register (``vcc``): the first is the result, the second the source."""
    for names, role in ((written, "D"), (read, "U")):
        for name in names:
            if mask & implicit_mask(name, 64):
                names.remove(name)
                return role
    return ""


def _add_dual(
    forms: dict[FormKey, Form], text: str, assembled: Assembled, descriptions: Descriptions, wave: int,
    conflicts: list[str],
) -> None:  # fmt: skip
    x_tokens, y_tokens = (split(half.strip()) for half in text.split("::"))
    opcode = descriptions.opcodes[assembled.opcode]
    both = Tokens("", x_tokens.operands + y_tokens.operands, {})
    learnt = roles_of(both, opcode, descriptions.explicit(assembled))
    if learnt is None:
        return
    roles, written, read = learnt
    count = len(x_tokens.operands)
    for tokens, part, side in ((x_tokens, roles[:count], "x"), (y_tokens, roles[count:], "y")):
        key = FormKey(tokens.mnemonic, "vopd", len(part), side)
        form = forms.get(key)
        if form is None:
            form = forms[key] = Form(len(part))
            form.written, form.read = written, read
        form.written = (form.written or frozenset()) & written
        form.read = (form.read or frozenset()) & read
        _merge(form, key, part, form.written, form.read, tokens, wave, conflicts)
        form.opcodes.add(assembled.opcode)
        if len(form.samples) < 2:
            form.samples.append((assembled.opcode, text))


def by_mnemonic(keys: Iterable[FormKey]) -> dict[str, list[FormKey]]:
    result: dict[str, list[FormKey]] = defaultdict(list)
    for key in keys:
        result[key.base].append(key)
    return result
