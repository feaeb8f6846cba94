"""A file's bytes -> the assembly texts to check: the file itself, or the disassembly of each code object in it."""

from __future__ import annotations

import msgspec

from asmevo_gate.changes.model import Version
from asmevo_gate.errors import GateError
from asmevo_gate.isa.targets import Target
from asmevo_gate.program.file_kind import is_code_object
from asmevo_gate.source.recognise import decode_source


class InputText(msgspec.Struct, frozen=True):
    """One text to check. ``target`` is set for a code object, whose ELF header names its GPU; ``problems`` are parts of
    the object that could not be read; ``tool`` is the disassembler."""

    text: str
    target: Target | None = None
    problems: tuple[str, ...] = ()
    tool: str | None = None
    wave_size: int | None = None

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
    from asmevo_gate.verify.code_object_text import code_object_texts
    from asmevo_gate.verify.disassembler import NotDisassembled

    texts = []
    for found in code_object_texts(version.data, version.path):
        if isinstance(found, NotDisassembled):
            raise GateError(found.reason, found.repair, version.path)
        code_object = found.code_object
        texts.append(InputText(found.text, code_object.target, code_object.problems, str(found.tool), found.wave_size))
    return tuple(texts)
