"""Do two sequences of instructions leave the same values in every register that is needed afterwards?

In this order: the same normal form; random and edge-case wavefronts, which settle most differences; bitwuzla for
what is left. Only "proved" means equal, and it means equal bit for bit for all inputs and all lanes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from asmevo_gate.isa.instruction import Decoded, NotDecoded
from asmevo_gate.isa.registers import VECTOR, indices, register_name
from asmevo_gate.isa.targets import Target
from asmevo_gate.program.model import Instruction
from asmevo_gate.proof import loads, solver
from asmevo_gate.proof.normal_form import NormalTerms, transfer
from asmevo_gate.proof.state import Align, State, is_vector
from asmevo_gate.proof.step import OutOfScope, step_of
from asmevo_gate.proof.terms import Term, Terms, binds, post_order, wave_wide

if TYPE_CHECKING:
    from asmevo_gate.proof.evaluate import Evaluation

AnswerName = Literal["proved", "refuted", "not_proved", "out_of_scope"]
Code = Sequence[Decoded | Instruction]


@dataclass(frozen=True)
class ProofOptions:
    """``nan_payloads`` ``any``: which of several NaN sources a float result repeats does not matter.
    ``solver_milliseconds``: time for each register that the normal form leaves open; 0 asks no solver.
    ``lane_active``: EXEC is known not to be zero at the start of the block. ``waves``, ``seed``: random wavefronts."""

    nan_payloads: Literal["exact", "any"] = "exact"
    solver_milliseconds: int = 2000
    lane_active: bool = False
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
    title: str = ""

    @property
    def name(self) -> str:
        """What differs, for people."""
        return self.title or ", ".join(register_name(register) for register in self.registers)


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
        return State(self.terms, self.wave_size, self.options.lane_active)

    def execute(self, code: Code, state: State | None = None) -> State:
        """The state after the instructions.

        Raises:
            OutOfScope: an instruction cannot be part of a proof.
        """
        state = self.start() if state is None else state
        for item in code:
            step_of(meaning_of(item), self.target, self.wave_size)(state)
        return state

    def follow(self, old: State, code: Code) -> State:
        """The state after other instructions, whose memory operations are compared with those of ``old`` one by one.

        Raises:
            OutOfScope: an instruction cannot be part of a proof.
        """
        state = self.start()
        state.align = self._aligned(old)
        return self.execute(code, state)

    def prove(self, old: Code, new: Code, live_out: int) -> Proof:
        """See :func:`prove_block`."""
        try:
            before = self.execute(old)
            after = self.follow(before, new)
        except OutOfScope as reason:
            return Proof("out_of_scope", str(reason))
        return self.compare(before, after, live_out)

    def compare(self, old: State, new: State, live_out: int) -> Proof:
        """Whether two states agree on the live registers and on all effects."""
        count = live_out.bit_count()
        if old.token is not new.token:
            return self._effect_difference(old, new)
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

    def accepts(self, old: State, new: State, live_out: int) -> bool:
        """The answer of :meth:`compare` as yes or no; much faster for a no."""
        if old.token is not new.token:
            return False
        goals = list(self._goals(old, new, live_out))
        if not goals:
            return True
        for evaluation in self.evaluations():
            for goal in goals:
                left, right = evaluation.value(goal.old), evaluation.value(goal.new)
                if (left != right).any():
                    return False
        return all(self._decide(goal).proved for goal in goals)

    def _effect_difference(self, old: State, new: State) -> Proof:
        for index, (one, two) in enumerate(zip(old.effects, new.effects, strict=False)):
            place = f"memory operation or effect {index + 1}"
            if one[0] != two[0]:
                names = [" ".join(effect[0].split()) for effect in (one, two)]
                return Proof("not_proved", f"{place}: '{names[0]}' becomes '{names[1]}'")
            for number, (left, right) in enumerate(zip(one[1], two[1], strict=False)):
                if left is not right:
                    title = f"input {number + 1} of '{_spoken(one[0])}' ({place})"
                    proof = self._decide(self._argument_goal(one[0], left, right, one[1][-1], title))
                    if not proof.proved:
                        return proof
        return Proof("not_proved", f"{len(old.effects)} memory operations and effects become {len(new.effects)}")

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
        name = goal.name
        if goal.old is goal.new:
            return Proof("proved")
        difference = self._difference(goal, name)
        if difference is not None:
            return difference
        if not self.options.solver_milliseconds:
            return Proof("not_proved", f"{name}: the normal forms differ, and no solver was asked")
        if not solver.available():
            return Proof("not_proved", f"{name}: the normal forms differ, and bitwuzla is not installed")
        if solver.size([goal.old, goal.new]) > _SOLVER_NODES:
            return Proof("not_proved", f"{name}: the normal forms differ, and are too large for the solver")
        answer = solver.equal(goal.old, goal.new, self.options.solver_milliseconds)
        if answer.equal:
            return Proof("proved")
        if answer.equal is None:
            limit = self.options.solver_milliseconds
            return Proof("not_proved", f"{name}: the solver gave no answer in {limit} ms")
        if self.options.nan_payloads == "exact" and self._equal_but_for_nans(goal):
            return Proof("not_proved", f"{name}: {_NAN_REASON}")
        return self._from_model(goal, name, answer.model)

    def _equal_but_for_nans(self, goal: _Goal) -> bool:
        """True when float sums and products that commute make the terms equal."""
        terms = NormalTerms(any_nan=True)
        known: dict[Term, Term] = {}
        return transfer(goal.old, terms, known) is transfer(goal.new, terms, known)

    def _aligned(self, before: State) -> Align:
        def align(index: int, name: str, args: tuple[Term, ...]) -> tuple[Term, ...]:
            if index >= len(before.effects):
                return args
            known, expected = before.effects[index]
            if known != name or len(expected) != len(args):
                return args
            pairs = zip(expected, args, strict=True)
            goals = (self._argument_goal(name, one, two, expected[-1], "") for one, two in pairs)
            return expected if all(goal.old is goal.new or self._decide(goal).proved for goal in goals) else args

        return align

    def _argument_goal(self, name: str, old: Term, new: Term, exec_mask: Term, title: str) -> _Goal:
        """Equality of an argument of an effect; of a vector memory operation only in the lanes that take part."""
        per_lane = _VECTOR_MEMORY.match(name) and not (wave_wide(old) and wave_wide(new))
        if old is not new and old.width == new.width and per_lane:
            active, nothing = self.terms.lane_bit(exec_mask), self.terms.const(0, old.width)
            old, new = self.terms.ite(active, old, nothing), self.terms.ite(active, new, nothing)
        return _Goal((), old, new, title)

    def evaluations(self) -> tuple[Evaluation, ...]:
        """Random wavefronts: with one NaN for all, then with payloads as far as they are known."""
        if self._evaluations is None:
            from asmevo_gate.proof.evaluate import Evaluation, Wavefronts

            wavefronts = Wavefronts(
                self.options.waves, self.wave_size, self.options.seed, lane_active=self.options.lane_active
            )
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
                return Proof("not_proved", f"{name}: {_NAN_REASON}")
            return self._refutation(goal, name, evaluation, place)
        return None

    def _refutation(self, goal: _Goal, name: str, evaluation: Evaluation, place: tuple[int, int]) -> Proof:
        from asmevo_gate.proof.evaluate import unknown_functions

        unknown = unknown_functions([goal.old, goal.new])
        if unknown and not loads.are_free(goal.old, goal.new, evaluation, place):
            some = ", ".join(sorted({_spoken(function) for function in unknown})[:3])
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
        many = Wavefronts(_MANY_WAVES, self.wave_size, self.options.seed + 1, lane_active=self.options.lane_active)
        for tried in (wavefronts, many):
            evaluation = Evaluation(tried, payloads=False)
            place = _first_difference(evaluation, goal)
            if place is not None:
                return self._refutation(goal, name, evaluation, place)
        return Proof("not_proved", f"{name}: the solver finds a difference that depends on what is not modelled")


_MANY_WAVES = 256
"""Wavefronts tried when the solver finds a difference that its model alone does not show."""
_VECTOR_MEMORY = re.compile(r"(global|flat|buffer|tbuffer|scratch|ds|image|exp)(_| )")
_SOLVER_NODES = 20_000
"""Distinct terms of one question above which the solver is not asked."""
_NAN_REASON = "equal except for which NaN a float operation gives when several of its sources are NaN"
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


def _spoken(function: str) -> str:
    """A function's name for people: the mnemonic of an instruction, what an effect left behind."""
    words = function.split()
    if words[0] == "after":
        return f"what {words[1]} does"
    return words[0] if len(words) > 1 else function


