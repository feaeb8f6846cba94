"""Two versions of a file: which blocks differ, and is each change proved?

Kernels are matched by name and blocks by their place in equal control flow. A block is equal when every register
that is live behind it in either version gets the same value; by induction over the paths the kernels are then equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from asmevo_gate.analysis.exec_mask import some_lane_active
from asmevo_gate.analysis.liveness import Liveness, live_registers
from asmevo_gate.analysis.regions import renaming_reason
from asmevo_gate.analysis.side_effects import CONTROL, renames_registers
from asmevo_gate.isa.instruction import Op
from asmevo_gate.isa.registers import EXEC, SCC, VCC, bits, set_name
from asmevo_gate.program.model import Block, Function, Instruction, Program
from asmevo_gate.proof.effects import sees_lanes_beyond_liveness
from asmevo_gate.proof.equivalence import Counterexample, Proof, ProofOptions, Prover
from asmevo_gate.proof.state import State
from asmevo_gate.proof.step import OutOfScope
from asmevo_gate.proof.terms import Term, post_order
from asmevo_gate.proof.timing import TimingCheck, new_violations
from asmevo_gate.source.statement import Kind, Statement

WEAKEST_FIRST = ("refuted", "out_of_scope", "not_proved", "proved")
_WITHOUT_MEANING = (".loc", ".file", ".ident", ".cfi_", ".p2alignl", ".size")


@dataclass(frozen=True)
class BlockAnswer:
    """The answer for one block that differs; ``label`` and ``line`` are those of the new version."""

    label: str
    line: int
    answer: str
    reason: str
    counterexample: Counterexample | None = None


@dataclass(frozen=True)
class Comparison:
    """The answers for all blocks that differ; ``answer`` is the weakest of them, ``proved`` when nothing differs."""

    answer: str
    blocks: tuple[BlockAnswer, ...]


def compare_programs(
    old: Program, new: Program, checks: Sequence[TimingCheck], options: ProofOptions | None = None
) -> Comparison:
    """Compare two versions of a file block by block.

    ``checks`` are the analyses of timing that may not find anything new (see :mod:`asmevo_gate.proof.timing`).
    """
    answers = list(_compare(old, new, checks, options or ProofOptions()))
    present = {answer.answer for answer in answers}
    weakest = next((name for name in WEAKEST_FIRST if name in present), "proved")
    return Comparison(weakest, tuple(answers))


def _compare(old: Program, new: Program, checks: Sequence[TimingCheck], options: ProofOptions) -> Iterator[BlockAnswer]:
    yield from _other_statements(old, new)
    before = {function.name: function for function in old.functions}
    after = {function.name: function for function in new.functions}
    for name, function in before.items():
        if name not in after:
            yield BlockAnswer(name, _line_of(function), "out_of_scope", f"'{name}' is gone")
    for name, function in after.items():
        if name not in before:
            yield BlockAnswer(name, _line_of(function), "out_of_scope", f"'{name}' is new: there is nothing to compare")
        else:
            yield from compare_functions(before[name], function, checks, options)


def _other_statements(old: Program, new: Program) -> Iterator[BlockAnswer]:
    """Directives, symbols and data: the first one that differs."""
    pairs = zip_longest(_statements(old), _statements(new))
    for one, two in pairs:
        if one is None or two is None or _content(one) != _content(two):
            shown = two or one
            assert shown is not None
            texts = [" ".join(part.text.split())[:80] if part is not None else "nothing" for part in (one, two)]
            reason = f"directive, symbol or data changed: '{texts[0]}' becomes '{texts[1]}'"
            yield BlockAnswer(shown.name, shown.place.line, "out_of_scope", reason)
            return


def _statements(program: Program) -> list[Statement]:
    return [
        statement
        for statement in program.source.statements
        if statement.kind in (Kind.DIRECTIVE, Kind.ASSIGNMENT, Kind.DATA)
        and not statement.name.startswith(_WITHOUT_MEANING)
    ]


def _content(statement: Statement) -> tuple[str, str, str]:
    return statement.name, " ".join(statement.rest.split()), statement.section


def _line_of(function: Function) -> int:
    return function.entry.place.line if function.entry is not None else 1


def compare_functions(
    old: Function, new: Function, checks: Sequence[TimingCheck], options: ProofOptions
) -> Iterator[BlockAnswer]:
    """The answers for the blocks of one function that differ."""
    if _texts(old.instructions) == _texts(new.instructions) and old.labels == new.labels:
        return
    reason = renaming_reason(old) or renaming_reason(new) or _structure_difference(old, new)
    if reason:
        yield BlockAnswer(new.name, _line_of(new), "out_of_scope", reason)
        return
    yield from _answers(new, _proofs(old, new, options), _timing(old, new, checks))


def _texts(instructions: Iterable[Instruction]) -> list[str]:
    return [" ".join(instruction.statement.text.split()) for instruction in instructions]


def _structure_difference(old: Function, new: Function) -> str:
    if old.wave_size != new.wave_size:
        return f"wave size {old.wave_size} becomes {new.wave_size}"
    if len(old.blocks) != len(new.blocks):
        return f"control flow changed: {len(old.blocks)} basic blocks become {len(new.blocks)}"
    for one, two in zip(old.blocks, new.blocks, strict=True):
        if one.successors != two.successors or one.leaves != two.leaves or one.falls_off != two.falls_off:
            return f"control flow changed behind block {two.label or two.number}"
        if _ending(old, one) != _ending(new, two):
            return f"the branch at the end of block {two.label or two.number} changed"
    return ""


def _ending(function: Function, block: Block) -> str:
    """Mnemonic of the instruction that ends the block, with the operands of indirect ones."""
    decoded = function.instructions[block.end - 1].decoded
    if decoded is None or not decoded.classes & CONTROL:
        return ""
    return decoded.text if decoded.classes & Op.INDIRECT else decoded.base


@dataclass(frozen=True)
class _Sides:
    """One block in both versions."""

    old: Function
    new: Function
    block: Block
    new_block: Block


def _proofs(old: Function, new: Function, options: ProofOptions) -> list[tuple[Block, Proof]]:
    before, after = live_registers(old), live_registers(new)
    written = _written(old) | _written(new)
    always_live = written if _may_read_anything(old) or _may_read_anything(new) else 0
    active = [one and two for one, two in zip(some_lane_active(old), some_lane_active(new), strict=True)]
    proofs = []
    for one, two in zip(old.blocks, new.blocks, strict=True):
        sides = _Sides(old, new, one, two)
        codes = (old.instructions[one.first : one.end], new.instructions[two.first : two.end])
        if _texts(codes[0]) == _texts(codes[1]):
            continue
        known = replace(options, lane_active=active[two.number])
        proofs.append((two, _prove_block(sides, before, after, written, always_live, known)))
    return proofs


def _written(function: Function) -> int:
    written = 0
    for instruction in function.instructions:
        if instruction.decoded is not None:
            written |= instruction.decoded.writes
    return written


def _may_read_anything(function: Function) -> bool:
    """True when liveness is a lower bound: calls, instructions that are not understood, registers not named."""
    return any(
        decoded is None or decoded.classes & Op.CALL or renames_registers(decoded)
        for decoded in (instruction.decoded for instruction in function.instructions)
    )


def _prove_block(
    sides: _Sides, before: Liveness, after: Liveness, written: int, always_live: int, options: ProofOptions
) -> Proof:
    live_out = always_live | before.after[sides.block.end - 1] | after.after[sides.new_block.end - 1]
    live_in = before.before[sides.block.first] | after.before[sides.new_block.first]
    old_code, old_condition = _without_branch(sides.old, sides.block)
    new_code, new_condition = _without_branch(sides.new, sides.new_block)
    live_out |= old_condition | new_condition
    if sides.new.wave_size == 32:
        # Lane masks of 32 lanes end with their low half.
        live_out &= ~(EXEC & EXEC << 1)
    prover = Prover(sides.new.target, sides.new.wave_size, options)
    try:
        one = prover.execute(old_code)
        two = prover.follow(one, new_code)
    except OutOfScope as refused:
        return Proof("out_of_scope", str(refused))
    proof = prover.compare(one, two, live_out)
    if proof.proved:
        every_lane = _crosses_lanes(sides.old) or _crosses_lanes(sides.new)
        strange = _needs(two, live_out, every_lane) & ~live_in & written
        if strange:
            reason = f"reads {set_name(strange)}, which holds no value that both versions are known to share"
            return Proof("not_proved", reason)
    return proof


def _without_branch(function: Function, block: Block) -> tuple[tuple[Instruction, ...], int]:
    """The instructions without a direct branch at the end, and the registers that decide the branch."""
    code = function.instructions[block.first : block.end]
    last = code[-1].decoded
    if last is None or not last.classes & Op.BRANCH or last.classes & (Op.CALL | Op.INDIRECT):
        return code, 0
    condition = last.reads
    for name, registers in (("vcc", VCC), ("exec", EXEC), ("scc", SCC)):
        if name in last.base:
            condition |= registers
    return code[:-1], condition


def _crosses_lanes(function: Function) -> bool:
    return any(
        instruction.decoded is not None and sees_lanes_beyond_liveness(instruction.decoded)
        for instruction in function.instructions
    )


def _needs(state: State, live_out: int, every_lane: bool) -> int:
    """The registers whose value at the start of the block decides what is live behind it or what effects do."""
    needed = 0
    roots: list[Term] = [arg for _, args in state.effects for arg in args]
    for register, value in state.values.items():
        if not live_out >> register & 1:
            continue
        # In inactive lanes a register keeps its own old value: whether that is needed is the liveness of the register.
        while value.op == "ite":
            roots += value.args[:2]
            value = value.args[2]
        if every_lane or value.op != "var" or value.data != register:
            roots.append(value)
    for term in post_order(roots):
        if term.op == "var" and term.data >= 0:
            needed |= bits(term.data)
    return needed


def _timing(old: Function, new: Function, checks: Sequence[TimingCheck]) -> list[tuple[Block, str]]:
    found = []
    for violation in new_violations(old, new, checks):
        found.append((new.block_of(violation.consumer.index), violation.text))
    return found


def _answers(
    new: Function, proofs: list[tuple[Block, Proof]], timing: list[tuple[Block, str]]
) -> Iterator[BlockAnswer]:
    """One answer a block, in program order: a proof does not stand where the timing got worse."""
    worse: dict[int, list[str]] = {}
    for block, text in timing:
        worse.setdefault(block.number, []).append(text)
    found = {block.number: proof for block, proof in proofs}
    for number in sorted(found.keys() | worse.keys()):
        block = new.blocks[number]
        proof = found.get(number, Proof("proved"))
        if number in worse and proof.answer != "refuted":
            reasons = [proof.reason] if proof.reason else []
            more = f" (and {len(worse[number]) - 1} more)" if len(worse[number]) > 1 else ""
            reason = "; ".join([*reasons, f"violated by the new order or waits: {worse[number][0]}{more}"])
            proof = replace(proof, answer="not_proved" if proof.proved else proof.answer, reason=reason)
        line = new.instructions[block.first].statement.outer_place.line
        label = block.label or f"{new.name}#{number}"
        yield BlockAnswer(label, line, proof.answer, proof.reason, proof.counterexample)
