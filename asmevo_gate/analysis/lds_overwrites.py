"""LDS that is written while an operation that reads it without a register, and without order to DS instructions, is
still on its way: asynchronous and tensor stores of gfx1250.

Two accesses surely meet when the same register, not written in between, holds their address; or when the store can
only read what one address was filled through, as nothing else has filled LDS yet, and that address is filled again.
Of any other two accesses nothing is said: they may be the two buffers of a pipeline. Neither is anything said of two
operations of one unit (``same_unit`` of the data): whether those keep their order is not documented.

The data flow holds finite sets of pairs that grow with the union over the paths, and each instruction adds to or
removes from them whatever else they hold: it ends, with the join over all paths.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import msgspec

from asmevo_gate.analysis.pending_memory import PendingMemory
from asmevo_gate.analysis.pending_state import STUCK, Race
from asmevo_gate.analysis.pending_walk import Walk
from asmevo_gate.isa.data_files import read_data
from asmevo_gate.isa.instruction import Role
from asmevo_gate.program.model import Instruction


class _Access(msgspec.Struct, frozen=True):
    operand: int
    dword: int | None = None
    counter: str = ""


class _Data(msgspec.Struct, frozen=True):
    reads: dict[str, _Access]
    fills: dict[str, _Access]
    same_unit: list[tuple[str, str]]


@cache
def _data() -> _Data:
    return msgspec.json.decode(read_data("lds_addresses.json"), type=_Data)


class _Address(NamedTuple):
    """The register that holds an LDS address, and the immediate offset to it."""

    register: int
    offset: str


_Pairs = frozenset[tuple[int, int]]


class _Flow(NamedTuple):
    """``readers`` are pairs (store in flight, instruction whose address it reads); ``filled`` are the instructions
    whose address is the only one that LDS was filled through; ``empty``: LDS may not have been filled yet."""

    readers: _Pairs
    filled: frozenset[int]
    empty: bool

    def joined(self, other: _Flow) -> _Flow:
        return _Flow(self.readers | other.readers, self.filled | other.filled, self.empty or other.empty)


_NOTHING = _Flow(frozenset(), frozenset(), False)


def lds_overwrites(memory: PendingMemory) -> Iterator[Race]:
    """Writes to LDS that a store in flight may still read, in program order."""
    if not any(effect.kind in _data().reads for effect in memory.effects):
        return
    finder = _Finder(memory)
    found: dict[tuple[int, int], Race] = {}
    for race in finder.races():
        key = (race.consumer, race.producer)
        if key not in found or race.later < found[key].later:
            found[key] = race
    yield from (found[key] for key in sorted(found))


class _Finder:
    def __init__(self, memory: PendingMemory) -> None:
        self._memory = memory
        self._addresses: dict[int, _Address] = {}
        for instruction in memory.function.instructions:
            address = _address(instruction, memory.effects[instruction.index].kind)
            if address is not None:
                self._addresses[instruction.index] = address

    def races(self) -> Iterator[Race]:
        """What the fixed point of each block reports."""
        blocks = self._memory.function.blocks
        entering: dict[int, _Flow] = {0: _Flow(frozenset(), frozenset(), self._memory.function.is_kernel)}
        races: dict[int, list[Race]] = {}
        pending = [0]
        while pending:
            number = pending.pop()
            races[number] = []
            leaving = self._through(number, entering[number], races[number])
            for successor in blocks[number].successors:
                known = entering.get(successor, _NOTHING)
                joined = known.joined(leaving)
                if joined != known or successor not in entering:
                    entering[successor] = joined
                    pending.append(successor)
        for number in sorted(races):
            yield from races[number]

    def _through(self, number: int, flow: _Flow, races: list[Race]) -> _Flow:
        memory = self._memory
        block = memory.function.blocks[number]
        start = memory.start_of(block)
        if start is None:
            return flow
        walk = Walk(memory.model, memory.effects, start)
        for index in range(block.first, block.end):
            effect = memory.effects[index]
            walk.step(index, effect)
            if effect.unknown:
                flow = _NOTHING
                continue
            if effect.waits and flow.readers:
                live = walk.in_flight()
                flow = flow._replace(readers=frozenset(pair for pair in flow.readers if pair[0] in live))
            if effect.kind in _data().fills or effect.fills_lds:
                flow = self._fill(index, flow, races, walk)
            elif effect.kind in _data().reads:
                addresses = {index} if index in self._addresses else set()
                readers = ((index, address) for address in (*addresses, *flow.filled))
                flow = flow._replace(readers=flow.readers | frozenset(readers))
            if effect.writes:
                flow = self._without(flow, effect.writes)
        return _NOTHING if block.entries else flow  # what a subroutine does to LDS is not looked at

    def _fill(self, index: int, flow: _Flow, races: list[Race], walk: Walk) -> _Flow:
        """LDS is written."""
        memory, address, kind = self._memory, self._addresses.get(index), self._memory.effects[index].kind
        for store, like in flow.readers:
            reader = memory.effects[store].kind
            if address != self._addresses[like] or (reader, kind) in _data().same_unit:
                continue
            track = memory.model.track(_data().reads[reader].counter)
            later = None if track is None else walk.state().on(track).get(store)
            if track is not None and later is not None:
                races.append(Race("war", track, store, index, 0 if later == STUCK else later, 0))
        if address is None:
            return flow._replace(filled=frozenset(), empty=False)
        same = frozenset(one for one in flow.filled if self._addresses[one] == address)
        return flow._replace(filled=same | {index} if flow.empty or same else same, empty=False)

    def _without(self, flow: _Flow, written: int) -> _Flow:
        """Forget the addresses whose register gets another value."""
        gone = {one for one, address in self._addresses.items() if written >> address.register & 1}
        if not gone:
            return flow
        readers = frozenset(pair for pair in flow.readers if pair[1] not in gone)
        return flow._replace(readers=readers, filled=flow.filled - gone)


def _address(instruction: Instruction, kind: str) -> _Address | None:
    """The LDS address of an access, where one register and a plain offset make it."""
    access = _data().reads.get(kind) or _data().fills.get(kind)
    decoded = instruction.decoded
    if access is None or decoded is None:
        return None
    sources = [operand for operand in decoded.operands if not operand.role & Role.WRITE]
    if len(sources) <= access.operand:
        return None
    operand = sources[access.operand]
    if operand.indexed or not operand.length or {"offset0", "offset1"} & decoded.modifiers.keys():
        return None
    if access.dword is None:
        return _Address(operand.start, decoded.modifiers.get("offset", "0")) if operand.length == 1 else None
    return _Address(operand.start + access.dword, "0") if operand.length > access.dword else None
