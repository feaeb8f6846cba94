"""Calls whose target is known, and a function with the called code put in: once for each call, so that every path
through the result is a path of the program.

Followed are ``s_call_b64`` to a symbol of the file and ``s_swappc_b64`` through an address that is computed from
``s_getpc_b64`` right before it. A callee that calls itself, and what is beyond :data:`MOST_INSTRUCTIONS`,
:data:`MOST_COPIES` or :data:`MOST_DEPTH`, is not followed: a short file can name calls without end.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence

import msgspec

from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.program.control_flow import RETURN
from asmevo_gate.program.long_branch import LongBranches
from asmevo_gate.program.model import Block, Function, Instruction

MOST_INSTRUCTIONS = 20_000
"""Instructions that are put into one function at most."""
MOST_COPIES = 256
"""Copies of callees that are put into one function at most."""
MOST_DEPTH = 16
"""Calls inside of each other that are followed at most."""
_CALLER = 0
_OUTSIDE = 1 << 40
"""Places from here on are other functions of the file, by number; below are instructions of the function at hand."""


class Callee(msgspec.Struct, frozen=True):
    """Where a call goes: a function of the file, entered at the start of one of its blocks."""

    function: Function
    entry: int


class LinkedFunction(msgspec.Struct, frozen=True):
    """A function with the code that it calls.

    ``function`` begins with the instructions and blocks of the caller, under their own numbers. ``copy_of`` tells for
    each block whose it is: 0 the caller's, else the number of the copy of a callee. ``followed`` are the calls, by
    index in ``function``, that lead into a copy: there they are jumps. ``unresolved`` are those that lead nowhere,
    with the reason; they are calls still.
    """

    function: Function
    copy_of: tuple[int, ...]
    followed: frozenset[int]
    unresolved: tuple[tuple[int, str], ...]


class CallTargets:
    """Where the calls of the functions of one file go. Each function is looked at once, however often it is called."""

    def __init__(self, functions: Sequence[Function]) -> None:
        self._functions = functions
        self._places = {function.name: _OUTSIDE + number for number, function in enumerate(functions)}
        self._callees: dict[str, dict[int, Callee | str]] = {}
        self._blocks: dict[tuple[str, int], tuple[int, ...]] = {}

    def callees(self, function: Function) -> dict[int, Callee | str]:
        """For each call of a function, by index: where it goes, or why that is not known."""
        if function.name not in self._callees:
            self._callees[function.name] = self._found(function)
        return self._callees[function.name]

    def blocks(self, callee: Callee) -> tuple[int, ...]:
        """The numbers of the blocks that a callee runs, its entry first."""
        key = (callee.function.name, callee.entry)
        if key not in self._blocks:
            self._blocks[key] = _reached(callee.function, callee.entry)
        return self._blocks[key]

    def _found(self, function: Function) -> dict[int, Callee | str]:
        calls = _calls(function)
        if not calls:
            return {}
        places = ChainMap(function.labels, self._places)
        long_branches = LongBranches(function.instructions, places)
        found: dict[int, Callee | str] = {}
        for call in calls:
            assert call.decoded is not None
            name = call.decoded.operands[-1].text.strip()
            place = long_branches.target(call.index) if call.decoded.of(Op.INDIRECT) else places.get(name)
            if place is None:
                found[call.index] = f"the target of {call.decoded.base} is not known in this file"
            elif place >= _OUTSIDE:
                found[call.index] = Callee(self._functions[place - _OUTSIDE], 0)
            else:
                block = next((one.number for one in function.blocks if one.first == place), None)
                found[call.index] = "it leads behind the end" if block is None else Callee(function, block)
        return found


def linked_function(function: Function, targets: CallTargets) -> LinkedFunction:
    """The function with a copy of every callee that is known, and of their callees."""
    if not _calls(function):
        return LinkedFunction(function, (_CALLER,) * len(function.blocks), frozenset(), ())
    return _Linker(targets).link(function)


def _calls(function: Function) -> list[Instruction]:
    """The calls of a function; each ends a block."""
    last = (function.instructions[block.end - 1] for block in function.blocks)
    return [one for one in last if one.decoded is not None and one.decoded.of(Op.CALL)]


class _Linker:
    """Puts copies of callees behind a function."""

    def __init__(self, targets: CallTargets) -> None:
        self._targets = targets
        self._instructions: list[Instruction] = []
        self._blocks: list[Block] = []
        self._copy_of: list[int] = []
        self._followed: set[int] = set()
        self._unresolved: list[tuple[int, str]] = []
        self._copies = _CALLER
        self._jumps: dict[int, Decoded] = {}

    def link(self, function: Function) -> LinkedFunction:
        """Put all callees behind the function."""
        self._add(function, tuple(block.number for block in function.blocks), ())
        instructions = tuple(self._instructions)
        linked = msgspec.structs.replace(function, instructions=instructions, blocks=_with_predecessors(self._blocks))
        return LinkedFunction(linked, tuple(self._copy_of), frozenset(self._followed), tuple(sorted(self._unresolved)))

    def _add(self, function: Function, numbers: tuple[int, ...], stack: tuple[tuple[str, int], ...]) -> int:
        """Append a copy of some blocks of a function; the number of the first one."""
        copy, first_block = self._copies, len(self._blocks)
        number_of = {number: first_block + place for place, number in enumerate(numbers)}
        calls: list[tuple[int, int, int]] = []
        for number in numbers:
            block = function.blocks[number]
            start = len(self._instructions)
            for instruction in function.instructions[block.first : block.end]:
                index = len(self._instructions)
                self._instructions.append(msgspec.structs.replace(instruction, index=index))
                if instruction.decoded is not None and instruction.decoded.of(Op.CALL):
                    calls.append((instruction.index, index, number_of[number]))
            successors = tuple(number_of[one] for one in block.successors if one in number_of)
            self._blocks.append(
                msgspec.structs.replace(
                    block, number=number_of[number], first=start, end=len(self._instructions), successors=successors
                )
            )
            self._copy_of.append(copy)
        for original, index, block_number in calls:
            self._follow(self._targets.callees(function)[original], index, block_number, stack)
        return first_block

    def _follow(self, target: Callee | str, index: int, block_number: int, stack: tuple[tuple[str, int], ...]) -> None:
        """Lead a call into a copy of its callee, and the callee's returns behind the call."""
        if isinstance(target, str):
            self._unresolved.append((index, target))
            return
        key = (target.function.name, target.entry)
        numbers = self._targets.blocks(target)
        size = sum(target.function.blocks[one].end - target.function.blocks[one].first for one in numbers)
        if key in stack:
            self._unresolved.append((index, "the called code calls itself"))
        elif len(stack) >= MOST_DEPTH:
            self._unresolved.append((index, f"it is more than {MOST_DEPTH} calls deep"))
        elif self._copies >= MOST_COPIES:
            self._unresolved.append((index, f"{MOST_COPIES} calls are followed already"))
        elif len(self._instructions) + size > MOST_INSTRUCTIONS:
            self._unresolved.append((index, f"the called code makes more than {MOST_INSTRUCTIONS} instructions"))
        else:
            behind = self._blocks[block_number].successors
            self._copies += 1
            first = len(self._blocks)
            entry = self._add(target.function, numbers, (*stack, key))
            self._blocks[block_number] = msgspec.structs.replace(self._blocks[block_number], successors=(entry,))
            for number in range(first, first + len(numbers)):
                if self._blocks[number].leaves == RETURN:
                    self._blocks[number] = msgspec.structs.replace(self._blocks[number], successors=behind, leaves="")
            self._followed.add(index)
            self._instructions[index] = self._as_jump(self._instructions[index])

    def _as_jump(self, call: Instruction) -> Instruction:
        """A call whose callee is known: nothing unknown runs behind it. One object for each distinct text."""
        decoded = call.decoded
        assert decoded is not None
        jump = self._jumps.get(id(decoded))
        if jump is None:
            classes = decoded.classes & ~Op.CALL
            jump = self._jumps[id(decoded)] = msgspec.structs.replace(decoded, classes=classes, is_call=False)
        return msgspec.structs.replace(call, decoded=jump)


def _reached(function: Function, entry: int) -> tuple[int, ...]:
    """The blocks that an entry leads to, itself first."""
    reached = {entry: None}
    pending = [entry]
    while pending:
        for successor in function.blocks[pending.pop()].successors:
            if successor not in reached:
                reached[successor] = None
                pending.append(successor)
    return tuple(reached)


def _with_predecessors(blocks: list[Block]) -> tuple[Block, ...]:
    before: list[list[int]] = [[] for _ in blocks]
    for block in blocks:
        for successor in block.successors:
            before[successor].append(block.number)
    return tuple(msgspec.structs.replace(block, predecessors=tuple(before[block.number])) for block in blocks)
