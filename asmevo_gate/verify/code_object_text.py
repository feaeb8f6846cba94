"""A code object file -> assembly text of each code object in it, ready for the parser."""

from __future__ import annotations

import msgspec

from asmevo_gate.program.code_object import CodeObject, assembly_text, read_code_objects
from asmevo_gate.verify.disassembler import Disassembled, NotDisassembled, disassemble, find_disassembler
from asmevo_gate.verify.discovery import Tool


class CodeObjectText(msgspec.Struct, frozen=True):
    """One code object as assembly text (see :func:`assembly_text`), and the tool that disassembled it."""

    code_object: CodeObject
    text: str
    wave_size: int
    tool: Tool


def code_object_texts(
    data: bytes, path: str, option: str | None = None
) -> tuple[CodeObjectText | NotDisassembled, ...]:
    """The text of every code object in a file; ``option`` names the tool as in ``find_tools``.

    Raises:
        GateError: the file is damaged, compressed, or for a processor that the gate has no data for.
        LimitError: the file passes a limit.
    """
    return tuple(_text_of(code_object, option) for code_object in read_code_objects(data, path))


def _text_of(code_object: CodeObject, option: str | None) -> CodeObjectText | NotDisassembled:
    tool = find_disassembler(option)
    if isinstance(tool, NotDisassembled):
        return tool
    sizes = wave_sizes(code_object)
    if len(sizes) > 1:
        reason = "kernels of wave size 32 and 64 are in one code object, and code is decoded for one size at a time"
        return NotDisassembled(reason, "build one code object for each wave size")
    (wave_size,) = sizes
    instructions = {}
    for section in code_object.sections:
        found = disassemble(section.code, code_object.target, tool, wave_size)
        if not isinstance(found, Disassembled):
            return found
        instructions[section.name] = found.instructions
    return CodeObjectText(code_object, assembly_text(code_object, instructions), wave_size, tool)


def wave_sizes(code_object: CodeObject) -> set[int]:
    """The wave sizes of the kernels by their descriptors; the target's default where there are none."""
    default = code_object.target.wave_sizes[0]
    flags = [values.get("wavefront_size32") for values in code_object.descriptors.values()]
    return {default if flag is None else 32 if flag else 64 for flag in flags} or {default}
