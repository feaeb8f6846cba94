"""Findings of the wait rules, made from the violations that the counter analysis found."""

from __future__ import annotations

from collections.abc import Iterator

from asmevo_gate.analysis.pending_violations import WaitViolation
from asmevo_gate.isa.registers import set_name
from asmevo_gate.isa.waits import wait_text
from asmevo_gate.program.model import Function
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Violation


def violations_of(facts: KernelFacts, access: str) -> Iterator[Violation]:
    """The violations of one kind of access in a kernel, as findings name them."""
    for one in facts.wait_violations:
        if one.access == access:
            statement = one.consumer.statement
            yield Violation(
                place=statement.place,
                frames=statement.frames,
                message=_message(one),
                repair=_repair(one, facts.kernel),
                insertion="" if one.barrier else wait_text(one.counter, one.required, facts.kernel.target),
                producer=one.producer,
                path=one.path,
                severity=None if one.certain else "warning",
                context=f"{one.producer.statement.text} -> {statement.text}",
                rule=one.rule,
            )


def _message(one: WaitViolation) -> str:
    producer = one.producer.statement
    made = f"'{producer.name}' of line {producer.place.line}"
    registers = set_name(one.registers)
    if one.access == "raw":
        what = f"{registers} is read, but {made} may not have written it yet"
    elif one.access == "waw":
        what = f"{registers} is written while the result of {made} may still be on its way to it"
    elif one.access == "war":
        what = f"{registers if one.registers else 'LDS'} is overwritten while {made} may still read it"
    elif one.access == "ldsdma":
        what = f"LDS is read, but everything that fills it, from {made} on, may still be on its way"
    elif one.access == "barrier":
        line = one.barrier.statement.place.line if one.barrier else 0
        what = f"LDS is read behind the barrier of line {line}, but {made} may not have reached LDS before it"
    elif one.access == "return":
        what = f"the function returns while the result of {made} for {registers} may still be on its way"
    elif producer.name.startswith("s_sendmsg"):
        what = f"{registers} is overwritten while the message of line {producer.place.line} may not have left"
    else:
        what = f"the registers are given back while {made} may still be storing"
    more = len(one.producers) - 1
    others = f" (and {more} more in flight)" if more else ""
    return f"{what}{others}: {one.counter} must be at most {one.required}, {_found(one)}"


def _found(one: WaitViolation) -> str:
    if one.found is None or one.found_at is None:
        return "and nothing on the way waits for it"
    wait = f"the last wait on the way ({one.counter} {one.found}, line {one.found_at.statement.place.line})"
    if one.found <= one.required:
        return f"{wait} came when fewer operations had been issued behind it"
    return f"{wait} is not enough"


def _repair(one: WaitViolation, function: Function) -> str:
    wait = wait_text(one.counter, one.required, function.target)
    place = f"before the barrier of line {one.barrier.statement.place.line}" if one.barrier else "before this line"
    if one.found_at is not None and one.found is not None and one.found > one.required:
        line = one.found_at.statement.place.line
        return f"insert '{wait}' {place}, or lower the count {one.found} in line {line} to {one.required}"
    return f"insert '{wait}' {place}"
