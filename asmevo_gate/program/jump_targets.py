"""Where the jumps and calls of a function go, also those through registers.

A data flow over the function: what its registers hold of addresses (:mod:`code_addresses`), joined over all paths. A
jump or call through a register pair goes to the symbols that the pair may hold; where one path may bring something
else, its target is not known. Every path counts, whatever its branches test.

A call of code of this same function is one of a *subroutine*: it follows no convention, so it is looked into. Its data
flow begins with the link register alone, once for each entry and link register. It is understood when every way out of
it is a jump to that return address or the end of the wave; then the code behind the call goes on with what the
subroutine leaves of the registers. A subroutine that calls itself, or code elsewhere, is not understood.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

import msgspec

from asmevo_gate.isa.instruction import Decoded, Op, Operand
from asmevo_gate.isa.registers import LINE_LENGTH, SGPR, bits
from asmevo_gate.program.code_addresses import (
    RETURN_PLACE,
    Registers,
    call_elsewhere,
    joined,
    may_matter,
    places,
    return_address,
    step,
    tracked_registers,
)
from asmevo_gate.program.model import Call, Instruction, Spelling

MOST_DEPTH = 16
"""Subroutines inside of each other that are followed at most."""
MOST_INSTRUCTIONS = 20_000
"""Instructions that one call may run at most, those of calls inside counted at each call."""
SETS_PC = frozenset(("s_setpc_b64", "s_set_pc_i64"))
"""Second spelling: gfx1250."""
RETURN_REGISTER = SGPR.start + 30
"""s[30:31] (AMDGPUUsage, "Non-Kernel Functions")."""
RETURN_ADDRESS = bits(RETURN_REGISTER, 2)
_EVERYTHING = (1 << LINE_LENGTH) - 1
RETURNS = frozenset(("return",))
"""In place of the labels of a jump: it returns from the function."""
BEHIND_CALL = frozenset(("behind the call",))
"""In place of the labels of a jump: it returns from a subroutine of the function."""


class Layout(msgspec.Struct, frozen=True):
    """The blocks of a function: where they start and end, the block that starts at an instruction, and for each block
    what its last instruction itself says: the blocks that it branches to, whether it may go on behind itself, and
    whether it may leave the function."""

    instructions: tuple[Instruction, ...]
    spellings: tuple[Spelling, ...]
    labels: Mapping[str, int]
    starts: list[int]
    ends: list[int]
    block_at: Mapping[int, int]
    branches: list[tuple[int, ...]]
    falls_through: list[bool]
    leaves: list[bool]


class _Summary(msgspec.Struct, frozen=True):
    """What a subroutine does, entered at one place with one link register. ``problem``: why it is not understood."""

    problem: str
    writes: int
    returns: bool
    size: int
    jumps: frozenset[int]


class JumpTargets:
    """The targets of one function. ``jumps`` has for each jump through registers the labels that it may go to, or one
    of :data:`RETURNS` and :data:`BEHIND_CALL`, and ``None`` where that is not known. ``calls`` has each call.
    ``in_main`` are the blocks that the entry of the function leads to, those of subroutines aside."""

    def __init__(self, layout: Layout, *, is_kernel: bool) -> None:
        self.layout = layout
        self.jumps: dict[int, frozenset[str] | None] = {}
        self.calls: dict[int, Call] = {}
        self._is_kernel = is_kernel
        self._summaries: dict[tuple[int, int], _Summary] = {}
        self._returning: dict[int, bool] = {}
        self._open: list[int] = []
        self._seen: set[int] = set()
        self._moves = _moves(layout)
        self._in_subroutines: set[int] = set()
        main = _Flow(self, {0: {} if is_kernel else return_address(RETURN_REGISTER)})
        self.in_main = frozenset(main.at)
        self._take(main)
        self._rest()
        self._give_up()

    def _give_up(self) -> None:
        """Calls of code that is entered in more ways than one, which tell different things of where it goes."""
        for index, call in self.calls.items():
            link = self._link_of(index)
            summaries = [self._summaries[entry, link] for entry in call.entries if (entry, link) in self._summaries]
            if any(self.jumps.get(jump) is None for one in summaries for jump in one.jumps):
                self.calls[index] = Call(call.targets, (), "the called code does not always come back to its call")

    def _link_of(self, index: int) -> int:
        decoded = self.layout.instructions[index].decoded
        return decoded.operands[0].start if decoded is not None and decoded.operands else -1

    def is_loose(self, block: int) -> bool:
        """Whether nothing that is followed leads to a block."""
        return block not in self.in_main and block not in self._in_subroutines

    def _rest(self) -> None:
        """Code that nothing followed leads to, and of whose registers nothing is known."""
        missing = [number for number in range(len(self.layout.starts)) if number not in self._seen]
        if missing:
            self._take(_Flow(self, {}, missing))

    def _take(self, flow: _Flow, return_place: frozenset[str] = RETURNS) -> None:
        """What one data flow has found, beside what others have found of the same instructions."""
        self._seen.update(flow.at)
        if return_place == BEHIND_CALL:
            self._in_subroutines.update(flow.at)
        for index, found in flow.jumps.items():
            place = return_place if found == RETURN_PLACE else found
            self.jumps[index] = place if self.jumps.get(index, place) == place else None
        for index, call in flow.calls.items():
            self.calls[index] = _both(self.calls[index], call) if index in self.calls else call

    def comes_back(self, call: Call) -> bool:
        """Whether a subroutine that is called may come back."""
        return any(self._returning.get(entry, True) for entry in call.entries)

    def moves(self, block: int) -> list[int]:
        """The instructions of a block that may matter for addresses."""
        return self._moves[block]

    def summary(self, entry: int, link: int) -> _Summary:
        """What the subroutine at a block does."""
        key = (entry, link)
        if entry in self._open:
            return _Summary("the called code calls itself", _EVERYTHING, True, 0, frozenset())
        if key not in self._summaries:
            if len(self._open) >= MOST_DEPTH:
                return _Summary(f"it is more than {MOST_DEPTH} calls deep", _EVERYTHING, True, 0, frozenset())
            self._open.append(entry)
            flow = _Flow(self, {entry: return_address(link)})
            self._open.pop()
            self._take(flow, BEHIND_CALL)
            found = self._summaries[key] = flow.summary()
            self._returning[entry] = self._returning.get(entry, False) or found.returns
        return self._summaries[key]


class _Flow:
    """The data flow from some blocks on. ``at`` is what holds at the start of the blocks that it reaches."""

    def __init__(self, targets: JumpTargets, entries: Mapping[int, Registers], more: list[int] | None = None) -> None:
        self._targets = targets
        self._layout = targets.layout
        self.at: dict[int, Registers] = {}
        self.jumps: dict[int, frozenset[str] | None] = {}
        self.calls: dict[int, Call] = {}
        self._problems: dict[int, str] = {}
        self._called: dict[int, tuple[_Summary, ...]] = {}
        for entry, registers in entries.items():
            self._run(entry, registers)
        for entry in more or ():
            if entry not in self.at:
                self._run(entry, {})

    def summary(self) -> _Summary:
        """All of it as a subroutine."""
        layout = self._layout
        problem = next((self._problems[number] for number in sorted(self._problems)), "")
        writes, size = 0, 0
        for number in self.at:
            size += layout.ends[number] - layout.starts[number]
            for index in range(layout.starts[number], layout.ends[number]):
                decoded = layout.instructions[index].decoded
                if decoded is None or (decoded.has_indexed and decoded.of(Op.SALU)):
                    writes = _EVERYTHING
                else:
                    writes |= decoded.writes
        jumps = set(self.jumps)
        for called in self._called.values():
            for one in called:
                writes |= one.writes
                size += one.size
                jumps |= one.jumps
        if not problem and size > MOST_INSTRUCTIONS:
            problem = f"the called code makes more than {MOST_INSTRUCTIONS} instructions"
        returns = any(found == RETURN_PLACE for found in self.jumps.values())
        return _Summary(problem, writes, returns, size, frozenset(jumps))

    def _run(self, entry: int, registers: Registers) -> None:
        """Worklist: what is known only gets less, so this ends."""
        self.at[entry] = registers
        pending = [entry]
        while pending:
            number = pending.pop()
            registers = dict(self.at[number])
            for successor in self._through(number, registers):
                known = self.at.get(successor)
                merged = dict(registers) if known is None else joined(known, registers)
                if merged != known:
                    self.at[successor] = merged
                    pending.append(successor)

    def _through(self, number: int, registers: Registers) -> list[int]:
        """Go through a block. The blocks behind it."""
        layout = self._layout
        first, last = layout.starts[number], layout.ends[number] - 1
        decoded = layout.instructions[last].decoded
        is_call = decoded is not None and decoded.of(Op.CALL)
        self._problems.pop(number, None)
        for index in self._targets.moves(number):
            if index < last or not is_call:
                step(registers, layout.instructions, first, index)
        behind = list(layout.branches[number])
        falls_through = layout.falls_through[number]
        if layout.leaves[number]:
            self._problems[number] = "the called code goes on outside of the function"
        if decoded is not None and is_call:
            falls_through = self._call(number, last, decoded, registers)
        elif decoded is not None and decoded.of(Op.INDIRECT):
            behind += self._jump(number, last, decoded, registers)
        if falls_through:
            if number + 1 < len(layout.starts):
                behind.append(number + 1)
            else:
                self._problems[number] = "the called code runs past the last instruction"
        return behind

    def _jump(self, number: int, index: int, decoded: Decoded, registers: Registers) -> list[int]:
        found = places(registers, decoded.operands[-1]) if decoded.base in SETS_PC else None
        self.jumps[index] = found
        if found is None:
            self._problems[number] = f"the target of {decoded.base} in the called code is not known"
        elif found != RETURN_PLACE and not found <= self._layout.labels.keys():
            self._problems[number] = "the called code goes on outside of the function"
        return [block for block in (self._block(name) for name in sorted(found or ())) if block is not None]

    def _block(self, label: str) -> int | None:
        index = self._layout.labels.get(label)
        return None if index is None else self._layout.block_at.get(index)

    def _called_names(self, decoded: Decoded, target: Operand, registers: Registers) -> tuple[str, ...]:
        """The symbols that a call may go to, none where that is not known."""
        if not decoded.of(Op.INDIRECT):
            return (target.text.strip(),)
        found = places(registers, target)
        if found is None:
            trusted = places(registers, target, over_calls=True)
            found = None if trusted is None or any(map(self._is_inside, trusted)) else trusted
        return () if found is None or found == RETURN_PLACE else tuple(sorted(found))

    def _is_inside(self, name: str) -> bool:
        """Whether a symbol is that of code of the function, its entry aside: calling that is calling the function."""
        return self._layout.labels.get(name, 0) > 0

    def _call(self, number: int, index: int, decoded: Decoded, registers: Registers) -> bool:
        """Go past a call. Whether it may come back."""
        target, link = decoded.operands[-1], decoded.operands[0]
        names = self._called_names(decoded, target, registers)
        inside = [self._is_inside(name) for name in names]
        entries = tuple(block for block in map(self._block, names) if block is not None) if any(inside) else ()
        called: tuple[_Summary, ...] = ()
        reason = ""
        if any(inside) and not all(inside):
            reason = "some of the called code is outside of the function"
        elif any(inside) and len(entries) < len(names):
            reason = "it leads behind the end"
        elif entries:
            called = tuple(self._targets.summary(entry, link.start) for entry in entries)
            reason = next((one.problem for one in called if one.problem), "")
        self._called[index] = () if reason else called
        if reason or not called:
            self._problems[number] = reason or "the called code calls code that is not known"
            call_elsewhere(registers, decoded)
            self.calls[index] = Call(names, (), reason)
            return True
        self.calls[index] = Call(names, tuple(dict.fromkeys(entries)), "")
        writes = decoded.writes
        for one in called:
            writes |= one.writes
        for register in [register for register in registers if writes >> register & 1]:
            del registers[register]
        return any(one.returns for one in called)


def _both(one: Call, other: Call) -> Call:
    """A call of which two data flows have found something."""
    if one == other:
        return one
    targets = tuple(sorted({*one.targets, *other.targets})) if one.targets and other.targets else ()
    followed = one.entries and other.entries
    reason = one.reason or other.reason or ("" if followed else "its target is not known on all ways to it")
    return Call(targets, tuple(sorted({*one.entries, *other.entries})) if followed else (), reason)


def _moves(layout: Layout) -> list[list[int]]:
    """For each block the instructions that may matter for addresses."""
    used = RETURN_ADDRESS
    for _, decoded, _ in layout.spellings:
        if decoded is not None and decoded.operands:
            used |= decoded.operands[-1].mask if decoded.of(Op.INDIRECT) else 0
            used |= decoded.operands[0].mask if decoded.of(Op.CALL) else 0
    tracked = tracked_registers([one.decoded for one in layout.spellings if one.decoded is not None], used)
    found = sorted(
        index for _, decoded, indices in layout.spellings if may_matter(decoded, tracked) for index in indices
    )
    return [
        found[bisect_left(found, start) : bisect_left(found, end)]
        for start, end in zip(layout.starts, layout.ends, strict=True)
    ]
