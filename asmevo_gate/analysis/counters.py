"""What each instruction does to the memory counters of its target: the events that it starts, the waits that
it makes, the registers that it touches. Facts are data: :mod:`asmevo_gate.analysis.counter_data` and
``isa/data/waits.json``.

A *track* is what a wait can be written for: one per counter, and one per pair "counter A ends with counter B"
(on gfx1250 an address translation, counted by xcnt, is over when the data of the same or a later load has
arrived).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from asmevo_gate.analysis.counter_data import counter_data
from asmevo_gate.isa.encoded_operands import is_message
from asmevo_gate.isa.instruction import OP_BITS, Decoded, Op
from asmevo_gate.isa.operand_text import evaluate
from asmevo_gate.isa.registers import EXEC, M0, SGPRS, TTMP, VCC, VECTOR
from asmevo_gate.isa.targets import Target
from asmevo_gate.isa.waits import counter_limits, decode_wait
from asmevo_gate.program.model import Instruction

UNORDERED = 0
"""Number of the order of events that end in any sequence: only a wait for 0 finishes one of them."""


class Event(NamedTuple):
    """One count that an instruction raises.

    ``order`` numbers the sequence within the track in which events end (:data:`UNORDERED`: none). ``holds``
    are registers whose new value is not there before the event ends, ``locks`` registers that may still be
    read until then. ``also`` are the tracks, with their order, whose waits end this event as well.
    """

    track: int
    order: int
    holds: int
    locks: int
    write_order: str
    breaks_order: bool
    fills_lds: bool
    certain: bool
    also: tuple[tuple[int, int], ...] = ()


class Effect(NamedTuple):
    """What the analysis needs to know of one instruction text.

    ``counts`` are ``(track, order)`` of every sequence that the instruction advances. ``waits`` are ``(track,
    count)``, done before the instruction touches ``reads`` and ``writes``. ``ends_others`` are exclusive
    tracks with the order that stays. ``unknown`` says why nothing is known about what is in flight
    afterwards.
    """

    kind: str
    reads: int
    writes: int
    touches: int
    events: tuple[Event, ...]
    counts: tuple[tuple[int, int], ...]
    waits: tuple[tuple[int, int], ...]
    ends_others: tuple[tuple[int, int], ...]
    write_order: str
    active: bool
    """True when the state changes beyond what ``touches`` may do."""
    unknown: str = ""
    not_modelled: str = ""
    """Why a register of the instruction is not known; what is in flight is known."""
    arrives: bool = False
    passes: bool = False
    reads_lds: bool = False
    fills_lds: bool = False
    """Puts data in LDS, or may do so."""
    frees_vgprs: bool = False
    barrier: str = ""
    """The number of the barrier that is signalled or waited for, where the text gives it."""
    special: bool = False
    """True when there is more to it than waits, accesses and events: one of the marks above, ``ends_others`` or
    ``unknown``."""


NO_EFFECT = Effect("", 0, 0, 0, (), (), (), (), "", False)


def _unknown_effect(reason: str) -> Effect:
    return NO_EFFECT._replace(active=True, unknown=reason, special=True)


class _Form(NamedTuple):
    """What all texts of one mnemonic with the same classes have in common. ``is_plain``: they read and write registers
    and do nothing else.

    ``merges``: what the instruction keeps of its vector result it reads only on arrival. ``by_text``: more than
    registers of the text matters. ``effects`` remembers the effect by that text, where it matters, and by the registers
    read and written, which depend on the wave size too.
    """

    kind: str
    write_order: str
    merges: bool
    arrives: bool
    passes: bool
    calls: bool
    by_text: bool
    is_plain: bool
    effects: dict[tuple[str, int, int], Effect]


_BY_TEXT = ("message", "export")
"""Kinds whose first operand says which events there are."""


class CounterModel:
    """Counters, orders and effects of one target. Use :func:`counter_model`, which keeps one per target."""

    def __init__(self, target: Target) -> None:
        document = counter_data()
        dialect = document.dialects[target.facts["waitcnt"]]
        if dialect.same_as:
            dialect = document.dialects[dialect.same_as]
        self.target = target
        self.sources = {name: document.sources[name] for name in dialect.source}
        limits = counter_limits(target)
        self.counters: tuple[str, ...] = tuple(limits)
        self.capacity: list[int] = list(limits.values())
        """Largest number of events of a track that can be in flight: one more is not issued before one has
        ended."""
        self.track_names: list[str] = list(limits)
        self._dialect = dialect
        self._orders: dict[tuple[int, str], int] = {}
        self._order_count: list[int] = [1] * len(limits)
        self.waits_on: list[list[int]] = [[track] for track in range(len(limits))]
        """The tracks whose events a wait for a counter ends: its own, and those of other counters through it."""
        self._also: dict[tuple[str, str], tuple[tuple[int, int], ...]] = {}
        self.main_track: list[int] = list(range(len(limits)))
        """The counter that a track belongs to: itself, or the first counter of a pair."""
        self.shadows_of: list[list[int]] = [[] for _ in limits]
        """The pairs whose first counter a counter is."""
        self._add_shadow_tracks()
        self.family: list[list[int]] = [[track, *pairs] for track, pairs in enumerate(self.shadows_of)]
        """Each counter with its pairs."""
        self.shadows = range(len(limits), len(self.track_names))
        """The tracks that are not themselves counters."""
        self._in_order = bool(target.facts["vmem_write_vgpr_in_order"])
        self._kinds = [(kind, re.compile(kind.base) if kind.base else None) for kind in document.kinds]
        self._any = [sum(OP_BITS[name] for name in kind.any) for kind in document.kinds]
        self._all = [sum(OP_BITS[name] for name in kind.all) for kind in document.kinds]
        self._merging = re.compile(document.merging_load.base)
        self._forms: dict[tuple[str, int, bool], _Form] = {}

    @property
    def tracks(self) -> int:
        """Number of tracks; the first ``len(counters)`` are the counters themselves."""
        return len(self.track_names)

    @property
    def orders(self) -> list[int]:
        """Number of orders of each track, :data:`UNORDERED` included."""
        return self._order_count

    def track(self, counter: str) -> int | None:
        """The track of a counter, ``None`` when the target has no such counter."""
        return self.counters.index(counter) if counter in self.counters else None

    def effect(self, instruction: Instruction) -> Effect:
        """The effect of an instruction. Texts that differ in offsets or modifiers alone share one."""
        decoded = instruction.decoded
        if decoded is None:
            return self._effect_of_unknown(instruction)
        form = self._form(decoded)
        reads, writes = decoded.reads, decoded.writes
        by_text = form.by_text or decoded.has_indexed or "wait_exp" in decoded.modifiers
        if form.is_plain and not by_text:
            return Effect("", reads, writes, reads | writes, (), (), (), (), "", False)
        key = (decoded.text if by_text else "", reads, writes)
        known = form.effects.get(key)
        if known is None:
            known = form.effects[key] = self._effect(form, decoded)
        return known

    def _add_shadow_tracks(self) -> None:
        for counter, by_order in self._dialect.ends_with.items():
            for order, others in by_order.items():
                added = []
                for other, other_order in others.items():
                    source = self.counters.index(other)
                    track = len(self.track_names)
                    self.waits_on[source].append(track)
                    added.append((track, UNORDERED if other_order == "unordered" else 1))
                    self.track_names.append(f"{counter} through {other}")
                    self.capacity.append(self.capacity[source])
                    self.main_track.append(self.counters.index(counter))
                    self.shadows_of[self.counters.index(counter)].append(track)
                    self._order_count.append(2)
                self._also[counter, order] = tuple(added)

    def _order(self, track: int, name: str) -> int:
        if name == "unordered":
            return UNORDERED
        number = self._orders.get((track, name))
        if number is None:
            number = self._orders[track, name] = self._order_count[track]
            self._order_count[track] += 1
        return number

    def waited_counter(self, track: int) -> int:
        """The counter whose waits a track listens to."""
        return next(counter for counter, tracks in enumerate(self.waits_on) if track in tracks)

    @property
    def skipped_track(self) -> int | None:
        """The track on which a load over the source of an earlier operation counts as a wait for that
        operation."""
        for counter in counter_data().vmem_result_over_address.names:
            if counter in self.counters:
                return self.counters.index(counter)
        return None

    def _form(self, decoded: Decoded) -> _Form:
        key = (decoded.base, decoded.classes, bool(decoded.writes & VECTOR))
        found = self._forms.get(key)
        if found is None:
            base, barrier = decoded.base, counter_data().barrier
            kind = self._match(*key)
            arrives, passes = base in barrier.arrive, base in barrier.passes
            calls = decoded.is_call or base in counter_data().calls.names
            found = self._forms[key] = _Form(
                kind=kind,
                write_order=self._consumer_order(kind),
                merges=bool(kind and self._merging.fullmatch(base)),
                arrives=arrives,
                passes=passes,
                calls=calls,
                by_text=decoded.of(Op.WAIT) or arrives or passes or kind in _BY_TEXT,
                is_plain=not (kind or arrives or passes or calls),
                effects={},
            )
        return found

    def _match(self, base: str, classes: int, vector_result: bool) -> str:
        """The kind of memory instruction, ``""`` when it raises no counter on any target."""
        for (kind, pattern), any_bits, all_bits in zip(self._kinds, self._any, self._all, strict=True):
            if pattern is not None:
                if pattern.fullmatch(base):
                    return "" if kind.kind == "none" else kind.kind
            elif classes & any_bits and classes & all_bits == all_bits and (vector_result or not kind.vector_result):
                return kind.kind
        return ""

    def _effect(self, form: _Form, decoded: Decoded) -> Effect:
        waits, unknown = self._waits(decoded)
        if unknown:
            return _unknown_effect(unknown)
        kind = form.kind
        reads, writes, not_modelled = _touched(decoded)
        if form.merges:
            reads &= ~(writes & VECTOR)
        events = self._events(kind, decoded, reads, writes)
        ends_others = tuple((e.track, e.order) for e in events if self.track_names[e.track] in self._dialect.exclusive)
        if form.calls:
            unknown = "what the called code waits for and leaves in flight is not known"
        reads_lds = kind == "lds_load" or (kind == "lds_atomic" and bool(writes & VECTOR))
        fills_lds = kind == "flat_store" or any(event.fills_lds for event in events)
        freeing = counter_data().message_free_vgprs.names if kind == "message" else ()
        frees_vgprs = any(is_message(decoded.operands[0].text, name, self.target) for name in freeing)
        marked = form.arrives or form.passes or reads_lds or fills_lds or frees_vgprs
        return Effect(
            kind=kind,
            reads=reads,
            writes=writes,
            touches=reads | writes,
            events=events,
            counts=self._counts(events),
            waits=waits,
            ends_others=ends_others,
            write_order=form.write_order,
            active=bool(waits or events or form.arrives or form.passes or unknown),
            unknown=unknown,
            not_modelled=not_modelled,
            arrives=form.arrives,
            passes=form.passes,
            reads_lds=reads_lds,
            fills_lds=fills_lds,
            frees_vgprs=frees_vgprs,
            barrier=_barrier(decoded) if form.arrives or form.passes else "",
            special=bool(marked or ends_others or unknown),
        )

    def _consumer_order(self, kind: str) -> str:
        for one in self._dialect.raises.get(kind, ()):
            name = one.write_order if one.consumer_order is None else one.consumer_order
            if name and (self._in_order or not name.startswith("vmem.")):
                return name
            if one.write_order:
                return ""
        return ""

    def _waits(self, decoded: Decoded) -> tuple[tuple[tuple[int, int], ...], str]:
        limits = decode_wait(decoded, self.target)
        if limits is None:
            return (), f"'{decoded.text}' waits for a count that is not known"
        if not limits and "wait_exp" in decoded.modifiers and "expcnt" in self.counters:
            text = decoded.modifiers["wait_exp"]
            count = evaluate(text)
            if count is None or count < 0:
                return (), f"'{decoded.text}' waits for a count that is not known"
            limits = {"expcnt": count}
        pairs = []
        for counter, count in limits.items():
            for track in self.waits_on[self.counters.index(counter)]:
                if count < self.capacity[track]:
                    pairs.append((track, count))
        return tuple(pairs), ""

    def _events(self, kind: str, decoded: Decoded, reads: int, writes: int) -> tuple[Event, ...]:
        events = []
        for one in self._dialect.raises.get(kind, ()):
            track = self.counters.index(one.counter)
            order = one.order
            if order == "export":
                order = _export_order(decoded)
            locks = holds = 0
            if one.holds == "writes":
                holds = writes & ~EXEC
            elif one.holds == "sources":
                locks = reads & (VECTOR | SGPRS | TTMP.mask | VCC | EXEC | M0)
            elif one.holds == "vector_sources":
                locks = reads & (VECTOR | EXEC)
            elif one.holds == "m0" and _message(decoded) in counter_data().message_payload.names:
                locks = M0
            also = self._also.get((one.counter, one.order), ())
            events.append(
                Event(
                    track, self._order(track, order), holds, locks, one.write_order, one.order == "flat",
                    one.fills_lds, not one.doubtful, also,
                )
            )  # fmt: skip
        return tuple(events)

    def _counts(self, events: tuple[Event, ...]) -> tuple[tuple[int, int], ...]:
        """Every sequence that the events advance, shadow tracks of their counters included."""
        found = []
        for event in events:
            found.append((event.track, event.order))
            if event.order != UNORDERED:
                found.extend((shadow, 1) for shadow in self.waits_on[event.track][1:])
        return tuple(found)

    def _effect_of_unknown(self, instruction: Instruction) -> Effect:
        unknown = instruction.unknown
        mnemonic = unknown.mnemonic if unknown else ""
        reason = unknown.reason if unknown else "not understood"
        if mnemonic.startswith(tuple(counter_data().no_counter_prefixes.prefixes)):
            return NO_EFFECT._replace(not_modelled=reason)
        return _unknown_effect(f"'{instruction.statement.text}' is not understood: {reason}")


def _touched(decoded: Decoded) -> tuple[int, int, str]:
    """Registers read and written, without those whose number is only known when the program runs."""
    indexed = [operand.text for operand in decoded.operands if operand.indexed] if decoded.has_indexed else []
    if not indexed:
        return decoded.reads, decoded.writes, ""
    reads, writes = decoded.implicit_reads, decoded.implicit_writes
    for operand in decoded.operands:
        if not operand.indexed:
            role = operand.role
            reads |= operand.mask if role & 5 else 0
            writes |= operand.mask if role & 2 else 0
    return reads, writes, f"'{indexed[0]}' names a register that is only known when the program runs"


def _barrier(decoded: Decoded) -> str:
    """The number of the barrier of a split barrier instruction; empty when M0 holds it."""
    value = decoded.operands[0].value if decoded.operands and not decoded.operands[0].length else None
    return str(value) if isinstance(value, int) else ""


_MESSAGE = re.compile(r"MSG_\w+")


def _message(decoded: Decoded) -> str:
    found = _MESSAGE.search(decoded.operands[0].text) if decoded.operands else None
    return found[0] if found else ""


def _export_order(decoded: Decoded) -> str:
    """Exports end in order within parameters, positions, and everything else."""
    target = decoded.operands[0].text if decoded.operands else ""
    for name in ("param", "pos"):
        if target.startswith(name):
            return f"export.{name}"
    return "export"


_models: dict[str, CounterModel] = {}


def counter_model(target: Target) -> CounterModel:
    """The counters of a target; one object per processor, so that each text is classified once."""
    model = _models.get(target.name)
    if model is None:
        model = _models[target.name] = CounterModel(target)
    return model
