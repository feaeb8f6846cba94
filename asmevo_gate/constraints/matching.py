"""Which nodes of a constraint graph an instruction is in: both engines ask here, once per distinct text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fnmatch import translate
from functools import reduce
from graphlib import TopologicalSorter
from operator import or_

import msgspec

from asmevo_gate.constraints.model import ConstraintGraph, InstructionClass
from asmevo_gate.constraints.predicates import PREDICATES
from asmevo_gate.constraints.roles import REGISTER_FILES, ROLES, both_halves, with_halves
from asmevo_gate.isa.instruction import MATRIX, OP_BITS, Decoded, Op
from asmevo_gate.isa.operand_text import evaluate
from asmevo_gate.isa.targets import Target
from asmevo_gate.isa.waits import decode_depctr, decode_wait

_HWREG = r"hwreg\(\s*(?P<name>\w+)\s*(?:,\s*(?P<offset>\w+)\s*,\s*(?P<size>\w+)\s*)?\)"
_WILD = re.compile(r"[*?\[]")
_HWREGS = 64
"""The id of a hardware register has 6 bits (AMDGPUUsage, hwreg)."""
_Select = Callable[[Decoded], int]
_NodesOfRole = tuple[str, _Select | None, tuple[tuple[str, int], ...]]
"""A role, what selects its registers, and the nodes in it with the registers that each is narrowed to."""
_SMALL_FORMATS = ("2", "3", "4", "MATRIX_FMT_FP6", "MATRIX_FMT_BF6", "MATRIX_FMT_FP4")


class Traits(msgspec.Struct, frozen=True, gc=False):
    """What the constraint graph sees of one instruction text.

    ``classes`` is a bit set of class numbers (``Matcher.class_numbers``); ``nodes`` maps a node that matches to its
    registers. ``opcode`` is the canonical mnemonic, ``grade`` kind and passes of a matrix instruction
    (``XDL/8``; ``""`` for others), ``wait_states`` what the instruction counts as a distance.
    """

    classes: int
    nodes: dict[str, int]
    opcode: str
    grade: str
    wait_states: int
    depctr: dict[str, int]
    modifiers: dict[str, str]

    def field(self, name: str) -> int:
        """The number that a modifier gives; 0 where it is not written, or no number that a field can hold."""
        value = evaluate(self.modifiers.get(name, "0"))
        return value if value is not None and 0 <= value < 1 << 16 else 0


class Matcher:
    """Matches decoded instructions of one target against the classes and nodes of a graph."""

    def __init__(self, graph: ConstraintGraph, target: Target) -> None:
        self.graph = graph
        self._target = target
        order = list(_class_order(graph.classes))
        self.class_numbers = {name: number for number, name in enumerate(order)}
        self._classes = [_Compiled(graph.classes[name], self.class_numbers) for name in order]
        self._roles = self._node_roles()
        asked = [PREDICATES[one.where] for one in graph.classes.values() if one.where]
        self._told_reads = reduce(or_, (one.reads for one in asked), 0)
        self._told_writes = reduce(or_, (one.writes for one in asked), 0)
        self._told_modifiers = tuple(sorted({name for one in asked for name in one.modifiers}))
        self._grades = [
            (grade, *_split_formats(mnemonic)) for grade, mnemonics in graph.grades.items() for mnemonic in mnemonics
        ]
        self._memo: dict[int, tuple[Decoded, Traits]] = {}
        self._static: dict[tuple[object, ...], tuple[int, tuple[int, ...]]] = {}
        self._candidates: dict[int, tuple[_NodesOfRole, ...]] = {}
        self._grade_memo: dict[str, list[tuple[str, str]]] = {}

    def class_mask(self, names: tuple[str, ...]) -> int:
        """Bit set of some classes, to test :attr:`Traits.classes` against."""
        mask = 0
        for name in names:
            mask |= 1 << self.class_numbers[name]
        return mask

    def traits(self, decoded: Decoded) -> Traits:
        """What the graph sees of the instruction; remembered per decoded object."""
        key = id(decoded)
        known = self._memo.get(key)
        if known is not None:
            return known[1]
        traits = self._match(decoded)
        if len(self._memo) > 200_000:
            self._memo.clear()
        self._memo[key] = (decoded, traits)
        return traits

    def _match(self, decoded: Decoded) -> Traits:
        opcode = self.graph.aliases.get(decoded.base, decoded.base)
        grade = self._grade(opcode, decoded) if decoded.classes & MATRIX else ""
        depctr = (decode_depctr(decoded, self._target) or {}) if decoded.classes & Op.SOPP else {}
        bits, dynamic = self._classes_told(decoded, grade)
        for number in dynamic:
            if self._classes[number].holds(decoded, bits, depctr, self):
                bits |= 1 << number
        candidates = self._candidates.get(bits)
        if candidates is None:
            candidates = self._candidates[bits] = tuple(self._candidates_of(bits))
        nodes: dict[str, int] = {}
        halves = self.graph.half_registers and any(operand.half is not None for operand in decoded.operands)
        for role, select, members in candidates:
            if select is None:
                for name, _ in members:
                    nodes[name] = 0
                continue
            mask = select(decoded)
            if mask and self.graph.half_registers and role != "hwreg":
                mask = with_halves(role, decoded, mask) if halves else both_halves(mask)
            if mask:
                for name, within in members:
                    if registers := mask & within:
                        nodes[name] = registers
        return Traits(
            bits, nodes, opcode, grade, self._wait_states(decoded), depctr,
            decoded.modifiers,
        )  # fmt: skip

    def _classes_told(self, decoded: Decoded, grade: str) -> tuple[int, tuple[int, ...]]:
        """:meth:`_match_static`, once for all that it looks at."""
        modifiers = tuple(map(decoded.modifiers.get, self._told_modifiers)) if decoded.modifiers else ()
        key = (
            decoded.base, decoded.classes, grade, len(decoded.operands), modifiers,
            decoded.reads & self._told_reads, decoded.writes & self._told_writes,
        )  # fmt: skip
        known = self._static.get(key)
        if known is None:
            known = self._static[key] = self._match_static(decoded, grade)
        return known

    def _candidates_of(self, bits: int) -> Iterator[_NodesOfRole]:
        """The nodes whose instruction class is among some classes."""
        for role, select, members in self._roles:
            chosen = tuple((name, within) for name, within, one in members if bits & one)
            if chosen:
                yield role, select, chosen

    def _match_static(self, decoded: Decoded, grade: str) -> tuple[int, tuple[int, ...]]:
        """Classes that follow from mnemonic, class bits, grade and what predicates are told; and those that need all of
        the text."""
        bits = 0
        dynamic: list[int] = []
        maybe = 0
        for number, compiled in enumerate(self._classes):
            if not compiled.may_hold(decoded, grade, bits | maybe):
                continue
            if compiled.is_dynamic or compiled.depends_on & maybe:
                dynamic.append(number)
                maybe |= 1 << number
            elif compiled.composition_holds(bits) and compiled.condition_holds(decoded):
                bits |= 1 << number
        return bits, tuple(dynamic)

    def _grade(self, opcode: str, decoded: Decoded) -> str:
        entries = self._grade_memo.get(opcode)
        if entries is None:
            entries = [(grade, formats) for grade, pattern, formats in self._grades if pattern.match(opcode)]
            self._grade_memo[opcode] = entries
        for grade, formats in entries:
            if not formats or formats == _formats(decoded):
                return grade
        return ""

    def _wait_states(self, decoded: Decoded) -> int:
        if decoded.base != "s_nop":
            return 1
        count = decoded.operands[0].value if decoded.operands else 0
        # The assembler takes 16 bits; only those that the target's maximum needs are known to count.
        return (int(count) & (self.graph.s_nop_maximum - 1)) + 1 if isinstance(count, int) else 1

    def _node_roles(self) -> list[tuple[str, _Select | None, list[tuple[str, int, int]]]]:
        """For each role what selects its registers (``None`` for no registers), and the nodes in that role: name, the
        registers that it is narrowed to, the bit of its class."""
        members: dict[str, list[tuple[str, int, int]]] = {}
        for name, node in self.graph.nodes.items():
            within = -1 if node.role == "hwreg" else REGISTER_FILES[node.registers]
            if self.graph.half_registers:
                within = both_halves(within)
            members.setdefault(node.role, []).append((name, within, 1 << self.class_numbers[node.instruction]))
        return [(role, self._select(role), nodes) for role, nodes in members.items()]

    def _select(self, role: str) -> _Select | None:
        if role == "none":
            return None
        return self.hwreg_bit if role == "hwreg" else ROLES[role]

    def hwreg_bit(self, decoded: Decoded) -> int:
        """``1 << id`` of the hardware register that s_getreg/s_setreg names, 0 when it is not known."""
        hwreg = self.hwreg(decoded)
        return 1 << hwreg[0] if hwreg else 0

    def hwreg(self, decoded: Decoded) -> tuple[int, int, int] | None:
        """Id, offset and size of the hardware register operand."""
        for operand in decoded.operands:
            match = re.search(_HWREG, operand.text)
            if match:
                name = match["name"]
                number = self.graph.hwregs.get(name)
                if number is None and name[:1].isdigit():
                    number = evaluate(name)
                if number is None or not 0 <= number < _HWREGS:
                    return None
                try:
                    return number, int(match["offset"] or "0", 0), int(match["size"] or "32", 0)
                except ValueError:
                    return None
        position = 0 if decoded.base.startswith("s_setreg") else 1
        if position < len(decoded.operands):
            value = decoded.operands[position].value
            if isinstance(value, int) and not decoded.operands[position].length:
                return value & 63, value >> 6 & 31, (value >> 11 & 31) + 1
        return None

    def waits(self, decoded: Decoded) -> dict[str, int]:
        """Memory counters that the instruction waits for (none when unknown)."""
        return decode_wait(decoded, self._target) or {}


class _Compiled:
    """One instruction class, ready to be asked."""

    def __init__(self, one: InstructionClass, numbers: dict[str, int]) -> None:
        self._any = _op_bits(one.any)
        self._all = _op_bits(one.all)
        self._none = _op_bits(one.none)
        self._mnemonics = _patterns(one.mnemonics)
        self._except = _patterns(one.except_mnemonics)
        self._grades = one.grades
        self._of = sum(1 << numbers[name] for name in one.of)
        self._outside = sum(1 << numbers[name] for name in one.outside)
        self.depends_on = self._of | self._outside
        self._one = one
        self._where = PREDICATES[one.where].holds if one.where else None
        of_the_whole_text = bool(one.where) and PREDICATES[one.where].of_the_whole_text
        self.is_dynamic = bool(
            one.modifier or one.depctr or one.waitcnt or one.waitcnt_any or one.hwreg or of_the_whole_text
        )

    def may_hold(self, decoded: Decoded, grade: str, possible: int) -> bool:
        """The conditions on class bits, mnemonic and grade; ``possible`` are the classes not yet ruled out."""
        classes = decoded.classes
        if self._any and not classes & self._any:
            return False
        if classes & self._all != self._all or classes & self._none:
            return False
        if self._one.depctr and not classes & Op.SOPP:
            return False
        if self._mnemonics and not self._mnemonics.match(decoded.base):
            return False
        if self._except and self._except.match(decoded.base):
            return False
        if self._grades and grade.partition("/")[0] not in self._grades:
            return False
        return not self._of or bool(self._of & possible)

    def composition_holds(self, bits: int) -> bool:
        """The conditions on other classes."""
        return (not self._of or bool(self._of & bits)) and not self._outside & bits

    def holds(self, decoded: Decoded, bits: int, depctr: dict[str, int], matcher: Matcher) -> bool:
        """All conditions that are left when :meth:`may_hold` is true."""
        one = self._one
        if not self.composition_holds(bits):
            return False
        if one.modifier and one.modifier not in decoded.modifiers:
            return False
        if one.depctr and any(depctr.get(field, 1 << 16) > limit for field, limit in one.depctr.items()):
            return False
        if one.waitcnt:
            waits = matcher.waits(decoded)
            if any(waits.get(counter, 1 << 16) > limit for counter, limit in one.waitcnt.items()):
                return False
        if one.waitcnt_any:
            waits = matcher.waits(decoded)
            if not any(waits.get(counter) == 0 for counter in one.waitcnt_any):
                return False
        if one.hwreg or one.hwreg_value is not None:
            hwreg = matcher.hwreg(decoded)
            if hwreg is None:
                return False
            if one.hwreg and hwreg[0] not in {matcher.graph.hwregs[name] for name in one.hwreg}:
                return False
            if one.hwreg_covers is not None and not hwreg[1] <= one.hwreg_covers < hwreg[1] + hwreg[2]:
                return False
            if one.hwreg_value is not None and not _writes_value(decoded, hwreg, one.hwreg_value):
                return False
        return self.condition_holds(decoded)

    def condition_holds(self, decoded: Decoded) -> bool:
        """The predicate of the class."""
        return self._where is None or self._where(decoded)


def _writes_value(decoded: Decoded, hwreg: tuple[int, int, int], value: int) -> bool:
    """An immediate s_setreg that leaves ``value`` in the low bits of the register."""
    _, offset, size = hwreg
    written = decoded.operands[-1].value
    return offset == 0 and isinstance(written, int) and written & ((1 << size) - 1) == value


def _class_order(classes: dict[str, InstructionClass]) -> list[str]:
    """Classes so that each stands behind those that it is made of."""
    return list(TopologicalSorter({name: (*one.of, *one.outside) for name, one in classes.items()}).static_order())


def _op_bits(names: tuple[str, ...]) -> int:
    bits = 0
    for name in names:
        bits |= OP_BITS[name]
    return bits


class _Mnemonics:
    """Shell patterns on a mnemonic. Nearly all are a name or ``name*``: only the others need a regular expression."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self._names = frozenset(patterns)
        self._prefixes = tuple(one[:-1] for one in patterns if one.endswith("*") and not _WILD.search(one[:-1]))
        others = [one for one in patterns if _WILD.search(one.removesuffix("*"))]
        self._others = re.compile("|".join(map(translate, others))) if others else None

    def match(self, mnemonic: str) -> bool:
        """True when one of the patterns fits the whole mnemonic."""
        if mnemonic in self._names or (self._prefixes and mnemonic.startswith(self._prefixes)):
            return True
        return self._others is not None and bool(self._others.match(mnemonic))


