"""From an instruction to how long it holds what: a :class:`Step`, made from the fingerprint once per text.

Which instruction takes which row of a fingerprint is data (``microarch/classification.yaml``).
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from asmevo_gate.analysis.counters import counter_model
from asmevo_gate.cost.classification import classification
from asmevo_gate.cost.delay import held_by_delay
from asmevo_gate.cost.fingerprint import Fingerprint, Leaf, MatrixRow, Row, load_fingerprint
from asmevo_gate.errors import GateError
from asmevo_gate.isa import registers
from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.isa.targets import Target, find_target
from asmevo_gate.isa.waits import decode_wait
from asmevo_gate.program.model import Instruction
from asmevo_gate.source.statement import Kind as StatementKind
from asmevo_gate.source.statement import Place, Statement

if TYPE_CHECKING:
    from asmevo_gate.cost.sequence import StepSequence

VECTOR_PIPES = ("valu", "complex", "matrix")
"""Pipes behind the vector issue of a wave."""
NO_PIPE = -1
_MAX_MEMO = 200_000
_OF_OPERANDS = ("s_nop", "s_sleep", "s_delay_alu", "wait")
"""Names of the steps that depend on what the operands say."""
_NOWHERE = Place("", 0, 0, 0, 0)


class Kind(IntEnum):
    """How the pipeline treats a step."""

    IN_ORDER = 0
    """Leaves the wave when its operands and its pipe are ready."""
    RUN_AHEAD = 1
    """Leaves the wave at once and waits for operands in the vector pipe (RDNA)."""
    MEMORY = 2
    """Goes into a memory queue; a wait instruction sees it complete."""
    WAIT = 3
    HOLD = 4
    """Holds only its own wave: s_nop, s_sleep, branches, barriers."""


class Step(msgspec.Struct, frozen=True, gc=False):
    """What one instruction does to the machine, whatever its registers; all times in clk.

    It keeps ``pipe`` for ``busy`` and ``port`` for ``port_busy`` (-1: none), its wave's issue for ``slot``, and a
    dependent instruction may start ``latency`` after it. A memory step completes ``shortest`` to ``longest`` after
    it entered its pipe, counted by ``counters``. A wait step has ``limits`` (counter, most that may be open);
    ``open_wait`` marks one whose limits are not known. ``delays`` are the distances of the instructions that an
    s_delay_alu holds back. ``assumption`` says what stood in for a figure that nobody published.
    """

    kind: int
    name: str
    pipe: int = NO_PIPE
    busy: float = 0.0
    port: int = NO_PIPE
    port_busy: float = 0.0
    slot: float = 0.0
    latency: float = 0.0
    counters: tuple[int, ...] = ()
    shortest: float = 0.0
    longest: float = 0.0
    bytes: float = 0.0
    limits: tuple[tuple[int, int], ...] = ()
    open_wait: bool = False
    delays: tuple[int, ...] = ()
    taken_extra: float = 0.0
    """What a taken branch costs on top of ``slot``."""
    always_taken: bool = False
    assumption: str = ""
    timed: bool = True
    """False when nobody published anything that says how long the instruction takes: what it costs is not known."""


class Timed(msgspec.Struct, frozen=True, eq=False, gc=False):
    """An instruction text with its step: one object a text, whose hash is cheap."""

    decoded: Decoded
    step: Step
    latest: float | None
    """Clk after its start until which another instruction may have to wait for its results; ``None``: issue in order
    hides them from everyone."""


class _OfMnemonic(msgspec.Struct, frozen=True, gc=False):
    """A step, and :attr:`Timed.latest` of a text that writes vector registers only, and of one with scalar ones."""

    step: Step
    latest: float | None
    latest_scalar: float | None


class Timing:
    """Steps of the instructions of one fingerprint in one wave size. Use :func:`timing_for`."""

    def __init__(self, fingerprint: Fingerprint, wave_size: int) -> None:
        self.fingerprint = fingerprint
        self.wave_size = wave_size
        self.target: Target = find_target(fingerprint.target)
        self.pipe_names = tuple(fingerprint.pipes)
        self.shared_by = tuple(pipe.shared_by.number for pipe in fingerprint.pipes.values())
        self.simds = int(fingerprint.structure_number("simds"))
        """SIMDs of a CU (or WGP)."""
        self._counter_model = counter_model(self.target)
        self.counter_names = self._counter_model.counters
        self.counter_depth = tuple(self._counter_model.capacity[: len(self.counter_names)])
        """Largest number of open operations of each counter; one more is not issued."""
        self.turn = fingerprint.issue["turn_clk"].number
        self.passes = fingerprint.issue["wave_passes"].lookup(wave_size)
        self.run_ahead = int(fingerprint.issue["valu_run_ahead"].get(0))
        self.quick_latency = fingerprint.rows["valu"].latency.number if self.run_ahead else 0.0
        """The usual latency of vector instructions that leave the wave at once."""
        rules = fingerprint.matrix_rules
        self.accumulate_extra = rules["accumulate_extra"].get(0.0) if rules else 0.0
        """What the C operand of a matrix instruction waits for on top of the interval of its producer."""
        self._pipe = {name: number for number, name in enumerate(self.pipe_names)}
        self._counter = {name: number for number, name in enumerate(self.counter_names)}
        self._classes = classification()
        self.sequences: dict[object, StepSequence] = {}
        """What :func:`~asmevo_gate.cost.body.sequence_of` made, by what it asked."""
        self.remembered = 0
        """Instructions of all of them."""
        self._memo: dict[str, Timed] = {}
        self._distinct: dict[Step, Step] = {}
        """Equal steps are one object."""
        self._by_mnemonic: dict[tuple[str, int, tuple[tuple[str, str], ...]], _OfMnemonic] = {}
        self._matrix: dict[str, list[MatrixRow]] = {}
        for row in fingerprint.matrix:
            for name in row.names:
                self._matrix.setdefault(name, []).append(row)
        for rows in self._matrix.values():
            rows.sort(key=lambda row: row.when is None)  # the conditional ones are asked first
        self.forwarding = {
            (self._pipe[producer], self._pipe[consumer]): rule.latency.number
            for rule in fingerprint.forwarding
            for producer in rule.producers
            for consumer in rule.consumers
            if producer in self._pipe and consumer in self._pipe
        }
        self.forwards = frozenset(producer for producer, _ in self.forwarding)
        self.longest_forward = max(self.forwarding.values(), default=0.0)

    def step(self, decoded: Decoded) -> Step:
        """The step of an instruction."""
        return self.timed(decoded).step

    def timed(self, decoded: Decoded) -> Timed:
        """The instruction with its step; remembered per text."""
        known = self._memo.get(decoded.text)
        if known is None:
            if len(self._memo) >= _MAX_MEMO:
                self._memo.clear()
                self._distinct.clear()
            like = self._of_mnemonic(decoded)
            latest = like.latest_scalar if decoded.writes & SCALAR else like.latest
            known = self._memo[decoded.text] = Timed(decoded, like.step, latest)
        return known

    def _of_mnemonic(self, decoded: Decoded) -> _OfMnemonic:
        """What has to be found once for each mnemonic, where the operands do not matter."""
        formats = tuple(decoded.modifiers.items()) if decoded.base in self._matrix else ()
        key = (decoded.base, decoded.classes, formats)
        known = self._by_mnemonic.get(key)
        if known is None:
            step = self._step(decoded)
            step = self._distinct.setdefault(step, step)
            known = _OfMnemonic(step, *self._latest(step))
            if step.name not in _OF_OPERANDS:
                self._by_mnemonic[key] = known
        return known

    def _latest(self, step: Step) -> tuple[float | None, float | None]:
        if step.kind > Kind.RUN_AHEAD:
            return None, None
        usual = step.latency
        scalar = max(usual, self.longest_forward)
        if step.kind == Kind.RUN_AHEAD or usual > step.slot:
            return usual, scalar
        return None, scalar if step.pipe in self.forwards and scalar > step.slot else None

    def _step(self, decoded: Decoded) -> Step:
        kind, row = self._classes.find(decoded.base, decoded.classes)
        if kind == "alu":
            return self._alu(decoded, row)
        make = {
            "matrix": self._matrix_step,
            "vopd": self._vopd,
            "nop": self._nop,
            "sleep": self._sleep,
            "delay": self._delay,
            "wait": self._wait,
            "barrier": self._barrier,
            "branch": self._branch,
            "internal": self._internal,
            "smem": self._smem,
            "lds": self._lds,
            "vmem": self._vmem,
            "export": self._export,
        }.get(kind)
        return make(decoded) if make is not None else self._untimed()

    def _untimed(self) -> Step:
        return Step(Kind.HOLD, "not timed", slot=self.turn, timed=False)

    def _alu(self, decoded: Decoded, name: str) -> Step:
        row, interval, latency, assumed = self._row(name)
        pipe = row.pipe
        vector = pipe in VECTOR_PIPES
        passes = self.passes if vector else 1
        port_interval = row.port_interval.number if row.port_interval else 0.0
        return Step(
            self._vector_kind(pipe), row.pipe if name == "valu" else name, self._pipe[pipe], interval.number * passes,
            self._pipe[row.port] if row.port else NO_PIPE, port_interval * passes,
            self.turn * passes, latency.number,
            assumption=f"{decoded.base}: {assumed}" if assumed else "",
        )  # fmt: skip

    def _row(self, name: str) -> tuple[Row, Leaf, Leaf, str]:
        """Row, interval and latency; where they are unknown, those of the row that stands in, and a word on it."""
        rows = self.fingerprint.rows
        classes = self._classes
        wanted = name
        while name not in rows:
            name = classes.covered_by.get(name) or classes.stands_in[name]
        row, other = rows[name], name
        while not rows[other].interval.known:
            other = classes.stands_in[other]
        assumed = ""
        if other != name or (other != wanted and wanted not in classes.covered_by):
            assumed = f"no published interval of '{wanted}' on {self.fingerprint.target}; that of '{other}' stands in"
        return row, rows[other].interval, row.latency, assumed

    def _vector_kind(self, pipe: str) -> int:
        return Kind.RUN_AHEAD if self.run_ahead and pipe in VECTOR_PIPES else Kind.IN_ORDER

    def _vopd(self, decoded: Decoded) -> Step:
        interval = self.fingerprint.issue["vopd_interval"].get(1.0)
        latency = self.fingerprint.rows["valu"].latency.number
        return Step(
            self._vector_kind("valu"), "vopd", self._pipe["valu"], interval, slot=self.turn, latency=latency
        )  # fmt: skip

    def _matrix_step(self, decoded: Decoded) -> Step:
        candidates = self._matrix.get(decoded.base, [])
        row = next((row for row in candidates if row.when is None or row.when.holds(decoded.modifiers)), None)
        if row is None:
            return self._untimed()
        rules = self.fingerprint.matrix_rules
        held = rules["holds_wave"].get(0.0)
        length = row.cycles.number
        return Step(
            Kind.IN_ORDER if held else self._vector_kind("matrix"), "matrix", self._pipe["matrix"], length,
            self._pipe["valu"], length - row.valu_free_clk.get(0.0), length if held else self.turn,
            length + rules["result_extra"].get(0.0),
            assumption="" if row.valu_free_clk.known else f"{decoded.base}: VALU overlap not published; none assumed",
        )  # fmt: skip

    def _immediate(self, decoded: Decoded) -> int | None:
        value = decoded.operands[0].value if decoded.operands else 0
        return value if isinstance(value, int) else None

    def _nop(self, decoded: Decoded) -> Step:
        count = self._immediate(decoded)
        unit = self.fingerprint.control["nop_unit"].number
        if count is None:
            return Step(Kind.HOLD, "s_nop", slot=unit, assumption=f"{decoded.text}: symbolic count; taken as 0")
        return self._internal_step("s_nop", unit * ((count & 0xFFFF) + 1))

    def _sleep(self, decoded: Decoded) -> Step:
        count = self._immediate(decoded)
        unit = self.fingerprint.control["sleep_unit"].number
        if count is None:
            return Step(Kind.HOLD, "s_sleep", slot=self.turn, assumption=f"{decoded.text}: symbolic count; taken as 0")
        return self._internal_step("s_sleep", max(self.turn, unit * (count & 0x7F)))

    def _internal_step(self, name: str, slot: float) -> Step:
        interval = self.fingerprint.issue["internal_interval"].get(0.0)
        return Step(Kind.HOLD, name, self._pipe["internal"], interval, slot=slot)

    def _internal(self, decoded: Decoded) -> Step:
        return self._internal_step("internal", self.turn)

    def _barrier(self, decoded: Decoded) -> Step:
        slot = self.fingerprint.control["barrier"].get(self.turn)
        return Step(
            Kind.HOLD, "barrier", slot=slot, assumption=f"{decoded.base}: the wait for the other waves is not predicted"
        )

    def _delay(self, decoded: Decoded) -> Step:
        text = decoded.operands[0].text if decoded.operands else ""
        slot = self.fingerprint.control["delay_alu"].get(0.0)
        return Step(Kind.HOLD, "s_delay_alu", slot=slot, delays=held_by_delay(text, self._immediate(decoded)))

    def _branch(self, decoded: Decoded) -> Step:
        control = self.fingerprint.control
        conditional = decoded.of(Op.CONDITIONAL)
        taken = control["branch_taken"].number - control["branch"].number
        ends = not decoded.of(Op.BRANCH | Op.INDIRECT | Op.CALL)
        return Step(
            Kind.HOLD, "branch", self._pipe["branch"], control["branch"].number, slot=control["branch"].number,
            latency=control["branch"].number,
            taken_extra=0.0 if ends else taken, always_taken=not conditional and not ends,
        )  # fmt: skip

    def _wait(self, decoded: Decoded) -> Step:
        limits = decode_wait(decoded, self.target)
        interval = self.fingerprint.issue["internal_interval"].get(0.0)
        pairs = tuple((self._counter[name], limit) for name, limit in (limits or {}).items() if name in self._counter)
        return Step(
            Kind.WAIT, "wait", self._pipe["internal"], interval, slot=self.turn, limits=pairs, open_wait=limits is None,
            assumption=f"{decoded.text}: how far it waits is not known" if limits is None else "",
        )  # fmt: skip

    def _counters(self, decoded: Decoded) -> tuple[int, ...]:
        """The memory counters that the instruction raises."""
        statement = Statement(StatementKind.INSTRUCTION, decoded.mnemonic, "", decoded.text, _NOWHERE)
        effect = self._counter_model.effect(Instruction(0, statement, decoded))
        return tuple(dict.fromkeys(track for track, _ in effect.counts if track < len(self.counter_names)))

    def _smem(self, decoded: Decoded) -> Step:
        smem = self.fingerprint.smem
        moved = self._classes.bytes_of(decoded.base)
        return Step(
            Kind.MEMORY, "smem", self._pipe["smem"], smem["issue_clk"].lookup(moved), slot=self.turn,
            counters=self._counters(decoded),
            shortest=smem["latency"].lowest, longest=max(smem["latency_loaded"].highest, smem["latency_worst"].highest),
        )  # fmt: skip

    def _lds(self, decoded: Decoded) -> Step:
        lds = self.fingerprint.lds
        width = self._classes.bytes_of(decoded.base)
        writes = bool(self._classes.lds_writes.search(decoded.base))
        port = lds["write_port_clk" if writes else "read_port_clk"]
        if "transpose_read_port_clk" in lds and self._classes.lds_transposes.search(decoded.base):
            port = lds["transpose_read_port_clk"]
        busy = port.lookup(width) * self.passes
        latency = lds["write_latency" if writes else "read_latency"].lookup(width)
        return Step(
            Kind.MEMORY, "lds", self._pipe["lds"], busy, slot=self.turn * self.passes,
            counters=self._counters(decoded), shortest=latency, longest=latency,
        )  # fmt: skip

    def _vmem(self, decoded: Decoded) -> Step:
        memory = self.fingerprint.memory
        stores = decoded.of(Op.STORE | Op.ATOMIC) and not decoded.of(Op.ATOMIC_RETURN | Op.LDS_DMA)
        moved = self._classes.bytes_of(decoded.base) * self.wave_size
        busy = max(memory.address_clk.lookup(self.wave_size), moved / memory.l1_bytes_per_clk.number)
        # A published pointer chase counts the issue of its wait as well.
        shortest = memory.shortest - self.turn
        if stores and memory.store_latency is not None:
            shortest = min(shortest, memory.store_latency.number)
        return Step(
            Kind.MEMORY, "vmem", self._pipe["vmem"], busy, slot=self.turn * self.passes,
            counters=self._counters(decoded), shortest=shortest,
            longest=memory.longest, bytes=moved,
        )  # fmt: skip

    def _export(self, decoded: Decoded) -> Step:
        return Step(
            Kind.MEMORY, "export", slot=self.turn * self.passes,
            counters=self._counters(decoded), shortest=self.turn, longest=self.fingerprint.memory.longest,
            assumption=f"{decoded.base}: no published timing of exports",
        )  # fmt: skip


@cache
def timing_for(name: str, wave_size: int) -> Timing:
    """The timing of a target in one wave size.

    Raises:
        UsageError: there is no fingerprint for the target.
        GateError: the target has no waves of that size.
    """
    fingerprint = load_fingerprint(name)
    if wave_size not in fingerprint.wave_sizes:
        raise GateError(
            f"{name} has no waves of {wave_size} lanes",
            f"its wave sizes: {', '.join(map(str, fingerprint.wave_sizes))}",
        )
    return Timing(fingerprint, wave_size)


SCALAR = registers.SGPRS | registers.VCC | registers.EXEC | registers.SCC | registers.M0
"""Registers whose way from the vector to the scalar unit has a latency of its own."""
