"""Values of terms on random wavefronts: what the terms mean, in numpy.

A wave-wide value has shape ``(waves, 1)``, a per-lane value ``(waves, lanes)``. A function that nothing is known
about gets a value mixed from the values of its arguments: equal arguments give equal values, and nothing else about
it can be concluded.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from asmevo_gate.isa.registers import SGPR, TTMP
from asmevo_gate.proof import float_evaluation
from asmevo_gate.proof.lane_permutation import source_lanes
from asmevo_gate.proof.state import EXEC_LO, MODE, SCC, is_vector
from asmevo_gate.proof.terms import Term, post_order

Array = Any

_EDGES = np.array(
    [
        *(0, 1, 2, 31, 32, 33, 63, 64, 0xFF, 0xFFFF, 0x7FFF, 0x8000, 0x10000, 0xFFFFFF, 0x800000, 0x7FFFFFFF),
        *(0x80000000, 0x80000001, 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFF0000, 0xAAAAAAAA, 0x3F800000, 0xBF800000),
        *(0x7F800000, 0xFF800000, 0x7FC00001, 0xFFC12345, 0x7F800001, 0x00000001, 0x007FFFFF, 0x00800000),
        *(0x7F7FFFFF, 0x40490FDB, 0x3C003C00, 0x7E017E02, 0xFC007C00, 0x00010001, 0x04000400, 0x80008000),
        *(0x3FF00000, 0x7FF00000, 0x7FF80001, 0xFFF00000, 0x4B800000, 0x5F000000, 0xDF000000, 0x33800000),
    ],
    dtype=np.uint64,
)


def _u(value: int) -> Any:
    return np.uint64(value)


class Wavefronts:
    """Random values of the registers at the start of a block, made when first asked for, the same for each seed.

    Lanes mix random bits, edge values, small numbers and ordinary floats; in some waves few different values occur,
    so that registers are equal. ``mode``: MODE of all waves, instead of denormals as they come. ``lane_active``: EXEC
    is never zero.
    """

    def __init__(
        self, waves: int, lanes: int, seed: int = 0, mode: int | None = None, lane_active: bool = False
    ) -> None:
        self.waves = waves
        self.lanes = lanes
        self._seed = seed
        self._mode = mode
        self._lane_active = lane_active
        self._values: dict[Any, Array] = {}

    def value(self, name: Any, width: int) -> Array:
        """The values of a variable."""
        known = self._values.get(name)
        if known is None:
            known = self._values[name] = self._make(name, width)
        return known

    def set(self, name: Any, values: Array) -> None:
        """Fix the values of a variable."""
        self._values[name] = values

    def _make(self, name: Any, width: int) -> Array:
        rng = np.random.default_rng(zlib.crc32(repr((self._seed, name)).encode()))
        vector = isinstance(name, int) and is_vector(name)
        shape = (self.waves, self.lanes if vector else 1)
        if name == SCC:
            return rng.integers(0, 2, shape, dtype=np.uint64)
        if name == MODE:
            return self._modes(rng, shape)
        if name in (EXEC_LO, EXEC_LO + 1):
            return self._exec(rng, shape)
        bits = rng.integers(0, 1 << 32, shape, dtype=np.uint64)
        kind = rng.integers(0, 8, shape)
        values = np.where(kind < 2, bits, _EDGES[rng.integers(0, len(_EDGES), shape)])
        values = np.where(kind == 3, bits & _u(63), values)
        exponent = rng.integers(117, 138, shape, dtype=np.uint64) << _u(23)
        values = np.where(kind >= 4, (bits & _u(0x807FFFFF)) | exponent, values)
        halves = (bits & _u(0x83FF83FF)) | (rng.integers(10, 20, shape, dtype=np.uint64) << _u(10)) * _u(0x10001)
        values = np.where(kind == 7, halves, values)
        if self.waves > 3:
            few = _EDGES[rng.integers(16, 19, shape)]
            few[: -max(1, self.waves // 8)] = values[: -max(1, self.waves // 8)]
            values = few
        if isinstance(name, int) and not SGPR.start <= name < TTMP.start + TTMP.count and not vector and width < 32:
            values &= _u((1 << width) - 1)
        return values

    def _modes(self, rng: Any, shape: tuple[int, int]) -> Array:
        if self._mode is not None:
            return np.full(shape, self._mode, dtype=np.uint64)
        modes = rng.integers(0, 64, shape, dtype=np.uint64) << _u(4)
        modes[0] = 0x3F0
        return modes

    def _exec(self, rng: Any, shape: tuple[int, int]) -> Array:
        masks = rng.integers(0, 1 << 32, shape, dtype=np.uint64)
        masks[0] = 0xFFFFFFFF
        if self.waves > 2:
            masks[1] = 0xFFFFFFFF
            masks[2] = 1 if self._lane_active else 0
        if self._lane_active:
            masks |= _u(1)
        if self.waves > 4:
            masks[3] = 1 << int(rng.integers(0, 32))
            masks[4] = 0xFFFFFFFF
        return masks


class Evaluation:
    """Values of terms on the same wavefronts; each term is computed once.

    ``payloads``: see :mod:`asmevo_gate.proof.float_evaluation`.
    """

    def __init__(self, wavefronts: Wavefronts, payloads: bool = True) -> None:
        self.wavefronts = wavefronts
        self.payloads = payloads
        self._values: dict[Term, Array] = {}
        self._lanes = np.arange(wavefronts.lanes, dtype=np.uint64).reshape(1, -1)

    def value(self, term: Term) -> Array:
        """The values of a term."""
        values = self._values
        found = values.get(term)
        if found is not None:
            return found
        for node in self._missing(term):
            values[node] = self._compute(node)
        return values[term]

    def forget(self, first: int) -> None:
        """Drop the values of terms numbered ``first`` or higher."""
        self._values = {term: value for term, value in self._values.items() if term.id < first}

    def _missing(self, root: Term) -> list[Term]:
        values = self._values
        order: list[Term] = []
        queued: set[Term] = set()
        stack = [(root, False)]
        while stack:
            term, expanded = stack.pop()
            if expanded:
                order.append(term)
            elif term not in values and term not in queued:
                queued.add(term)
                stack.append((term, True))
                stack.extend((arg, False) for arg in term.args if arg not in values)
        return order

    def _compute(self, term: Term) -> Array:
        op = term.op
        if op == "const":
            return np.array([[term.data]], dtype=np.uint64)
        if op == "var":
            return self.wavefronts.value(term.data, term.width)
        if op == "lane":
            return self._lanes
        args = [self._values[arg] for arg in term.args]
        if op == "apply":
            return self._apply(term, args)
        if op == "ballot":
            return self._ballot(term, args)
        if op == "lane_bit":
            return args[0] >> self._lanes & _u(1)
        if op == "read_lane":
            return self._read_lane(args)
        return operate(term, args)

    def _ballot(self, term: Term, args: list[Array]) -> Array:
        wide = np.broadcast_to(args[0], (self.wavefronts.waves, self.wavefronts.lanes))[:, : term.width]
        shifts = np.arange(wide.shape[1], dtype=np.uint64)
        return np.bitwise_or.reduce(wide << shifts, axis=1, keepdims=True)

    def _read_lane(self, args: list[Array]) -> Array:
        wide = np.broadcast_to(args[0], (self.wavefronts.waves, self.wavefronts.lanes))
        index = np.broadcast_to(args[1], (self.wavefronts.waves, 1)) % _u(self.wavefronts.lanes)
        return np.take_along_axis(wide, index.astype(np.int64), axis=1)

    def _apply(self, term: Term, args: list[Array]) -> Array:
        name = term.data.name
        if float_evaluation.known(name):
            mixed = self._mixed(term, args)
            rounds = (args[-1] & _u(0xF)) == 0 if not name.startswith("fclass") else np.True_
            return np.where(rounds, float_evaluation.value_of(name, args, self.payloads), mixed)
        if name.startswith("dpp"):
            permuted = self._permute(name, args)
            if permuted is not None:
                return permuted
        if name == "accumulator outside EXEC":
            return args[0] & _u(0xFFFFFFFF)
        return self._mixed(term, args)

    def _permute(self, name: str, args: list[Array]) -> Array | None:
        control = name.rpartition(".")[2].split()
        lanes = source_lanes(control[0], self.wavefronts.lanes)
        if lanes is None:
            return None
        shape = (self.wavefronts.waves, self.wavefronts.lanes)
        outside = np.array([lane < 0 for lane in lanes])
        index = np.array([max(lane, 0) for lane in lanes])
        active = np.broadcast_to(args[-1], shape)[:, index]
        valid = ~outside & (active != 0)
        if name.startswith("dpp_valid"):
            rows, banks = (int(part, 0) for part in name.split(".")[1].split())
            lane = np.arange(shape[1])
            chosen = (rows >> (lane // 16) & 1) & (banks >> (lane // 4 % 4) & 1)
            return (chosen.astype(bool) & (valid | ("zero" in control))).astype(np.uint64)
        return np.where(valid, np.broadcast_to(args[0], shape)[:, index], _u(0))

    def _mixed(self, term: Term, args: list[Array]) -> Array:
        seed = zlib.crc32(f"{term.data.name}/{term.width}".encode())
        total = np.full((1, 1), seed * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF, dtype=np.uint64)
        for arg in args:
            total = (total ^ arg) * _u(0xBF58476D1CE4E5B9)
            total ^= total >> _u(29)
        if term.data.binds and total.shape[1] > 1:
            spread = total * (self._lanes * _u(2) + _u(0x94D049BB133111EB))
            total = np.bitwise_xor.reduce(spread, axis=1, keepdims=True)
        total = total ^ total >> _u(31)
        total = total * _u(0x94D049BB133111EB)
        total ^= total >> _u(32)
        return total & _u((1 << term.width) - 1)


def operate(term: Term, args: list[Array]) -> Array:
    """The value of a bit-vector operation."""
    op, width = term.op, term.width
    mask = _u((1 << width) - 1)
    if op == "add":
        factors, constant = term.data
        total: Array = np.array([[constant]], dtype=np.uint64)
        for factor, arg in zip(factors, args, strict=True):
            total = total + (arg if factor == 1 else arg * _u(factor))
        return total & mask
    if op in _FOLDED:
        result = args[0]
        for arg in args[1:]:
            result = _FOLDED[op](result, arg)
        return result & mask
    if op == "concat":
        result = args[0]
        for part, arg in zip(term.args[1:], args[1:], strict=True):
            result = result << _u(part.width) | arg if part.width < 64 else arg
        return result
    if op == "extract":
        return args[0] >> _u(term.data[1]) & mask
    if op == "ite":
        return np.where(args[0] != 0, args[1], args[2])
    if op in ("shl", "lshr", "ashr"):
        return _shift(op, width, args[0], args[1])
    return _OTHERS[op](term, args)


_FOLDED: dict[str, Any] = {
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _shift(op: str, width: int, value: Array, amount: Array) -> Array:
    mask = _u((1 << width) - 1)
    near = np.minimum(amount, _u(63))
    if op == "shl":
        return np.where(amount < _u(width), value << near & mask, _u(0))
    if op == "lshr":
        return np.where(amount < _u(width), value >> near, _u(0))
    return (_signed(value, width) >> np.minimum(amount, _u(width - 1)).astype(np.int64)).view(np.uint64) & mask


def _signed(value: Array, width: int) -> Array:
    shift = 64 - width
    return np.ascontiguousarray(value << _u(shift)).view(np.int64) >> np.int64(shift)


def _sext(term: Term, args: list[Array]) -> Array:
    return _signed(args[0], term.args[0].width).view(np.uint64) & _u((1 << term.width) - 1)


def _bit_length(value: Array) -> Array:
    length = np.zeros_like(value)
    for step in (32, 16, 8, 4, 2, 1):
        high = value >> _u(step)
        big = high != 0
        length = np.where(big, length + _u(step), length)
        value = np.where(big, high, value)
    return length + value


def _count_ones(term: Term, args: list[Array]) -> Array:
    value = args[0]
    value = value - (value >> _u(1) & _u(0x5555555555555555))
    value = (value & _u(0x3333333333333333)) + (value >> _u(2) & _u(0x3333333333333333))
    value = value + (value >> _u(4)) & _u(0x0F0F0F0F0F0F0F0F)
    return value * _u(0x0101010101010101) >> _u(56)


def _leading_zeros(term: Term, args: list[Array]) -> Array:
    return _u(term.width) - _bit_length(args[0])


def _trailing_zeros(term: Term, args: list[Array]) -> Array:
    value = args[0]
    lowest = value & (~value + _u(1))
    return np.where(value == 0, _u(term.width), _bit_length(lowest) - np.minimum(value, _u(1)))


def _reverse(term: Term, args: list[Array]) -> Array:
    value, result = args[0], np.zeros_like(args[0])
    for place in range(term.width):
        result |= (value >> _u(place) & _u(1)) << _u(term.width - 1 - place)
    return result


_OTHERS: dict[str, Any] = {
    "sext": _sext,
    "count_ones": _count_ones,
    "leading_zeros": _leading_zeros,
    "trailing_zeros": _trailing_zeros,
    "reverse": _reverse,
    "eq": lambda term, args: (args[0] == args[1]).astype(np.uint64),
    "ult": lambda term, args: (args[0] < args[1]).astype(np.uint64),
    "slt": lambda term, args: (_signed(args[0], term.args[0].width) < _signed(args[1], term.args[0].width)).astype(
        np.uint64
    ),
}


def unknown_functions(terms: list[Term]) -> set[str]:
    """Names of functions below the terms whose value is not known."""
    return {node.data.name for node in post_order(terms) if is_unknown(node)}


def is_unknown(term: Term) -> bool:
    """True for a function whose value is made up."""
    if term.op != "apply":
        return False
    name = term.data.name
    if name.startswith("dpp"):
        return source_lanes(name.rpartition(".")[2].split()[0], 64) is None
    return not float_evaluation.known(name)
