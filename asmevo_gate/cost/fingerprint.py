"""Microarchitecture fingerprints: what is publicly known about the timing of one GPU.

The data are ``microarch/<gfx>.yaml`` (every number with source and confidence); this module reads the compiled
JSON beside them. In an installed package the files lie in ``asmevo_gate/data/microarch/``, in a checkout in
``microarch/`` at its root.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

import asmevo_gate
from asmevo_gate.errors import GateError, UsageError
from asmevo_gate.isa.targets import find_target, target_names

Value = float | list[float | list[float]] | None
"""A number, a list of numbers, or a table: pairs such as ``[bytes a lane, clk]``, ascending in the first."""


class Alternative(msgspec.Struct, frozen=True):
    """What another source says."""

    value: Value
    source: list[str]


class Leaf(msgspec.Struct, frozen=True, omit_defaults=True):
    """One published figure. ``value`` is ``None`` exactly when ``confidence`` is ``unknown``.

    ``conflict`` says what the sources disagree on; ``alternatives`` are the values not chosen.
    """

    value: Value
    source: list[str]
    confidence: str
    unit: str = ""
    note: str = ""
    alternatives: list[Alternative] = []
    conflict: str = ""

    @property
    def known(self) -> bool:
        """False when nobody published the figure."""
        return self.value is not None

    @property
    def number(self) -> float:
        """The value.

        Raises:
            GateError: the value is unknown or a table.
        """
        if isinstance(self.value, int | float):
            return self.value
        raise GateError(
            f"a fingerprint number is missing (found {self.value!r})",
            "ask Leaf.known first, or repair microarch/",
        )

    def get(self, default: float) -> float:
        """The value, or ``default`` when it is unknown."""
        return self.value if isinstance(self.value, int | float) else default

    @property
    def lowest(self) -> float:
        """The smallest figure of all sources."""
        return min(self._numbers())

    @property
    def highest(self) -> float:
        """The largest figure of all sources."""
        return max(self._numbers())

    def _numbers(self) -> list[float]:
        others = [other.value for other in self.alternatives if isinstance(other.value, int | float)]
        return [self.number, *others]

    def lookup(self, key: float) -> float:
        """The entry of a table at the least key that is not below ``key`` (the last one above all).

        Raises:
            GateError: the leaf is no table.
        """
        if not isinstance(self.value, list):
            raise GateError(f"a fingerprint table is missing (found {self.value!r})", "repair microarch/")
        result = 0.0
        for row in self.value:
            if not isinstance(row, list):
                raise GateError(f"a fingerprint table holds {row!r} instead of a pair", "repair microarch/")
            result = row[1]
            if row[0] >= key:
                break
        return result


class Row(msgspec.Struct, frozen=True):
    """Timing of one kind of ALU instruction, in clk a pass (see ``issue.wave_passes``).

    ``interval`` is how long a wave keeps ``pipe``; ``latency`` when a dependent instruction may start. ``port`` is
    a second pipe that is held for ``port_interval``.
    """

    pipe: str
    interval: Leaf
    latency: Leaf
    port: str = ""
    port_interval: Leaf | None = None


class Condition(msgspec.Struct, frozen=True):
    """True when one of ``modifiers`` (``default`` where it is not written) has a value of ``any_of``."""

    modifiers: list[str]
    default: str
    any_of: list[str]

    def holds(self, modifiers: dict[str, str]) -> bool:
        """True when the condition holds for the modifiers of an instruction."""
        return any(modifiers.get(name, self.default) in self.any_of for name in self.modifiers)


class MatrixRow(msgspec.Struct, frozen=True):
    """Timing of one matrix instruction: it holds the matrix pipe for ``cycles`` and leaves the VALU free for the
    last ``valu_free_clk`` of them."""

    names: list[str]
    shape: str
    types: str
    cycles: Leaf
    valu_free_clk: Leaf
    when: Condition | None = None
    passes: Leaf | None = None
    flops_per_clk: Leaf | None = None


class Pipe(msgspec.Struct, frozen=True):
    """A resource that instructions hold. ``shared_by`` SIMDs use the same one."""

    shared_by: Leaf


class Forwarding(msgspec.Struct, frozen=True):
    """Another latency for results that cross from a pipe of ``producers`` to one of ``consumers``."""

    producers: list[str]
    consumers: list[str]
    latency: Leaf


class MemoryLevel(msgspec.Struct, frozen=True):
    """A place where vector memory can be found, nearest first."""

    name: str
    latency: Leaf


class Memory(msgspec.Struct, frozen=True):
    """Vector memory: latencies in clk, bandwidth in bytes a clk and CU (or WGP)."""

    levels: list[MemoryLevel]
    latency_loaded: Leaf
    l1_bytes: Leaf
    l1_line: Leaf
    l1_bytes_per_clk: Leaf
    dram_bytes_per_clk: Leaf
    address_clk: Leaf
    store_latency: Leaf | None = None

    @property
    def shortest(self) -> float:
        """Latency when everything hits the nearest cache; the smallest figure of all sources."""
        return self.levels[0].latency.lowest

    @property
    def longest(self) -> float:
        """Latency from DRAM, or the mean under load where that was measured to be longer."""
        loaded = self.latency_loaded
        return max(self.levels[-1].latency.highest, loaded.highest if loaded.known else 0.0)


class Fingerprint(msgspec.Struct, frozen=True):
    """All that is known of one target. ``sources`` spells out the keys that every :class:`Leaf` names."""

    target: str
    family: str
    reference: dict[str, Leaf | str]
    structure: dict[str, Leaf | str]
    issue: dict[str, Leaf]
    rows: dict[str, Row]
    pipes: dict[str, Pipe]
    control: dict[str, Leaf]
    forwarding: list[Forwarding]
    lds: dict[str, Leaf]
    smem: dict[str, Leaf]
    memory: Memory
    registers: dict[str, Leaf]
    waves_by_vgprs: dict[str, Leaf]
    fetch: dict[str, Leaf]
    unknown: list[str]
    sources: dict[str, str]
    vopd: dict[str, Leaf] = {}
    matrix_rules: dict[str, Leaf] = {}
    matrix: list[MatrixRow] = []
    peaks: dict[str, Leaf] = {}

    def leaves(self) -> Iterator[tuple[str, Leaf]]:
        """Every figure with its path, such as ``("rows.trans.interval", Leaf(...))``."""
        yield from _leaves("", self)

    def structure_number(self, name: str) -> float:
        """A number of ``structure``, such as ``simds``.

        Raises:
            GateError: there is none of that name.
        """
        leaf = self.structure.get(name)
        if isinstance(leaf, Leaf):
            return leaf.number
        raise GateError(f"microarch/{self.target}: structure.{name} is no number", "repair the fingerprint")

    @property
    def wave_sizes(self) -> tuple[int, ...]:
        """Allowed wave sizes, the smallest first."""
        leaf = self.structure["wave_sizes"]
        sizes = leaf.value if isinstance(leaf, Leaf) and isinstance(leaf.value, list) else []
        return tuple(int(size) for size in sizes if isinstance(size, int | float))


def _leaves(path: str, value: object) -> Iterator[tuple[str, Leaf]]:
    if isinstance(value, Leaf):
        yield path, value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _leaves(f"{path}.{name}" if path else name, getattr(value, name))
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(f"{path}.{name}", item)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _leaves(f"{path}[{number}]", item)


def data_directory() -> Path:
    """The directory of the compiled fingerprints.

    Raises:
        GateError: neither the installed package nor a checkout holds them.
    """
    package = Path(asmevo_gate.__file__).resolve().parent
    for place in (package / "data" / "microarch", package.parent / "microarch"):
        if (place / "compiled").is_dir():
            return place / "compiled"
    raise GateError("the microarchitecture fingerprints are missing", "reinstall asmevo-gate")


def fingerprint_names() -> tuple[str, ...]:
    """The targets that have a fingerprint of their own."""
    return tuple(name for name in target_names() if (data_directory() / f"{name}.json").is_file())


@cache
def load_fingerprint(name: str) -> Fingerprint:
    """The fingerprint of a processor (``gfx942``); a GPU with the same instructions as another borrows its file.

    Raises:
        UsageError: there is no fingerprint for the GPU.
        GateError: the file is damaged.
    """
    path = data_directory() / f"{name}.json"
    if not path.is_file():
        path = data_directory() / f"{find_target(name).table}.json"
    if not path.is_file():
        raise UsageError(f"no microarchitecture fingerprint for '{name}'", "docs/add-a-gpu.md says how to add one")
    try:
        return msgspec.json.decode(path.read_bytes(), type=Fingerprint)
    except msgspec.DecodeError as error:
        raise GateError(f"{path}: {error}", "run python tools/compile_microarch.py, or reinstall") from error
