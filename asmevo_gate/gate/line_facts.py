"""What the analyses know about the instructions of one line, in words (``explain --at``)."""

from __future__ import annotations

from collections.abc import Iterator

from asmevo_gate.analysis.pending_memory import Pending, PendingMemory
from asmevo_gate.constraints.explanation import explain
from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.isa.registers import VGPRS, set_name
from asmevo_gate.program.model import Instruction, Program
from asmevo_gate.rules.facts import KernelFacts


def line_facts(program: Program, line: int) -> Iterator[str]:
    """Every instruction that stands in the line, or that an expansion used in the line makes."""
    for function in program.functions:
        facts = KernelFacts(program, function)
        for instruction in function.instructions:
            places = (instruction.statement.place, instruction.statement.outer_place)
            if any(place.line == line and place.file == program.path for place in places):
                yield from _instruction(facts, instruction)


def _instruction(facts: KernelFacts, instruction: Instruction) -> Iterator[str]:
    yield f"{instruction.statement.text}    ({facts.kernel.name}, {facts.kernel.target.name})"
    decoded = instruction.decoded
    if decoded is None:
        reason = instruction.unknown.reason if instruction.unknown else "it has no meaning on this GPU"
        yield f"  not understood: {reason}"
        return
    yield f"  reads {set_name(decoded.reads)}; writes {set_name(decoded.writes)}" + _kept(decoded)
    live = facts.liveness.before[instruction.index] & VGPRS
    yield f"  live VGPRs before it: {live.bit_count()} ({set_name(live)})"
    if decoded.of(Op.WAIT):
        yield from _wait(facts.pending, instruction.index)
    else:
        pending = facts.pending.before(instruction.index)
        if pending:
            yield f"  in flight before it: {len(pending)} memory operations"
            yield from (f"    {_pending(one)}" for one in pending)
    for found in facts.hazards:
        if found.consumer.statement is instruction.statement:
            lines = explain(found, facts.constraint_graph, facts.kernel).lines()
            yield from (f"  {text}" for text in lines)
    for race in facts.wait_violations:
        if race.consumer.index == instruction.index:
            yield f"  {race.counter} must be at most {race.required} here, for '{race.producers[0].statement.text}'"


def _kept(decoded: Decoded) -> str:
    return f" (keeps a part of {set_name(decoded.keeps)})" if decoded.keeps else ""


def _wait(pending: PendingMemory, index: int) -> Iterator[str]:
    explanation = pending.explain_wait(index)
    if explanation.unknown:
        yield f"  not known what it waits for: {explanation.unknown}"
        return
    limits = ", ".join(f"{counter} <= {count}" for counter, count in explanation.limits.items()) or "nothing"
    yield f"  waits until {limits}"
    yield f"  completed by it: {len(explanation.completed) or 'nothing'}"
    yield from (f"    {_pending(one)}" for one in explanation.completed)
    yield f"  possibly still in flight: {len(explanation.still_pending) or 'nothing'}"
    yield from (f"    {_pending(one)}" for one in explanation.still_pending)


def _pending(one: Pending) -> str:
    place = one.producer.statement.place
    return f"line {place.line}: {one.producer.statement.text}"
