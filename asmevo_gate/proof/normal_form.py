"""Terms in a normal form, so that many equal computations become the same node.

Every rule is an identity of bit vectors that holds for all inputs: sums are linear combinations in a fixed order,
products, conjunctions, disjunctions and exclusive ors are flat and sorted, constants are folded, selections and
slices of slices disappear. What the rules miss is left to the solver.
"""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.proof.terms import Symbol, Term, Terms, post_order, wave_wide

_SPREAD_LIMIT = 16
"""Parts of a sum up to which a constant factor is multiplied out and a slice is drawn in."""


_DEPTH_LIMIT = 60
"""Terms deep to which a slice or a lane's bit is drawn in; below that it stays outside."""


def _number(term: Term) -> int:
    return term.id


class NormalTerms(Terms):
    """Makes terms in normal form.

    ``any_nan``: a function of several NaNs may give any of their payloads, so that float sums and products commute.
    """

    def __init__(self, any_nan: bool = False) -> None:
        super().__init__()
        self._any_nan = any_nan
        self._slices: dict[tuple[Term, int, int], Term] = {}
        self._lane_bits: dict[Term, Term] = {}
        self._depth = 0

    def linear(self, width: int, parts: Iterable[tuple[int, Term]], constant: int = 0) -> Term:
        mask = (1 << width) - 1
        sums: dict[Term, int] = {}
        for coefficient, term in parts:
            op = term.op
            if op == "const":
                constant += coefficient * term.data
            elif op == "add":
                inner, offset = term.data
                constant += coefficient * offset
                for factor, atom in zip(inner, term.args, strict=True):
                    sums[atom] = sums.get(atom, 0) + coefficient * factor
            elif op == "xor" and term.args[-1].op == "const" and term.args[-1].data == mask:
                # not x = -x - 1
                constant -= coefficient
                atom = self.xor(*term.args[:-1]) if len(term.args) > 2 else term.args[0]
                if atom.op == "add":
                    inner, offset = atom.data
                    constant -= coefficient * offset
                    for factor, part in zip(inner, atom.args, strict=True):
                        sums[part] = sums.get(part, 0) - coefficient * factor
                else:
                    sums[atom] = sums.get(atom, 0) - coefficient
            else:
                sums[term] = sums.get(term, 0) + coefficient
        constant &= mask
        atoms = sorted((term for term, factor in sums.items() if factor & mask), key=_number)
        if not atoms:
            return self.const(constant, width)
        factors = tuple(sums[atom] & mask for atom in atoms)
        if len(atoms) == 1:
            if factors[0] == 1 and not constant:
                return atoms[0]
            if factors[0] == mask and constant == mask and width > 1:
                return self.xor(atoms[0], self.const(mask, width))
        return self.make("add", width, tuple(atoms), (factors, constant))

    def mul(self, left: Term, right: Term) -> Term:
        width = left.width
        if left.op == "const":
            left, right = right, left
        if right.op == "const":
            if left.op == "const":
                return self.const(left.data * right.data, width)
            return self.linear(width, [(right.data, left)])
        factor = 1
        atoms: list[Term] = []
        for term in (left, right):
            if term.op == "add" and len(term.args) == 1 and not term.data[1]:
                factor *= term.data[0][0]
                term = term.args[0]
            atoms.extend(term.args if term.op == "mul" else (term,))
        atoms.sort(key=_number)
        product = self.make("mul", width, tuple(atoms))
        return product if factor == 1 else self.linear(width, [(factor, product)])

    def _bitwise(self, op: str, terms: list[Term]) -> Term:
        return self.xor(*terms) if op == "xor" else self._lattice(op, tuple(terms))

    def and_(self, *terms: Term) -> Term:
        return self._lattice("and", terms)

    def or_(self, *terms: Term) -> Term:
        return self._lattice("or", terms)

    def _lattice(self, op: str, terms: tuple[Term, ...]) -> Term:
        width = terms[0].width
        mask = (1 << width) - 1
        conjunction = op == "and"
        dual = "or" if conjunction else "and"
        constant = mask if conjunction else 0
        members: set[Term] = set()
        for term in terms:
            for part in term.args if term.op == op else (term,):
                if part.op == "const":
                    constant = constant & part.data if conjunction else constant | part.data
                else:
                    members.add(part)
        absorbing = 0 if conjunction else mask
        if constant == absorbing or not members:
            return self.const(constant, width)
        for part in tuple(members):
            if part.op == "xor" and part.args[-1].op == "const" and part.args[-1].data == mask:
                inner = part.args[0] if len(part.args) == 2 else self.xor(*part.args[:-1])
                if inner in members:
                    return self.const(absorbing, width)
            elif part.op == dual and not members.isdisjoint(part.args):
                members.discard(part)
        if len(members) == 1 and constant == (mask if conjunction else 0):
            return members.pop()
        ordered = sorted(members, key=_number)
        if constant != (mask if conjunction else 0):
            if conjunction and constant & (constant + 1) == 0:
                bits = constant.bit_length()
                inner = ordered[0] if len(ordered) == 1 else self.make(op, width, tuple(ordered))
                return self.zext(self.extract(inner, bits - 1, 0), width)
            ordered.append(self.const(constant, width))
        return self.make(op, width, tuple(ordered))

    def xor(self, *terms: Term) -> Term:
        width = terms[0].width
        mask = (1 << width) - 1
        constant = 0
        members: dict[Term, None] = {}
        for term in terms:
            for part in term.args if term.op == "xor" else (term,):
                if part.op == "const":
                    constant ^= part.data
                elif part in members:
                    del members[part]
                else:
                    members[part] = None
        if not members:
            return self.const(constant, width)
        ordered = sorted(members, key=_number)
        if not constant:
            return ordered[0] if len(ordered) == 1 else self.make("xor", width, tuple(ordered))
        if constant == mask and len(ordered) == 1 and width > 1 and ordered[0].op == "add":
            return self.linear(width, [(-1, ordered[0])], -1)
        return self.make("xor", width, (*ordered, self.const(constant, width)))

    def shl(self, term: Term, amount: Term) -> Term:
        if amount.op == "const":
            return (
                self.linear(term.width, [(1 << amount.data, term)])
                if amount.data < term.width
                else self.const(0, term.width)
            )
        return self.make("shl", term.width, (term, amount))

    def lshr(self, term: Term, amount: Term) -> Term:
        if amount.op == "const":
            if amount.data >= term.width:
                return self.const(0, term.width)
            return self.zext(self.extract(term, term.width - 1, amount.data), term.width)
        return self.make("lshr", term.width, (term, amount))

    def ashr(self, term: Term, amount: Term) -> Term:
        if amount.op == "const":
            return self.sext(self.extract(term, term.width - 1, min(amount.data, term.width - 1)), term.width)
        return self.make("ashr", term.width, (term, amount))

    def concat(self, *parts: Term) -> Term:
        joined: list[Term] = []
        for outer in parts:
            for part in outer.args if outer.op == "concat" else (outer,):
                if joined:
                    merged = self._merge(joined[-1], part)
                    if merged is not None:
                        joined[-1] = merged
                        continue
                joined.append(part)
        if len(joined) == 1:
            return joined[0]
        return self.make("concat", sum(part.width for part in joined), tuple(joined))

    def _merge(self, high: Term, low: Term) -> Term | None:
        """Two neighbours as one: numbers, or neighbouring slices of the same term."""
        if high.op == "const" and low.op == "const":
            return self.const(high.data << low.width | low.data, high.width + low.width)
        slices = high.op == "extract" and low.op == "extract"
        if slices and high.args[0] is low.args[0] and high.data[1] == low.data[0] + 1:
            return self.extract(high.args[0], high.data[0], low.data[1])
        return None

    def extract(self, term: Term, high: int, low: int) -> Term:
        if high - low + 1 == term.width:
            return term
        known = self._slices.get((term, high, low))
        if known is None:
            self._depth += 1
            if self._depth > _DEPTH_LIMIT and term.op not in ("const", "extract"):
                known = self.make("extract", high - low + 1, (term,), (high, low))
            else:
                known = self._slices[term, high, low] = self._extract(term, high, low)
            self._depth -= 1
        return known

    def _extract(self, term: Term, high: int, low: int) -> Term:
        width = high - low + 1
        op = term.op
        if op == "const":
            return self.const(term.data >> low, width)
        if op == "extract":
            return self.extract(term.args[0], high + term.data[1], low + term.data[1])
        if op == "concat":
            return self._extract_parts(term, high, low)
        if op == "sext":
            inner = term.args[0]
            if high < inner.width:
                return self.extract(inner, high, low)
            if low < inner.width - 1:
                return self.sext(self.extract(inner, inner.width - 1, low), width)
            return self.sext(self.extract(inner, inner.width - 1, inner.width - 1), width)
        if op in ("and", "or", "xor"):
            return self._bitwise(op, [self.extract(arg, high, low) for arg in term.args])
        if op == "add" and low == 0 and len(term.args) <= _SPREAD_LIMIT:
            factors, constant = term.data
            parts = [(factor, self.extract(arg, high, 0)) for factor, arg in zip(factors, term.args, strict=True)]
            return self.linear(width, parts, constant)
        if op == "mul" and low == 0:
            product = self.extract(term.args[0], high, 0)
            for arg in term.args[1:]:
                product = self.mul(product, self.extract(arg, high, 0))
            return product
        if op == "add" and len(term.args) == 1 and not term.data[1]:
            factor = term.data[0][0]
            zeros = (factor & -factor).bit_length() - 1
            if factor == 1 << zeros and low >= zeros:
                return self.extract(term.args[0], high - zeros, low - zeros)
        if op == "ite" and (term.args[1].op in ("const", "concat") or term.args[2].op in ("const", "concat")):
            return self.ite(term.args[0], self.extract(term.args[1], high, low), self.extract(term.args[2], high, low))
        return self.make("extract", width, (term,), (high, low))

    def _extract_parts(self, term: Term, high: int, low: int) -> Term:
        chosen: list[Term] = []
        top = term.width
        for part in term.args:
            bottom = top - part.width
            upper, lower = min(high, top - 1), max(low, bottom)
            if upper >= lower:
                chosen.append(self.extract(part, upper - bottom, lower - bottom))
            top = bottom
        return self.concat(*chosen)

    def sext(self, term: Term, width: int) -> Term:
        if term.width == width:
            return term
        if term.op == "const":
            sign = term.data >> (term.width - 1)
            return self.const(term.data - (sign << term.width), width)
        if term.op == "sext":
            return self.make("sext", width, term.args)
        if term.op == "concat" and term.args[0].op == "const" and not term.args[0].data >> (term.args[0].width - 1):
            return self.zext(term, width)
        return self.make("sext", width, (term,))

    def count_ones(self, term: Term) -> Term:
        if term.op == "const":
            return self.const(term.data.bit_count(), term.width)
        return self.make("count_ones", term.width, (term,))

    def leading_zeros(self, term: Term) -> Term:
        if term.op == "const":
            return self.const(term.width - term.data.bit_length(), term.width)
        return self.make("leading_zeros", term.width, (term,))

    def trailing_zeros(self, term: Term) -> Term:
        if term.op == "const":
            return self.const((term.data & -term.data).bit_length() - 1 if term.data else term.width, term.width)
        return self.make("trailing_zeros", term.width, (term,))

    def reverse(self, term: Term) -> Term:
        if term.op == "const":
            return self.const(int(format(term.data, f"0{term.width}b")[::-1], 2), term.width)
        return term.args[0] if term.op == "reverse" else self.make("reverse", term.width, (term,))

    def eq(self, left: Term, right: Term) -> Term:
        if left is right:
            return self.true
        if left.op == "const" and right.op == "const":
            return self.false
        if left.width == 1:
            return self.xor(left, right, self.true)
        if left.op == "const" or (right.op != "const" and right.id < left.id):
            left, right = right, left
        return self.make("eq", 1, (left, right))

    def ult(self, left: Term, right: Term) -> Term:
        if left is right:
            return self.false
        if left.op == "const" and right.op == "const":
            return self.const(left.data < right.data, 1)
        if right.op == "const":
            if right.data == 0:
                return self.false
            if right.data == 1:
                return self.eq(left, self.const(0, left.width))
        return self.make("ult", 1, (left, right))

    def slt(self, left: Term, right: Term) -> Term:
        if left is right:
            return self.false
        if left.op == "const" and right.op == "const":
            flip = 1 << (left.width - 1)
            return self.const((left.data ^ flip) < (right.data ^ flip), 1)
        return self.make("slt", 1, (left, right))

    def ite(self, condition: Term, then: Term, other: Term) -> Term:
        if then is other:
            return then
        if condition.op == "const":
            return then if condition.data else other
        if condition.op == "xor" and condition.args[-1].op == "const":
            return self.ite(self.not_(condition), other, then)
        if then.op == "ite" and then.args[0] is condition:
            then = then.args[1]
        if other.op == "ite" and other.args[0] is condition:
            other = other.args[2]
        if then is other:
            return then
        if then.width == 1:
            if then.op == "const":
                return self.or_(condition, other) if then.data else self.and_(self.not_(condition), other)
            if other.op == "const":
                return self.or_(self.not_(condition), then) if other.data else self.and_(condition, then)
        return self.make("ite", then.width, (condition, then, other))

    def lane_bit(self, mask: Term) -> Term:
        known = self._lane_bits.get(mask)
        if known is None:
            self._depth += 1
            if self._depth > _DEPTH_LIMIT:
                known = self.make("lane_bit", 1, (mask,))
            else:
                known = self._lane_bits[mask] = self._lane_bit(mask)
            self._depth -= 1
        return known

    def _lane_bit(self, mask: Term) -> Term:
        op = mask.op
        if op == "ballot":
            return mask.args[0]
        if op == "const" and mask.data in (0, (1 << mask.width) - 1):
            return self.const(mask.data & 1, 1)
        if op in ("and", "or", "xor"):
            return self._bitwise(op, [self.lane_bit(arg) for arg in mask.args])
        if (
            op == "add"
            and mask.data[1] == (1 << mask.width) - 1
            and len(mask.args) == 1
            and mask.data[0][0] == mask.data[1]
        ):
            return self.not_(self.lane_bit(mask.args[0]))
        if op == "ite":
            return self.ite(mask.args[0], self.lane_bit(mask.args[1]), self.lane_bit(mask.args[2]))
        if op == "concat" and len(mask.args) == 2 and mask.args[0].op in ("and", "or", "xor"):
            whole = self._joined_bitwise(mask)
            if whole is not None:
                return self.lane_bit(whole)
        return self.make("lane_bit", 1, (mask,))

    def _joined_bitwise(self, mask: Term) -> Term | None:
        """``concat(f(a_hi, b_hi), f(a_lo, b_lo))`` as ``f`` of whole masks; any pairing is right, halves of one are
        wanted."""
        high, low = mask.args
        if high.op != low.op or len(high.args) != len(low.args):
            return None
        left = list(low.args)
        pairs: list[Term] = []
        for one in high.args:
            partner = next((two for two in left if _halves(one, two)), left[0])
            left.remove(partner)
            pairs.append(self.concat(one, partner))
        return self._bitwise(high.op, pairs)

    def ballot(self, condition: Term, wave_size: int) -> Term:
        if condition.op == "const":
            return self.const(-condition.data, wave_size)
        if condition.op == "lane_bit" and condition.args[0].width == wave_size:
            return condition.args[0]
        return self.make("ballot", wave_size, (condition,))

    def read_lane(self, value: Term, index: Term) -> Term:
        while value.op == "ite" and value.args[0].op == "eq" and index.op == "const":
            lane, number = value.args[0].args
            if number.op != "const" or lane.op != "lane":
                break
            if number.data == index.data:
                value = value.args[1]
                if wave_wide(value):
                    return value
                break
            value = value.args[2]
        return self.make("read_lane", value.width, (value, index))

    def apply(self, name: str, width: int, args: tuple[Term, ...], binds: bool = False) -> Term:
        commutes = len(args) > 1 and name.partition(".")[0] in _COMMUTES
        if commutes and (self._any_nan or _never_nan(args[0], name) or _never_nan(args[1], name)):
            args = (*sorted(args[:2], key=_number), *args[2:])
        return self.make("apply", width, args, Symbol(name, binds))


