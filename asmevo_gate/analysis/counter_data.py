"""The facts about memory counters as ``isa/data/counters.json`` holds them: which kinds of instruction there are, and
which counters each of them raises on which family of targets."""

from __future__ import annotations

from functools import cache

import msgspec

from asmevo_gate.isa.data_files import read_data


class Kind(msgspec.Struct, frozen=True):
    """Which instructions are of a kind: by the whole ``base``, or by class bits."""

    kind: str
    base: str = ""
    any: list[str] = []
    all: list[str] = []
    vector_result: bool = False


class Raise(msgspec.Struct, frozen=True):
    """One count that instructions of a kind raise."""

    counter: str
    order: str = "unordered"
    holds: str = ""
    write_order: str = ""
    consumer_order: str | None = None
    """Write order of the instruction as the later one of two, where it differs from ``write_order``."""
    fills_lds: bool = False
    doubtful: bool = False


class Dialect(msgspec.Struct, frozen=True):
    """The counters of one family of targets."""

    source: list[str] = []
    raises: dict[str, list[Raise]] = {}
    exclusive: list[str] = []
    ends_with: dict[str, dict[str, dict[str, str]]] = {}
    """Counter -> order -> other counter -> order of that counter's events which end this one."""
    same_as: str = ""


class Names(msgspec.Struct, frozen=True):
    """Names with one meaning."""

    names: list[str]
    source: list[str]
    note: str = ""


class Barrier(msgspec.Struct, frozen=True, rename={"passes": "pass"}):
    """The instructions that arrive at a barrier, and those that pass it."""

    arrive: list[str]
    passes: list[str]
    source: list[str]


class Merging(msgspec.Struct, frozen=True):
    """Loads that read what they leave of their destination only on arrival."""

    base: str
    source: list[str]
    note: str


class Prefixes(msgspec.Struct, frozen=True):
    """Beginnings of mnemonics that raise no counter, whatever follows."""

    prefixes: list[str]
    note: str


class CounterData(msgspec.Struct, frozen=True):
    """The whole file."""

    schema: str
    about: str
    sources: dict[str, str]
    notes: dict[str, str]
    kinds: list[Kind]
    merging_load: Merging
    message_payload: Names
    message_free_vgprs: Names
    barrier: Barrier
    calls: Names
    vmem_result_over_address: Names
    no_counter_prefixes: Prefixes
    dialects: dict[str, Dialect]


@cache
def counter_data() -> CounterData:
    """The file that ships with the program."""
    content = read_data("counters.json")
    return msgspec.json.decode(content, type=CounterData)
