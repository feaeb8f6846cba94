"""Mutants of the waits of a function: a wait removed, or one of its counts raised by one; and the verdict on each."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from asmevo_gate.analysis.pending_memory import PendingMemory, pending_memory
from asmevo_gate.isa.decoder import isa_for
from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.isa.waits import counter_limits, decode_wait, wait_text
from asmevo_gate.program.model import Function
from tests.oracles.wait_paths import Found, WaitPaths

STORES_ONLY = (
    "orders stores or cache operations for other waves; no register and no LDS data of the kernel waits for it"
)
SAME_END = "the weaker wait still ends the same operations (order of return, capacity of the counter, nothing pending)"
NOT_NEEDED = "what it ended is not used before another wait ends it, or not used at all"
EXCLUDED = "only on paths whose branches contradict each other"
MISSED = "missed"


class Mutant(NamedTuple):
    """One changed wait: its place, what was done to which counter, and the function with it."""

    place: int
    change: str
    function: Function


class Verdict(NamedTuple):
    """``found``: the analysis reports something that it does not report for the original. Otherwise ``reason`` says
    why the mutant is still correct, or :data:`MISSED`."""

    found: bool
    reason: str


def mutants(function: Function) -> Iterator[Mutant]:
    """Every mutant of every wait."""
    limits = counter_limits(function.target)
    for index, instruction in enumerate(function.instructions):
        decoded = instruction.decoded
        waits = decode_wait(decoded, function.target) if decoded is not None else None
        if not waits or decoded is None or not decoded.base.startswith("s_wait"):
            continue
        yield Mutant(index, "removed", _with(function, {index: ["s_nop 0"]}))
        for counter, count in waits.items():
            texts = [
                wait_text(name, limit + (name == counter), function.target)
                for name, limit in waits.items()
                if limit + (name == counter) < limits[name]
            ]
            yield Mutant(index, f"{counter} {count} raised", _with(function, {index: _joined(texts)}))


def judge(original: PendingMemory, mutant: Mutant) -> Verdict:
    """What the analysis and, where it reports nothing, the independent judge say of a mutant."""
    memory = pending_memory(mutant.function)
    known = {race[:4] for race in original.races}
    if any(race[:4] not in known for race in memory.races):
        return Verdict(True, "")
    known = {race[:4] for race in original.races_of_graph}
    if any(race[:4] not in known for race in memory.races_of_graph):
        return Verdict(False, EXCLUDED)
    races = WaitPaths(mutant.function).races()
    old = {
        Found(race.consumer, race.producer, original.model.counters[race.track], race.access)
        for race in original.races_of_graph
    }
    if races - old - WaitPaths(original.function).races():
        return Verdict(False, MISSED)
    before = {(one.producer.index, one.counter): one for one in original.explain_wait(mutant.place).completed}
    after = memory.explain_wait(mutant.place).completed
    lost = [one for key, one in before.items() if key not in {(a.producer.index, a.counter) for a in after}]
    if not lost:
        return Verdict(False, SAME_END)
    if not any(one.registers or one.locked for one in lost):
        return Verdict(False, STORES_ONLY)
    return Verdict(False, NOT_NEEDED)


def tally(functions: Iterator[Function], wanted: int, seed: int, per_function: int) -> tuple[Counter[str], list[str]]:
    """Verdicts of ``wanted`` mutants drawn from the functions, and the missed ones in words."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    missed = []
    for function in functions:
        original = pending_memory(function)
        # A device function's wait for what its callers left in flight says nothing about the function itself.
        drawn = [one for one in mutants(function) if function.is_kernel or original.before(one.place)]
        rng.shuffle(drawn)
        for mutant in drawn[:per_function]:
            verdict = judge(original, mutant)
            counts["mutants"] += 1
            counts["found" if verdict.found else verdict.reason] += 1
            if verdict.reason == MISSED:
                text = function.instructions[mutant.place].statement.text
                missed.append(f"{function.target.name} {function.name} {mutant.place}: {text}: {mutant.change}")
        if counts["mutants"] >= wanted:
            break
    return counts, missed


def _joined(texts: list[str]) -> list[str]:
    """Fields of one ``s_waitcnt`` in one instruction; the others stay instructions of their own."""
    packed = [text.removeprefix("s_waitcnt ") for text in texts if text.startswith("s_waitcnt ")]
    rest = [text for text in texts if not text.startswith("s_waitcnt ")]
    return ([f"s_waitcnt {' '.join(packed)}"] if packed else []) + rest or ["s_nop 0"]


def _with(function: Function, texts: dict[int, list[str]]) -> Function:
    """The function with other instruction texts; several in one place are merged by their waits."""
    isa = isa_for(function.target, function.wave_size)
    instructions = list(function.instructions)
    for index, parts in texts.items():
        decoded = [isa.decode(part) for part in parts]
        first = decoded[0]
        assert isinstance(first, Decoded)
        if len(parts) > 1:
            first = _merged(function, parts)
        old = instructions[index]
        instructions[index] = msgspec.structs.replace(
            old, decoded=first, statement=msgspec.structs.replace(old.statement, text=first.text, name=first.mnemonic)
        )
    return msgspec.structs.replace(function, instructions=tuple(instructions))


def _merged(function: Function, parts: list[str]) -> Decoded:
    """One instruction for two gfx12 waits (load or store counter and LDS counter)."""
    counts = {part.split()[0].removeprefix("s_wait_"): int(part.split()[1], 0) for part in parts}
    first = "loadcnt" if "loadcnt" in counts else "storecnt"
    text = f"s_wait_{first}_dscnt {counts[first] << 8 | counts['dscnt']:#x}"
    decoded = isa_for(function.target, function.wave_size).decode(text)
    assert isinstance(decoded, Decoded)
    return decoded
