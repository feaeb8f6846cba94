"""Which instructions take which timing row: the rules of ``microarch/classification.yaml``."""

from __future__ import annotations

import re
from functools import cache

import msgspec

from asmevo_gate.cost.fingerprint import data_directory
from asmevo_gate.errors import GateError
from asmevo_gate.isa.instruction import OP_BITS


class _Entry(msgspec.Struct, frozen=True):
    match: str = ""
    any_class: list[str] = []
    kind: str = ""
    row: str = ""


class _Bytes(msgspec.Struct, frozen=True):
    match: str
    bytes: int


class _Document(msgspec.Struct, frozen=True):
    instructions: list[_Entry]
    covered_by: dict[str, str]
    stands_in: dict[str, str]
    memory_bytes: list[_Bytes]
    lds_writes: str
    lds_transposes: str


class _Rule:
    """A compiled entry of the classification."""

    def __init__(self, entry: _Entry) -> None:
        self.pattern = re.compile(entry.match) if entry.match else None
        self.classes = 0
        for name in entry.any_class:
            self.classes |= OP_BITS[name]
        self.entry = entry

    def fits(self, base: str, classes: int) -> bool:
        if self.pattern is not None and not self.pattern.search(base):
            return False
        return not self.classes or bool(self.classes & classes)


class Classification:
    """The rules of ``microarch/classification.yaml``."""

    def __init__(self, document: _Document) -> None:
        self._rules = [_Rule(entry) for entry in document.instructions]
        self._bytes = [(re.compile(item.match), item.bytes) for item in document.memory_bytes]
        self.covered_by = document.covered_by
        self.stands_in = document.stands_in
        self.lds_writes = re.compile(document.lds_writes)
        self.lds_transposes = re.compile(document.lds_transposes)

    def find(self, base: str, classes: int) -> tuple[str, str]:
        """``(kind, row)`` of an instruction; ``("", "")`` when no entry fits."""
        for rule in self._rules:
            if rule.fits(base, classes):
                return rule.entry.kind, rule.entry.row
        return "", ""

    def bytes_of(self, base: str) -> int:
        """Bytes a lane (vector) or a wave (scalar) that a memory instruction moves."""
        for pattern, count in self._bytes:
            if pattern.search(base):
                return count
        return 4


@cache
def classification() -> Classification:
    """The classification that belongs to the fingerprints.

    Raises:
        GateError: the data file is missing or damaged.
    """
    path = data_directory() / "classification.json"
    try:
        return Classification(msgspec.json.decode(path.read_bytes(), type=_Document))
    except (OSError, msgspec.DecodeError) as error:
        raise GateError(f"{path}: {error}", "reinstall asmevo-gate") from error
