"""What a rule is: its documentation, its examples and its check, in one class in one file.

``docs/rules/<id>.md``, the rule's tests and ``asmevo-gate explain`` are all made from the class, so that they
cannot disagree. The class docstring has the fixed sections ``What it does``, ``Why it matters``, ``Repair`` and
``Sources``, each a line ending in a colon at the margin followed by indented text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, Literal

import msgspec

from asmevo_gate.program.model import Instruction
from asmevo_gate.source.statement import Frame, Place

if TYPE_CHECKING:
    from asmevo_gate.rules.facts import FileFacts, KernelFacts

Severity = Literal["error", "warning", "info"]
Family = Literal[
    "hazard", "wait", "register", "descriptor", "abi", "isa", "control-flow", "sequence", "dpp", "performance"
]
FAMILIES: tuple[Family, ...] = (
    "hazard", "wait", "register", "descriptor", "abi", "isa", "control-flow", "sequence", "dpp", "performance",
)  # fmt: skip


class Example(msgspec.Struct, frozen=True):
    """A short own program for one target. ``line`` (1-based, in ``text``) is where a bad one is reported."""

    gpu: str
    text: str
    line: int | None = None
    base: str | None = None
    """Text of the base version, for rules that compare."""
    profiles: tuple[str, ...] = ()
    """Profiles that the settings switch on."""


class Violation(msgspec.Struct, frozen=True):
    """What a check reports; the gate makes a finding of it."""

    place: Place
    message: str
    repair: str = ""
    frames: tuple[Frame, ...] = ()
    producer: Instruction | None = None
    path: tuple[Instruction, ...] = ()
    severity: Severity | None = None
    """Overrides the rule's severity for this violation."""
    context: str = ""
    """Normalised instruction context for the fingerprint; the statement's own text when empty."""
    insertion: str = ""
    """A statement that repairs it on a line of its own before the place; empty where no single statement does."""
    rule: str | None = None
    """Id of the violated edge, for a rule that stands for a family of data-driven edges."""


class Rule:
    """Base class of all rules. A rule overrides ``check_kernel`` or ``check_file`` (or both)."""

    id: ClassVar[str]
    """Stable dotted id, such as ``wait.vmcnt.raw``."""
    covers: ClassVar[str] = ""
    """Regular expression of the ids that a rule reports that stands for a family of ids (:attr:`Violation.rule`)."""
    title: ClassVar[str]
    family: ClassVar[Family]
    severity: ClassVar[Severity]
    made_by_gate: ClassVar[bool] = False
    """The gate itself makes the findings (a suppression comment, the assembler's verdict): the class documents them."""
    bad: ClassVar[tuple[Example, ...]] = ()
    good: ClassVar[tuple[Example, ...]] = ()

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Violations in one kernel."""
        return ()

    def check_file(self, facts: FileFacts) -> Iterable[Violation]:
        """Violations at file level (directives, metadata, statements that could not be parsed)."""
        return ()
