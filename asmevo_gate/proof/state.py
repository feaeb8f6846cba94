"""The registers of one wavefront as terms, and what reading and writing them means under the EXEC mask."""

from __future__ import annotations

from collections.abc import Callable

from asmevo_gate.isa.registers import SPECIAL, VECTOR
from asmevo_gate.proof.terms import Term, Terms

EXEC_LO = SPECIAL["exec_lo"]
VCC_LO = SPECIAL["vcc_lo"]
SCC = SPECIAL["scc"]
MODE = SPECIAL["mode"]
M0 = SPECIAL["m0"]
_CONDITIONS = frozenset((SCC,))
_TOKEN = -1
"""Number under which the order of memory operations and other effects is kept beside the registers."""


Effect = tuple[str, tuple[Term, ...]]
"""A memory operation or other effect: what it is, and its arguments."""
Align = Callable[[int, str, tuple[Term, ...]], tuple[Term, ...]]


def width_of(register: int) -> int:
    """Bits of a register of the line: 1 for SCC, 32 for all others."""
    return 1 if register in _CONDITIONS else 32


def is_vector(register: int) -> bool:
    """True for VGPRs and AGPRs."""
    return register >= 0 and bool(VECTOR >> register & 1)


class State:
    """Values of all registers; what was not written yet is a variable named by the register's number.

    ``token`` stands for everything that the effects so far (memory operations, messages, barriers) did, in order;
    ``effects`` lists them. ``lane_active``: EXEC is known not to be zero at the start of the block.
    """

    __slots__ = ("_active", "align", "effects", "lane_active", "terms", "token", "values", "wave_size")

    def __init__(self, terms: Terms, wave_size: int, lane_active: bool = False) -> None:
        self.lane_active = lane_active
        self.terms = terms
        self.wave_size = wave_size
        self.values: dict[int, Term] = {}
        self.token = terms.var(_TOKEN, 32)
        self.effects: list[Effect] = []
        self.align: Align | None = None
        self._active: Term | None = None

    def effect(self, name: str, args: tuple[Term, ...]) -> tuple[Term, ...]:
        """Note an effect; gives the arguments to go on with (equal ones, where ``align`` knows some)."""
        if self.align is not None:
            args = self.align(len(self.effects), name, args)
        self.effects.append((name, args))
        return args

    def copy(self) -> State:
        """An independent state with the same values."""
        other = type(self).__new__(type(self))
        other.terms, other.wave_size = self.terms, self.wave_size
        other.values, other.token, other._active = dict(self.values), self.token, self._active
        other.lane_active = self.lane_active
        other.effects, other.align = list(self.effects), self.align
        return other

    def whole(self, register: int) -> Term:
        """A register's value, of a vector register in every lane."""
        value = self.values.get(register)
        return self.terms.var(register, width_of(register)) if value is None else value

    def read(self, register: int) -> Term:
        """A register's value for a computation that only counts where EXEC is set."""
        value = self.values.get(register)
        if value is None:
            return self.terms.var(register, width_of(register))
        if value.op == "ite" and is_vector(register):
            return under(value, self.active)
        return value

    @property
    def active(self) -> Term:
        """This lane's bit of EXEC."""
        if self._active is None:
            self._active = self.terms.lane_bit(self.mask(EXEC_LO))
        return self._active

    def first(self, register: int) -> Term:
        """A register's value for an instruction that reads the first active lane (lane 0 when none is active)."""
        unchanged = EXEC_LO not in self.values and EXEC_LO + 1 not in self.values
        return self.read(register) if self.lane_active and unchanged else self.whole(register)

    def mask(self, low: int) -> Term:
        """A lane mask that starts at a register: one register in wave32, two in wave64."""
        if self.wave_size == 32:
            return self.whole(low)
        return self.terms.concat(self.whole(low + 1), self.whole(low))

    def write_scalar(self, register: int, value: Term) -> None:
        """Set a wave-wide register."""
        self.values[register] = value
        if EXEC_LO <= register <= EXEC_LO + 1:
            self._active = None

    def write_all_lanes(self, register: int, value: Term) -> None:
        """Set a vector register whatever EXEC says."""
        self.values[register] = value

    def write_lanes(self, register: int, value: Term, enabled: Term | None = None) -> None:
        """Set a vector register where EXEC (or ``enabled``) is set."""
        condition = self.active if enabled is None else enabled
        old = outside(self.whole(register), condition)
        self.values[register] = self.terms.ite(condition, value, old)

    def write_mask(self, low: int, condition: Term) -> None:
        """Set a lane mask to the lanes that are active and meet the condition."""
        terms = self.terms
        mask = terms.ballot(terms.and_(self.active, condition), self.wave_size)
        self.write_scalar_wide(low, mask)

    def write_scalar_wide(self, low: int, value: Term) -> None:
        """Set one or two scalar registers from a 32-bit or 64-bit value."""
        if value.width == 64:
            self.write_scalar(low, self.terms.extract(value, 31, 0))
            self.write_scalar(low + 1, self.terms.extract(value, 63, 32))
        else:
            self.write_scalar(low, value)


class PlainState(State):
    """A state that leaves out every short cut of :class:`State`: for execution that judges proofs."""

    __slots__ = ()

    def read(self, register: int) -> Term:
        """A register's value."""
        return self.whole(register)

    def write_lanes(self, register: int, value: Term, enabled: Term | None = None) -> None:
        """Set a vector register where EXEC (or ``enabled``) is set."""
        condition = self.active if enabled is None else enabled
        self.values[register] = self.terms.ite(condition, value, self.whole(register))


def under(value: Term, active: Term) -> Term:
    """The value given that ``active`` holds: selections that it decides are taken."""
    held = {active, *active.args} if active.op == "and" else {active}
    while value.op == "ite":
        condition = value.args[0]
        if condition in held or (condition.op == "and" and held.issuperset(condition.args)):
            value = value.args[1]
        elif any(_is_negation(one, condition) for one in held):
            value = value.args[2]
        else:
            break
    return value


def _is_negation(term: Term, condition: Term) -> bool:
    return term.op == "xor" and len(term.args) == 2 and term.args[0] is condition and term.args[1].op == "const"


def outside(value: Term, active: Term) -> Term:
    """The value given that ``active`` does not hold: selections that need it are not taken."""
    needed = set(active.args) if active.op == "and" else {active}
    while value.op == "ite":
        condition = value.args[0]
        if condition is not active and not (condition.op == "and" and needed.issubset(condition.args)):
            break
        value = value.args[2]
    return value
