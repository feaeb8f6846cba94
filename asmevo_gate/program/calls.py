"""Calls whose target is known, and a function with the called code put in: once for each call, so that every path
through the result is a path of the program.

Followed are calls of functions of the file, and of code of the function itself (:mod:`jump_targets` says where a call
goes). Code that calls itself, and what is beyond :data:`MOST_INSTRUCTIONS`, :data:`MOST_COPIES` or :data:`MOST_DEPTH`,
is not followed: a short file can name calls without end.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.program.model import COMES_BACK, RETURN, Block, Call, Function, Instruction
from asmevo_gate.program.reach import reached_from

MOST_INSTRUCTIONS = 200_000
"""Instructions that are put into one function at most."""
MOST_COPIES = 1_024
"""Copies of callees that are put into one function at most."""
MOST_DEPTH = 16
"""Calls inside of each other that are followed at most."""
_CALLER = 0


class Callee(msgspec.Struct, frozen=True):
    """Where a call goes: a function of the file, entered at the start of one of some of its blocks."""

    function: Function
    entries: tuple[int, ...]


class LinkedFunction(msgspec.Struct, frozen=True):
    """A function with the code that it calls.

    ``function`` begins with the instructions and blocks of the caller, under their own numbers. ``copy_of`` tells for
    each block whose it is: 0 the caller's, else the number of the copy of a callee. ``followed`` are the calls, by
    index in ``function``, that lead into a copy: there they are jumps. ``unresolved`` are those that lead nowhere,
    with the reason; they are calls still. ``leads_elsewhere``: not only subroutines of the function were put in.
    """

    function: Function
    copy_of: tuple[int, ...]
    followed: frozenset[int]
    unresolved: tuple[tuple[int, str], ...]
    leads_elsewhere: bool = False


class CallTargets:
    """Where the calls of the functions of one file go. Each function is looked at once, however often it is called."""

    def __init__(self, functions: Sequence[Function]) -> None:
        self._functions = {
            label: function for function in functions for label, index in function.labels.items() if index == 0
        } | {function.name: function for function in functions}
        self._callees: dict[str, dict[int, tuple[Callee, ...] | str]] = {}
        self._blocks: dict[tuple[str, tuple[int, ...]], tuple[int, ...]] = {}

    def callees(self, function: Function) -> dict[int, tuple[Callee, ...] | str]:
        """For each call of a function, by index: where it may go, or why that is not known."""
        if function.name not in self._callees:
            self._callees[function.name] = {
                block.end - 1: self._found(function, block, block.call) for block in function.blocks if block.call
            }
        return self._callees[function.name]

    def blocks(self, callee: Callee) -> tuple[int, ...]:
        """The numbers of the blocks that a callee runs, its entries first."""
        key = (callee.function.name, callee.entries)
        if key not in self._blocks:
            self._blocks[key] = reached_from(callee.function.blocks, callee.entries)
        return self._blocks[key]

    def _found(self, function: Function, block: Block, call: Call) -> tuple[Callee, ...] | str:
        if call.entries:
            return (Callee(function, call.entries),)
        if call.reason:
            return call.reason
        own = [name for name, index in function.labels.items() if index == 0]
        called = [function if name in own else self._functions.get(name) for name in call.targets]
        known = [one for one in called if one is not None and one.blocks]
        if not known or len(known) < len(called):
            return f"the target of {function.instructions[block.end - 1].statement.name} is not known in this file"
        return tuple(Callee(one, (0,)) for one in known)


def linked_function(function: Function, targets: CallTargets) -> LinkedFunction:
    """The function with a copy of every callee that is known, and of their callees."""
    if not any(block.call for block in function.blocks):
        return LinkedFunction(function, (_CALLER,) * len(function.blocks), frozenset(), ())
    return _Linker(targets).link(function)


_Stack = tuple[tuple[str, tuple[int, ...]], ...]
"""The calls that a copy is made for, each as the function called and its entries."""


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
        self._put_in = 0
        self._leads_elsewhere = False
        self._jumps: dict[int, Decoded] = {}

    def link(self, function: Function) -> LinkedFunction:
        """Put all callees behind the function."""
        self._add(function, tuple(block.number for block in function.blocks), ())
        instructions = tuple(self._instructions)
        linked = msgspec.structs.replace(function, instructions=instructions, blocks=_with_predecessors(self._blocks))
        followed, unresolved = frozenset(self._followed), tuple(sorted(self._unresolved))
        return LinkedFunction(linked, tuple(self._copy_of), followed, unresolved, self._leads_elsewhere)

    def _add(self, function: Function, numbers: tuple[int, ...], stack: _Stack) -> None:
        """Append a copy of some blocks of a function."""
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
                    block,
                    number=number_of[number],
                    first=start,
                    end=len(self._instructions),
                    successors=successors,
                    call=block.call if copy == _CALLER else None,
                )
            )
            self._copy_of.append(copy)
        for original, index, block_number in calls:
            self._follow(self._targets.callees(function)[original], index, block_number, stack)

    def _follow(self, callees: tuple[Callee, ...] | str, index: int, block_number: int, stack: _Stack) -> None:
        """Lead a call into copies of its callees, and their returns behind the call."""
        if isinstance(callees, str):
            self._unresolved.append((index, callees))
            return
        size = sum(
            callee.function.blocks[one].end - callee.function.blocks[one].first
            for callee in callees
            for one in self._targets.blocks(callee)
        )
        if any((callee.function.name, callee.entries) in stack for callee in callees):
            self._unresolved.append((index, "the called code calls itself"))
        elif len(stack) >= MOST_DEPTH:
            self._unresolved.append((index, f"it is more than {MOST_DEPTH} calls deep"))
        elif self._copies + len(callees) > MOST_COPIES:
            self._unresolved.append((index, f"{MOST_COPIES} calls are followed already"))
        elif self._put_in + size > MOST_INSTRUCTIONS:
            self._unresolved.append((index, f"the called code makes more than {MOST_INSTRUCTIONS} instructions"))
        else:
            self._put_in += size
            behind = self._blocks[block_number].successors
            entries: list[int] = []
            for callee in callees:
                entries += self._copy(callee, behind, stack)
            self._blocks[block_number] = msgspec.structs.replace(
                self._blocks[block_number], successors=tuple(entries), call=None
            )
            self._followed.add(index)
            self._instructions[index] = self._as_jump(self._instructions[index])

    def _copy(self, callee: Callee, behind: tuple[int, ...], stack: _Stack) -> range:
        """Append a copy of a callee that returns to some blocks; the numbers of its entries."""
        numbers = self._targets.blocks(callee)
        self._copies += 1
        self._leads_elsewhere = self._leads_elsewhere or callee.entries == (0,)
        first = len(self._blocks)
        self._add(callee.function, numbers, (*stack, (callee.function.name, callee.entries)))
        for number in range(first, first + len(numbers)):
            if self._blocks[number].leaves in (RETURN, COMES_BACK):
                self._blocks[number] = msgspec.structs.replace(self._blocks[number], successors=behind, leaves="")
        return range(first, first + len(callee.entries))

    def _as_jump(self, call: Instruction) -> Instruction:
        """A call whose callee is known: nothing unknown runs behind it. One object for each distinct text."""
        decoded = call.decoded
        assert decoded is not None
        jump = self._jumps.get(id(decoded))
        if jump is None:
            classes = decoded.classes & ~Op.CALL
            jump = self._jumps[id(decoded)] = msgspec.structs.replace(decoded, classes=classes, is_call=False)
        return msgspec.structs.replace(call, decoded=jump)


def _with_predecessors(blocks: list[Block]) -> tuple[Block, ...]:
    before: list[list[int]] = [[] for _ in blocks]
    for block in blocks:
        for successor in block.successors:
            before[successor].append(block.number)
    return tuple(msgspec.structs.replace(block, predecessors=tuple(before[block.number])) for block in blocks)