def _patterns(patterns: tuple[str, ...]) -> _Mnemonics | None:
    return _Mnemonics(patterns) if patterns else None


def _split_formats(mnemonic: str) -> tuple[_Mnemonics, str]:
    name, _, formats = mnemonic.partition("|")
    return _Mnemonics((name,)), formats


def _formats(decoded: Decoded) -> str:
    """``small`` when both matrix inputs are FP6, BF6 or FP4, ``4bit`` when both are FP4, else ``8bit``."""
    modifiers = decoded.modifiers
    a = modifiers.get("cbsz", modifiers.get("matrix_a_fmt", "0"))
    b = modifiers.get("blgp", modifiers.get("matrix_b_fmt", "0"))
    if a in _SMALL_FORMATS and b in _SMALL_FORMATS:
        both_fp4 = a in ("4", "MATRIX_FMT_FP4") and b in ("4", "MATRIX_FMT_FP4")
        return "4bit" if both_fp4 and "matrix_a_fmt" in modifiers else "small"
    return "8bit"


_matchers: dict[tuple[int, str], Matcher] = {}


def matcher_for(graph: ConstraintGraph, target: Target) -> Matcher:
    """The matcher of a graph and target; one object per pair."""
    key = (id(graph), target.name)
    matcher = _matchers.get(key)
    if matcher is None or matcher.graph is not graph:
        matcher = _matchers[key] = Matcher(graph, target)
    return matcher
