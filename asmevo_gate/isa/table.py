"""The instruction table: which forms exist on which target, and what each operand of a form is used for.

The data file is generated from LLVM's instruction descriptions; see ``tools/isa_table``.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from functools import cache, cached_property

import msgspec

from asmevo_gate.isa.data_files import read_data


class FormRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One form on the targets of ``mask`` (bit *i* is target *i* of the table).

    ``roles`` has a letter per operand as written: ``D`` written, ``U`` read, ``B`` both, ``K`` written in part,
    ``O`` keeps its old value in lanes that DPP leaves out, ``E`` a list whose elements have roles of their own, ``-``
    never a register; in lower case when the register that is touched is not the one named. ``wave`` is the only wave
    size that has the form, 0 when each has. The other fields are positions in the lists of the table.
    """

    variant: str
    features: str
    mask: int
    roles: str
    implicit: int
    attributes: int
    modifiers: int
    slots: int
    wave: int = 0


class Forms(Mapping[str, list[FormRow]]):
    """The forms of each mnemonic. Those of one are decoded when they are asked for: a kernel has some dozens of the
    thousands."""

    _decoder = msgspec.json.Decoder(list[FormRow])

    def __init__(self, written: dict[str, msgspec.Raw]) -> None:
        self._written = written
        self._decoded: dict[str, list[FormRow]] = {}

    def __getitem__(self, mnemonic: str) -> list[FormRow]:
        rows = self._decoded.get(mnemonic)
        if rows is None:
            rows = self._decoded[mnemonic] = self._decoder.decode(self._written[mnemonic])
        return rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._written)

    def __len__(self) -> int:
        return len(self._written)


class Table(msgspec.Struct, frozen=True, dict=True):
    """The file as it is.

    ``implicit``: (written, read) register names. ``attributes``: (class bits, least size in bytes, name of LLVM's
    scheduling class). ``modifiers``: names that a form takes. ``slots``: per operand the kinds that it takes, the
    register widths in dwords, the widths of the elements of a list, and their roles, as ``"#-sv 1,2"`` or
    ``"[  2-2-3-3-1 UUBBU"`` (``v a s`` register files, ``#`` inline constant, ``=`` literal, ``-`` ``|`` ``~`` source
    modifiers neg, abs and sext, ``.`` 16-bit halves, ``c`` VCC only, ``l`` v0 to v127 only, ``h`` halves of v0 to v127
    only; ``[`` only as a list, ``8/32`` is a width of wave32 alone).
    """

    schema: str
    version: str
    llvm: str
    targets: list[str]
    implicit: list[tuple[list[str], list[str]]]
    attributes: list[tuple[int, int, str]]
    modifiers: list[frozenset[str]]
    slots: list[list[str]]
    written: dict[str, msgspec.Raw] = msgspec.field(name="mnemonics")

    @cached_property
    def mnemonics(self) -> Forms:
        """The forms by mnemonic."""
        return Forms(self.written)


@cache
def load_table() -> Table:
    """The table of the package, read once."""
    data = read_data("instructions.json.z")
    return msgspec.json.decode(zlib.decompress(data), type=Table)


def data_version() -> str:
    """Names the content of the table: part of every cache key and of the report."""
    return load_table().version