_COMMUTES = frozenset(("fadd", "fmul", "ffma", "fmad", "fmul_legacy", "fcmp_eq", "fcmp_unordered"))
_INTEGER_TO_FLOAT = ("float_from_signed", "float_from_unsigned")
_FRACTION_BITS = {"f16": (16, 10), "f32": (32, 23), "f64": (64, 52)}


def _never_nan(term: Term, name: str) -> bool:
    """True where the operand cannot be a NaN: with two NaNs, which payload the result gets depends on their order."""
    if name.startswith("fcmp"):
        return True
    if term.op == "const":
        width, fraction = _FRACTION_BITS[name.rpartition(".")[2]]
        return bool(term.data & ((1 << (width - 1)) - 1) <= ((1 << (width - 1 - fraction)) - 1) << fraction)
    return (
        term.op == "apply"
        and term.data.name.startswith(_INTEGER_TO_FLOAT)
        and term.width == _FRACTION_BITS[name.rpartition(".")[2]][0]
    )


def _halves(high: Term, low: Term) -> bool:
    """True when two 32-bit terms look like the halves of one mask."""
    if high.op != low.op:
        return False
    if high.op == "extract":
        return high.args[0] is low.args[0]
    if high.op == "var":
        return bool(high.data == low.data + 1)
    return True


def transfer(root: Term, terms: Terms, known: dict[Term, Term]) -> Term:
    """The same term made by other rules; ``known`` keeps what was made already."""
    for node in post_order([root]):
        if node not in known:
            known[node] = _remake(node, tuple(known[arg] for arg in node.args), terms)
    return known[root]


def _remake(node: Term, args: tuple[Term, ...], terms: Terms) -> Term:
    op, data = node.op, node.data
    if op == "const":
        return terms.const(data, node.width)
    if op == "add":
        return terms.linear(node.width, zip(data[0], args, strict=True), data[1])
    if op == "mul":
        product = args[0]
        for arg in args[1:]:
            product = terms.mul(product, arg)
        return product
    if op == "extract":
        return terms.extract(args[0], data[0], data[1])
    if op == "apply":
        return terms.apply(data.name, node.width, args, data.binds)
    if op in ("sext", "ballot"):
        return terms.sext(args[0], node.width) if op == "sext" else terms.ballot(args[0], node.width)
    if not args:
        return terms.make(op, node.width, (), data)
    made: Term = getattr(terms, _MAKERS.get(op, op))(*args)
    return made


_MAKERS = {"and": "and_", "or": "or_"}
