"""The constraint graph as data: instruction classes, nodes (states), edges (hazards), and what belongs to them.

One :class:`ConstraintFile` is one JSON file; :mod:`asmevo_gate.constraints.files` resolves ``extends`` and gives a
:class:`ConstraintGraph`, which both engines evaluate.
"""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA = "asmevo-gate/constraints/1"

Severity = Literal["error", "warning", "info"]
Confidence = Literal["high", "medium"]
Kind = Literal["distance", "sequence", "forwarding", "clause", "directly_before", "directly_after", "encoding"]
Relation = Literal["overlap", "any", "same_tuple", "partial_tuple"]
Opcode = Literal["any", "same", "other"]


class InstructionClass(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which instructions belong to a class. All given conditions hold together.

    ``any``/``all``/``none`` are names of :class:`asmevo_gate.isa.instruction.Op` bits; ``of`` is a union of other
    classes; ``mnemonics`` and ``except_mnemonics`` are shell patterns on the base mnemonic; ``depctr`` and
    ``waitcnt`` give the greatest value that a field of the wait may have; ``hwreg`` are names of hardware registers;
    ``hwreg_value`` is the (masked) value that an immediate s_setreg writes; ``modifier`` must be present;
    ``where`` is a predicate of :mod:`asmevo_gate.constraints.predicates`.
    """

    title: str = ""
    of: tuple[str, ...] = ()
    any: tuple[str, ...] = ()
    all: tuple[str, ...] = ()
    none: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    """Classes whose members do not belong."""
    mnemonics: tuple[str, ...] = ()
    except_mnemonics: tuple[str, ...] = ()
    modifier: str = ""
    depctr: dict[str, int] = {}
    waitcnt: dict[str, int] = {}
    waitcnt_any: tuple[str, ...] = ()
    """Counters of which at least one is waited down to 0."""
    hwreg: tuple[str, ...] = ()
    hwreg_covers: int | None = None
    """A bit that the written field of the hardware register must cover."""
    hwreg_value: int | None = None
    grades: tuple[str, ...] = ()
    """Kinds of matrix instruction (``XDL``, ``SGEMM``, ``DGEMM`` ...), see ``grades`` of the file."""
    where: str = ""


class Node(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A state: an instruction class in a role, on some registers.

    ``role`` selects the registers (see :mod:`asmevo_gate.constraints.roles`), ``registers`` narrows them to a
    register file. A node with registers matches only an instruction that has at least one of them in the role.
    """

    title: str
    instruction: str
    role: str = "none"
    registers: str = "all"


class Edge(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One hazard: what must not follow what, how near, and what makes it safe.

    ``distance``: fewer than ``required`` units lie between producer and consumer on some path (``required`` may be
    ``None``: any distance, until cleared). ``sequence``: ``steps`` happen in this order on the same register.
    """

    rule: str
    title: str
    kind: Kind
    explanation: str
    repair: str
    source: tuple[str, ...]
    record: str = ""
    llvm: str = ""
    severity: Severity = "error"
    confidence: Confidence = "high"
    producer: str = ""
    consumer: str = ""
    relation: Relation = "overlap"
    opcode: Opcode = "any"
    unit: str = "wait_states"
    required: int | dict[str, int] | None = None
    required_field: str = ""
    """Consumer's modifier that holds the required distance (LDSDIR ``wait_vdst``)."""
    newest_only: bool = False
    """A later producer that writes the same registers takes the place of an earlier one (the results arrive in
    order), whatever its relation to the consumer."""
    below: dict[str, int] = {}
    """Further limits: hazard only while fewer than so many of the unit lie between."""
    through: str = ""
    """A class of which at least one instruction must lie between."""
    cleared_by: tuple[str, ...] = ()
    cleared_by_field: str = ""
    """A depctr field: a wait with value n clears what has at least n of ``unit`` behind it."""
    steps: tuple[str, ...] = ()
    step_clears: tuple[tuple[str, ...], ...] = ()
    """For each step but the last: the classes that make the sequence forget it."""
    armed_at_function_entry: bool = False
    completed_by: str = ""
    """``sequence``: a node that makes the sequence forget its middle step when it is on a register of the first."""
    flushed_by: str = ""
    """``sequence``: the class of which so many instructions in a row as ``flushed_in_a_row`` says for the wave size
    make the sequence forget all its steps."""
    flushed_in_a_row: dict[str, int] = {}
    same_instruction: bool = False
    """One instruction may be the first and the second step (it reads, then writes)."""
    within: tuple[int, ...] = ()
    """``forwarding``: most units around the middle step, and most units before the reader."""
    within_class: str = ""
    """``directly_before``, ``directly_after``: the class of which an instruction must stand right before, or right
    behind, the consumer."""
    condition: str = ""
    """``encoding``: a further condition on the kernel (``last_allocated_vgpr``). ``clause``: ``scalar_loads`` where
    only clauses of several scalar loads count."""
    profile: str = ""
    """The opt-in profile that the edge belongs to; empty for an edge that always counts."""
    wave: int | None = None
    feature: dict[str, str] = {}
    state: str = ""
    over_conservative: str = ""
    """What LLVM inserts for this rule although no hardware document asks for it (and the gate does not report)."""
    missed_by: str = ""
    """Compilers that do not see the hazard."""
    conflict: str = ""
    """On what the sources, or published kernels, disagree, and which of them the edge follows."""


class ModeState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A wavefront state that makes edges active: set and cleared by instruction classes."""

    title: str
    set_by: str
    cleared_by: tuple[str, ...]


class Unit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A unit of distance: how many instructions of a class lie between. ``wait_states`` is built in."""

    title: str
    counts: str


class DppControl(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A DPP control that a target has: its least and greatest value, or the values allowed."""

    source: tuple[str, ...]
    first: int | None = None
    last: int | None = None
    values: tuple[int, ...] = ()
    wide: bool = False
    """The control also works for 64-bit operations."""


class DppReplacement(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An exact equivalent of a DPP control that a target lacks.

    ``control`` is the other control, or ``lines`` the sequence; ``{dst}``, ``{src}`` are the operands, ``{n}`` the
    value, ``{vtmp}`` a free VGPR, ``{stmp}`` a free SGPR. A line ``self CONTROL`` is the instruction itself with
    another control, ``self CONTROL {vtmp}`` also with another source. ``value``, ``masks`` and ``mnemonics`` say what
    it holds for; ``distinct``: only where the destination is not the source.
    """

    when: str
    source: tuple[str, ...]
    value: int | None = None
    masks: dict[str, str] = {}
    control: str = ""
    lines: tuple[str, ...] = ()
    mnemonics: tuple[str, ...] = ()
    distinct: bool = False


HouseKind = Literal["forbidden", "longest_run", "must_follow", "reserved_registers"]


class HouseRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A rule of a team's style. Nothing in the hardware asks for it, so that it is off unless a project turns it on.

    ``forbidden``: ``mnemonics`` must not be used. ``longest_run``: at most ``limit`` instructions of ``instruction``
    (a class) in a row. ``must_follow``: right behind ``mnemonics`` stands one of ``then``. ``reserved_registers``:
    ``registers`` (``v[240:255]``) are not written.
    """

    title: str
    kind: HouseKind
    comment: str
    enabled: bool = False
    severity: Severity = "warning"
    mnemonics: tuple[str, ...] = ()
    then: tuple[str, ...] = ()
    instruction: str = ""
    limit: int = 0
    registers: tuple[str, ...] = ()


class Override(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change to an edge or a house rule made by a project or by a more specific file."""

    reason: str
    severity: Severity | None = None
    enabled: bool | None = None
    required: int | dict[str, int] | None = None


class ConstraintFile(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"schema_": "schema", "schema_uri": "$schema"}
):
    """One file as written."""

    schema_: str
    name: str
    title: str = ""
    schema_uri: str = ""
    gpu: str = ""
    rocm: str = ""
    extends: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sources: dict[str, str] = {}
    s_nop_maximum: int | None = None
    half_registers: bool = False
    """The target addresses 16-bit halves of VGPRs."""
    classes: dict[str, InstructionClass] = {}
    nodes: dict[str, Node] = {}
    units: dict[str, Unit] = {}
    states: dict[str, ModeState] = {}
    grades: dict[str, tuple[str, ...]] = {}
    """Grade of a matrix instruction (``XDL/8``: kind and passes) -> its mnemonics; ``MNEMONIC|FORMATS`` narrows it."""
    aliases: dict[str, str] = {}
    """Second names of an instruction -> the name that ``grades`` uses."""
    hwregs: dict[str, int] = {}
    edges: dict[str, Edge] = {}
    overrides: dict[str, Override] = {}
    abi: dict[str, int] = {}
    """Limits of the target's registers and memory (keys name them): addressable registers, bytes of LDS."""
    dpp: dict[str, DppControl] = {}
    dpp_replacements: dict[str, tuple[DppReplacement, ...]] = {}
    house: dict[str, HouseRule] = {}


class ConstraintGraph(msgspec.Struct, frozen=True):
    """Everything that holds for one GPU and ROCm version, with ``extends`` and overrides resolved."""

    name: str
    gpu: str
    rocm: str
    s_nop_maximum: int
    half_registers: bool
    sources: dict[str, str]
    classes: dict[str, InstructionClass]
    nodes: dict[str, Node]
    units: dict[str, Unit]
    states: dict[str, ModeState]
    grades: dict[str, tuple[str, ...]]
    aliases: dict[str, str]
    hwregs: dict[str, int]
    edges: dict[str, Edge]
    disabled: dict[str, str]
    """Rules switched off by an override, with the reason."""
    abi: dict[str, int]
    dpp: dict[str, DppControl]
    dpp_replacements: dict[str, tuple[DppReplacement, ...]]
    house: dict[str, HouseRule]
