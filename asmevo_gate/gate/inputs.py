"""A file's bytes -> the assembly texts to check: the file itself, or the disassembly of each code object in it."""

from __future__ import annotations

import msgspec

from asmevo_gate.changes.model import Version
from asmevo_gate.errors import GateError
from asmevo_gate.isa.targets import Target
from asmevo_gate.program.code_object import CodeObject, assembly_text, is_code_object, read_code_objects
from asmevo_gate.source.recognise import decode_source
from asmevo_gate.verify.disassembler import NotDisassembled, disassemble, find_disassembler
from asmevo_gate.verify.discovery import Tool


class InputText(msgspec.Struct, frozen=True):
    """One text to check. ``target`` is set for a code object, whose ELF header names its GPU; ``problems`` are parts of
    the object that could not be read; ``tool`` is the disassembler."""

    text: str
    target: Target | None = None
    problems: tuple[str, ...] = ()
    tool: str | None = None

    @property
    def gpu(self) -> str:
        """The GPU of a code object, ``""`` for assembly source, which may be for several."""
        return self.target.name if self.target else ""


def input_texts(version: Version) -> tuple[InputText, ...]:
    """The texts of a file.

    Raises:
        GateError: it is neither UTF-8 text nor a readable code object, or there is no disassembler for it.
    """
    if not is_code_object(version.data):
        return (InputText(decode_source(version.path, version.data)),)
    tool = find_disassembler()
    if isinstance(tool, NotDisassembled):
        raise GateError(tool.reason, tool.repair, version.path)
    return tuple(_disassembled(code, tool) for code in read_code_objects(version.data, version.path))


def _disassembled(code_object: CodeObject, tool: Tool) -> InputText:
    instructions = {}
    wave_size = _wave_size(code_object)
    for section in code_object.sections:
        done = disassemble(section.code, code_object.target, tool, wave_size)
        if isinstance(done, NotDisassembled):
            raise GateError(f"section {section.name}: {done.reason}", done.repair, code_object.path)
        instructions[section.name] = done.instructions
    return InputText(assembly_text(code_object, instructions), code_object.target, code_object.problems, str(tool))


def _wave_size(code_object: CodeObject) -> int | None:
    """The wave size that the kernels agree on; ``None`` leaves the target's default."""
    flags = {values.get("wavefront_size32") for values in code_object.descriptors.values()}
    if flags == {1}:
        return 32
    return 64 if flags == {0} else None
