"""Do two sequences of instructions leave the same values in every register that is needed afterwards?

In this order: the same normal form; random and edge-case wavefronts, which settle most differences; bitwuzla for
what is left. Only "proved" means equal, and it means equal bit for bit for all inputs and all lanes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from asmevo_gate.isa.instruction import Decoded, NotDecoded
from asmevo_gate.isa.registers import VECTOR, indices, register_name
from asmevo_gate.isa.targets import Target
from asmevo_gate.program.model import Instruction
from asmevo_gate.proof import solver
from asmevo_gate.proof.normal_form import NormalTerms
from asmevo_gate.proof.state import Align, State, is_vector
from asmevo_gate.proof.step import OutOfScope, step_of
from asmevo_gate.proof.terms import Term, Terms, binds, post_order

if TYPE_CHECKING:
    from asmevo_gate.proof.evaluate import Evaluation

AnswerName = Literal["proved", "refuted", "not_proved", "out_of_scope"]
Code = Sequence[Decoded | Instruction]


@dataclass(frozen=True)
class ProofOptions:
    """``nan_payloads`` ``any``: which of several NaN sources a float result repeats does not matter.
    ``solver_milliseconds``: time for each register that the normal form leaves open; 0 asks no solver.
    ``waves``, ``seed``: random wavefronts."""

    nan_payloads: Literal["exact", "any"] = "exact"
    solver_milliseconds: int = 2000
    waves: int = 8
    seed: int = 1


@dataclass(frozen=True)
class Counterexample:
    """Inputs for which a register differs. Values are bits; ``lane`` is ``None`` for a wave-wide register.
    An input that is read across lanes has one value for each lane."""

    register: str
    lane: int | None
    old: int
    new: int
    inputs: dict[str, int | tuple[int, ...]]


@dataclass(frozen=True)
class Proof:
    """The answer for one block. ``reason`` says why it is not proved. ``registers`` is the number of registers
    compared, ``solved`` how many of them needed the solver."""

    answer: AnswerName
    reason: str = ""
    counterexample: Counterexample | None = None
    registers: int = 0
    solved: int = 0

    @property
    def proved(self) -> bool:
        """True when the sequences are equal."""
        return self.answer == "proved"


@dataclass
class _Goal:
    registers: tuple[int, ...]
    old: Term
    new: Term


@dataclass
class Prover:
    """Proves many changes of the same block: terms and random values are shared between them."""

    target: Target
    wave_size: int
    options: ProofOptions = field(default_factory=ProofOptions)
    terms: Terms = field(init=False)
    _evaluations: tuple[Evaluation, ...] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.terms = NormalTerms(any_nan=self.options.nan_payloads == "any")

    def start(self) -> State:
        """The state before the block."""
        return State(self.terms, self.wave_size)

    def execute(self, code: Code, state: State | None = None) -> State:
        """The state after the instructions.

        Raises:
            OutOfScope: an instruction cannot be part of a proof.
        """
        state = self.start() if state is None else state
        for item in code:
            step_of(meaning_of(item), self.target, self.wave_size)(state)
        return state

    def prove(self, old: Code, new: Code, live_out: int) -> Proof:
        """See :func:`prove_block`."""
        try:
            before = self.execute(old)
            after = self.start()
            after.align = self._aligned(before)
            self.execute(new, after)
        except OutOfScope as reason:
            return Proof("out_of_scope", str(reason))
        return self.compare(before, after, live_out)

    def compare(self, old: State, new: State, live_out: int) -> Proof:
        """Whether two states agree on the live registers and on all effects."""
        count = live_out.bit_count()
        if old.token is not new.token:
            return Proof("not_proved", _effect_difference(old, new), registers=count)
        goals = list(self._goals(old, new, live_out))
        solved = 0
        undecided: Proof | None = None
        for goal in goals:
            proof = self._decide(goal)
            if proof.answer == "refuted":
                return proof
            if proof.answer == "proved":
                solved += 1
            elif undecided is None:
                undecided = proof
        return undecided or Proof("proved", registers=count, solved=solved)

    def _goals(self, old: State, new: State, live_out: int) -> Iterator[_Goal]:
        """What is left to show, masks as conditions of one lane."""
        different = [
            register
            for register in indices(live_out)
            if register in old.values or register in new.values
            if old.whole(register) is not new.whole(register)
        ]
        taken: set[int] = set()
        for register in different:
            if register in taken:
                continue
            pair = self._mask_goal(old, new, register, register + 1 in different)
            if pair is not None:
                taken.update(pair.registers)
                yield pair
            else:
                yield _Goal((register,), old.whole(register), new.whole(register))

    def _mask_goal(self, old: State, new: State, low: int, both: bool) -> _Goal | None:
        if is_vector(low) or old.whole(low).width != 32 or (self.wave_size == 64 and not both):
            return None
        one, two = old.mask(low), new.mask(low)
        if one.op not in _MASK_SHAPES and two.op not in _MASK_SHAPES:
            return None
        registers = (low, low + 1) if self.wave_size == 64 else (low,)
        return _Goal(registers, self.terms.lane_bit(one), self.terms.lane_bit(two))

    def _decide(self, goal: _Goal) -> Proof:
        name = ", ".join(register_name(register) for register in goal.registers)
        if goal.old is goal.new:
            return Proof("proved")
        difference = self._difference(goal, name)
        if difference is not None:
            return difference
        if not self.options.solver_milliseconds:
            return Proof("not_proved", f"{name}: the normal forms differ, and no solver was asked")
        if not solver.available():
            return Proof("not_proved", f"{name}: the normal forms differ, and bitwuzla is not installed")
        answer = solver.equal(goal.old, goal.new, self.options.solver_milliseconds)
        if answer.equal:
            return Proof("proved")
        if answer.equal is None:
            limit = self.options.solver_milliseconds
            return Proof("not_proved", f"{name}: the solver gave no answer in {limit} ms")
        return self._from_model(goal, name, answer.model)

    def _aligned(self, before: State) -> Align:
        def align(index: int, name: str, args: tuple[Term, ...]) -> tuple[Term, ...]:
            if index >= len(before.effects):
                return args
            known, expected = before.effects[index]
            if known != name or len(expected) != len(args):
                return args
            pairs = zip(expected, args, strict=True)
            return expected if all(self._equal(one, two) for one, two in pairs) else args

        return align

    def _equal(self, one: Term, two: Term) -> bool:
        return one is two or (one.width == two.width and self._decide(_Goal((), one, two)).proved)

    def evaluations(self) -> tuple[Evaluation, ...]:
        """Random wavefronts: with one NaN for all, then with payloads as far as they are known."""
        if self._evaluations is None:
            from asmevo_gate.proof.evaluate import Evaluation, Wavefronts

            wavefronts = Wavefronts(self.options.waves, self.wave_size, self.options.seed)
            same = Evaluation(wavefronts, payloads=False)
            exact = Evaluation(wavefronts, payloads=True)
            self._evaluations = (same, exact) if self.options.nan_payloads == "exact" else (same,)
        return self._evaluations

    def _difference(self, goal: _Goal, name: str) -> Proof | None:
        for evaluation, exact in zip(self.evaluations(), (False, True), strict=False):
            place = _first_difference(evaluation, goal)
            if place is None:
                continue
            if exact:
                return Proof("not_proved", f"{name}: equal except for which NaN results from several NaN sources")
            return self._refutation(goal, name, evaluation, place)
        return None

    def _refutation(self, goal: _Goal, name: str, evaluation: Evaluation, place: tuple[int, int]) -> Proof:
        from asmevo_gate.proof.evaluate import unknown_functions

        unknown = unknown_functions([goal.old, goal.new])
        if unknown:
            some = ", ".join(sorted(_spoken(function) for function in unknown)[:3])
            return Proof("not_proved", f"{name}: differs, but depends on what is not modelled ({some})")
        return Proof("refuted", f"{name} gets another value", _counterexample(goal, name, evaluation, place))

    def _from_model(self, goal: _Goal, name: str, model: dict[object, int]) -> Proof:
        """A model of the solver, tried on a wavefront."""
        import numpy as np

        from asmevo_gate.proof.evaluate import Evaluation, Wavefronts

        wavefronts = Wavefronts(1, self.wave_size, self.options.seed)
        for variable in _variables(goal):
            if variable.data in model:
                values = wavefronts.value(variable.data, variable.width).copy()
                values[:] = np.uint64(model[variable.data])
                wavefronts.set(variable.data, values)
        evaluation = Evaluation(wavefronts, payloads=False)
        place = _first_difference(evaluation, goal)
        if place is not None:
            return self._refutation(goal, name, evaluation, place)
        return Proof("not_proved", f"{name}: the solver finds a difference that depends on what is not modelled")


_MASK_SHAPES = frozenset(("ballot", "and", "or", "xor", "ite"))


def prove_block(
    old: Code,
    new: Code,
    live_out: int,
    *,
    target: Target,
    wave_size: int,
    options: ProofOptions | None = None,
) -> Proof:
    """Whether ``new`` leaves the same values as ``old`` in the registers ``live_out`` (a bit set on the register line),
    does the same memory operations and other effects with the same values in the same order, and leaves the same
    EXEC mask wherever ``live_out`` asks for it.

    Waits and padding are ignored: whether a change of those is safe is a question for the counter and hazard
    analyses.
    """
    return Prover(target, wave_size, options or ProofOptions()).prove(old, new, live_out)


def meaning_of(item: Decoded | Instruction) -> Decoded:
    """The decoded form.

    Raises:
        OutOfScope: the instruction has no meaning on the target.
    """
    if isinstance(item, Decoded):
        return item
    decoded = getattr(item, "decoded", None)
    if isinstance(decoded, Decoded):
        return decoded
    unknown = getattr(item, "unknown", item)
    reason = unknown.reason if isinstance(unknown, NotDecoded) else "no meaning on the target"
    raise OutOfScope(reason)


def _effect_difference(old: State, new: State) -> str:
    for index, (one, two) in enumerate(zip(old.effects, new.effects, strict=False)):
        if one[0] != two[0]:
            return f"memory operation or effect {index + 1} is '{_spoken(one[0])}' and becomes '{_spoken(two[0])}'"
        if one[1] != two[1]:
            return f"memory operation or effect {index + 1} ('{_spoken(one[0])}') gets other values"
    return f"{len(old.effects)} memory operations and effects become {len(new.effects)}"


def _spoken(function: str) -> str:
    return function.partition(" ")[0] if " " in function else function


def _first_difference(evaluation: Evaluation, goal: _Goal) -> tuple[int, int] | None:
    import numpy as np

    different = np.argwhere(evaluation.value(goal.old) != evaluation.value(goal.new))
    if not len(different):
        return None
    wave, lane = different[0]
    return int(wave), int(lane)


def _variables(goal: _Goal) -> list[Term]:
    return [term for term in post_order([goal.old, goal.new]) if term.op == "var"]


def _counterexample(goal: _Goal, name: str, evaluation: Evaluation, place: tuple[int, int]) -> Counterexample:
    wave, lane = place
    across = {term for node in post_order([goal.old, goal.new]) if binds(node) for term in post_order(node.args)}
    inputs: dict[str, int | tuple[int, ...]] = {}
    for variable in sorted(_variables(goal), key=lambda term: int(term.data)):
        if variable.data < 0:
            continue
        values = evaluation.value(variable)[wave]
        vector = bool(VECTOR >> variable.data & 1)
        if vector and variable in across:
            inputs[register_name(variable.data)] = tuple(int(value) for value in values)
        else:
            inputs[register_name(variable.data)] = int(values[lane if vector else 0])
    old, new = (evaluation.value(term)[wave] for term in (goal.old, goal.new))
    per_lane = goal.old.width == 1 or max(len(old), len(new)) > 1
    return Counterexample(
        name,
        lane if per_lane else None,
        int(old[lane if len(old) > 1 else 0]),
        int(new[lane if len(new) > 1 else 0]),
        inputs,
    )
