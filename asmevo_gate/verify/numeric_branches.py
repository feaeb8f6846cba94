"""Branches whose target is written as a number of dwords (``s_cbranch_vccz 5``), as disassemblers print them, and
numbers that are added to the program counter.

How many bytes lie between depends on the encodings that the assembler chooses, so the code is assembled and the sizes
of its instructions are read back. Few files have such branches: what that needs is imported only then.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from asmevo_gate.isa.targets import Target
from asmevo_gate.source.statement import Kind, Source, SourceProblem, Statement

if TYPE_CHECKING:
    from asmevo_gate.program.destinations import MachineInstruction

_BRANCH = re.compile(
    r"(?P<head>s_(?:c?branch\w*|call_b64|subvector_loop_\w+)\b(?:.*,)?\s*)(?P<number>-?\d+|0x[0-9a-f]+)$"
)
_ANY_BRANCH = re.compile(r"s_(?:c?branch\w*|call_b64|subvector_loop_\w+)\b")
_GETS_PC = ("s_getpc_b64", "s_get_pc_i64")


def has_numeric_branches(source: Source) -> bool:
    """Whether an instruction branches by a number, or adds one to the program counter."""
    instruction = Kind.INSTRUCTION
    texts = {one.text for one in source.statements if one.kind is instruction}
    if any(map(_BRANCH.match, texts)):
        return True
    return any(text.startswith(_GETS_PC) for text in texts) and bool(
        _named_by_number([one for one in source.statements if one.kind in (Kind.INSTRUCTION, Kind.DATA)])
    )


def _named_by_number(code: Sequence[Statement]) -> list[int]:
    """The positions of the statements that name a place in the code by a number."""
    from asmevo_gate.program.destinations import WINDOW, added_number

    found = []
    for position, statement in enumerate(code):
        if statement.kind is not Kind.INSTRUCTION:
            continue
        if _BRANCH.match(statement.text):
            found.append(position)
        elif statement.text.startswith(_GETS_PC):
            behind = [one.text for one in code[position + 1 : position + 1 + WINDOW]]
            added = added_number(statement.text, behind)
            if added:
                found.append(position + 1 + added[0])
    return found


def label_numeric_branches(source: Source, target: Target, wave_size: int | None) -> Source:
    """The source with labels made for the targets of branches by a number, and for what is that far behind the program
    counter.

    Where the sizes of the instructions cannot be found all stay as they are; a branch then makes a problem of severity
    ``unknown`` that says why.
    """
    from asmevo_gate.program.destinations import destinations, with_label

    sections: dict[str, list[int]] = defaultdict(list)
    for position, statement in enumerate(source.statements):
        if statement.kind in (Kind.INSTRUCTION, Kind.DATA):
            sections[statement.section].append(position)
    labels: dict[int, str] = {}
    branches: dict[int, str] = {}
    problems = list(source.problems)
    for positions in sections.values():
        code = [source.statements[position] for position in positions]
        named = _named_by_number(code)
        if not named:
            continue
        first = code[named[0]]
        laid_out = _laid_out(code, target, wave_size)
        if isinstance(laid_out, str):
            branch = next((code[one] for one in named if _BRANCH.match(code[one].text)), None)
            if branch is not None:
                problems.append(SourceProblem("unknown", f"branch by a number: {laid_out}", "", branch.place))
            continue
        by_number = {laid_out[one].offset: laid_out[one] for one in named}
        starts = {item.offset: position for item, position in zip(laid_out, positions, strict=True)}
        position_of = dict(zip((item.offset for item in laid_out), positions, strict=True))
        for offset, destination in destinations(laid_out).items():
            if destination in starts and offset in by_number:
                label = labels[starts[destination]] = f".Lbranch_{first.place.line}_{destination}"
                branches[position_of[offset]] = with_label(by_number[offset], label)
    statements = tuple(_rewritten(source.statements, labels, branches))
    return msgspec.structs.replace(source, statements=statements, problems=tuple(problems))


def _laid_out(code: Sequence[Statement], target: Target, wave_size: int | None) -> list[MachineInstruction] | str:
    """The statements with their offsets, or why these are not known."""
    from asmevo_gate.program.elf import read_elf
    from asmevo_gate.verify.assembler import Assembled, NotAssembled, assemble, find_assembler
    from asmevo_gate.verify.disassembler import NotDisassembled, disassemble, find_disassembler

    if any(one.kind is Kind.DATA for one in code):
        return "data between the instructions"
    assembler, disassembler = find_assembler(target), find_disassembler()
    if isinstance(assembler, NotAssembled):
        return assembler.reason
    if isinstance(disassembler, NotDisassembled):
        return disassembler.reason
    # Every branch is one dword, whatever it goes to.
    text = ".text\n" + "\n".join("s_nop 0" if _ANY_BRANCH.match(one.text) else one.text for one in code) + "\n"
    assembled = assemble(text, target, assembler, wave_size)
    if not isinstance(assembled, Assembled):
        return "the code does not assemble"
    section = next(section for section in read_elf(assembled.object, "").sections if section.name == ".text")
    found = disassemble(section.data, target, disassembler, wave_size)
    if isinstance(found, NotDisassembled):
        return found.reason
    if len(found.instructions) != len(code):
        return "the assembler makes another number of instructions"
    return [item._replace(text=one.text) for item, one in zip(found.instructions, code, strict=True)]


def _rewritten(
    statements: Sequence[Statement], labels: dict[int, str], branches: dict[int, str]
) -> Iterator[Statement]:
    for position, statement in enumerate(statements):
        label = labels.get(position)
        if label:
            yield Statement(Kind.LABEL, label, "", f"{label}:", statement.place, statement.frames, statement.section)
        text = branches.get(position)
        if text:
            rest = text.partition(" ")[2].strip()
            yield msgspec.structs.replace(statement, rest=rest, text=text)
        else:
            yield statement