def _first_difference(evaluation: Evaluation, goal: _Goal) -> tuple[int, int] | None:
    import numpy as np

    different = np.argwhere(evaluation.value(goal.old) != evaluation.value(goal.new))
    if not len(different):
        return None
    wave, lane = different[0]
    return int(wave), int(lane)


def _variables(goal: _Goal) -> list[Term]:
    return [term for term in loads.above_loads([goal.old, goal.new]) if term.op == "var"]


def _counterexample(goal: _Goal, name: str, evaluation: Evaluation, place: tuple[int, int]) -> Counterexample:
    wave, lane = place
    across = {term for node in loads.above_loads([goal.old, goal.new]) if binds(node) for term in post_order(node.args)}
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
    for number, load in enumerate(loads.loads_below([goal.old, goal.new])):
        values = evaluation.value(load)[wave]
        inputs[f"loaded by {_spoken(load.data.name)} ({number + 1})"] = int(values[lane if len(values) > 1 else 0])
    old, new = (evaluation.value(term)[wave] for term in (goal.old, goal.new))
    per_lane = goal.old.width == 1 or max(len(old), len(new)) > 1
    return Counterexample(
        name,
        lane if per_lane else None,
        int(old[lane if len(old) > 1 else 0]),
        int(new[lane if len(new) > 1 else 0]),
        inputs,
    )
