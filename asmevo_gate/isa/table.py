"""The instruction table: which forms exist on which target, and what each operand of a form is used for.

The data file is generated from LLVM's instruction descriptions; see ``tools/isa_table``.
"""

from __future__ import annotations

import zlib
from functools import cache
from importlib.resources import files

import msgspec

FormRow = tuple[str, str, str, int, str, int, int]
"""base mnemonic, variant, features, target bit mask, roles, index in ``implicit``, index in ``attributes``.

Roles: one letter per operand as written: ``D`` written, ``U`` read, ``B`` both, ``K`` written in part, ``-`` no register.
"""


class Table(msgspec.Struct, frozen=True):
    """The file as it is. ``implicit`` rows are (written, read) register names; ``attributes`` rows are
    (class bits, least size in bytes, name of the scheduling class)."""

    schema: str
    version: str
    llvm: str
    targets: list[str]
    forms: list[FormRow]
    implicit: list[tuple[list[str], list[str]]]
    attributes: list[tuple[int, int, str]]


@cache
def load_table() -> Table:
    """The table of the package, read once."""
    data = files("asmevo_gate.isa").joinpath("data/instructions.json.z").read_bytes()
    return msgspec.json.decode(zlib.decompress(data), type=Table)
