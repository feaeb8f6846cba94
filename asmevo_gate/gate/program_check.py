"""One program, compared with the same file at base: its findings, its coverage, and the figures of its kernels.

The work has two parts that share next to no analysis, so that two processes can do them at the same time: the rules
about what happens in time (memory waits, hazards), and everything else (rules about registers, descriptors and control
flow; figures). Who does them changes nothing in the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import msgspec

from asmevo_gate.constraints.model import ConstraintGraph
from asmevo_gate.errors import GateError
from asmevo_gate.gate.block_match import block_reports
from asmevo_gate.gate.comparison import metric_delta
from asmevo_gate.gate.file_check import CheckedProgram, check_facts, file_facts, kernel_metrics
from asmevo_gate.gate.findings import findings_of
from asmevo_gate.gate.picture import KernelPicture, kernel_picture
from asmevo_gate.gate.result import Coverage, Finding, KernelReport
from asmevo_gate.gate.settings import Settings
from asmevo_gate.program.model import Program
from asmevo_gate.rules.facts import FileFacts, KernelFacts
from asmevo_gate.rules.rule import Family, Rule

IN_TIME: frozenset[Family] = frozenset(("hazard", "wait", "sequence"))
"""The families of the first part: they rest on the memory counters and on the constraint graph."""


class Found(msgspec.Struct, frozen=True):
    """What one part of the rules found.

    ``findings`` are those at head, by place; ``at_base`` the fingerprints of those at base. ``compared`` is false where
    there is a base that could not be checked: head is then judged whole, which never hides a finding.
    """

    findings: tuple[Finding, ...]
    at_base: tuple[str, ...]
    compared: bool


class Rest(msgspec.Struct, frozen=True):
    """What the second part gives: findings, and the kernels in numbers and pictures."""

    found: Found
    kernels: tuple[KernelReport, ...]
    pictures: tuple[KernelPicture, ...]


class ProgramCheck(msgspec.Struct, frozen=True, dict=True):
    """A program and its version at base (``None``: there is none that can be read), made ready to be checked.

    ``draw``: pictures of the kernels are asked for.
    """

    head: Program
    base: Program | None
    constraints: ConstraintGraph
    settings: Settings
    draw: bool = False

    @cached_property
    def facts(self) -> FileFacts:
        """The facts of head, with those of base behind them; both parts ask the same."""
        return self._facts(self.head, self._base_facts)

    @cached_property
    def _base_facts(self) -> FileFacts | None:
        return None if self.base is None else self._facts(self.base)

    def in_time(self) -> tuple[Found, Coverage]:
        """The first part: waits and hazards, and how much of the code was modelled.

        Raises:
            GateError: the code exceeds a limit of an analysis.
        """
        found, checked = self._found(lambda rule: rule.family in IN_TIME)
        return found, Coverage(checked.instructions, checked.modelled, checked.unknown)

    def rest(self) -> Rest:
        """The second part: the other rules, and the figures.

        Raises:
            GateError: the code exceeds a limit of an analysis, or nothing times the GPU's instructions.
        """
        found, checked = self._found(lambda rule: rule.family not in IN_TIME)
        kernels = tuple(reported(checked.facts))
        pictures = tuple(kernel_picture(facts) for facts in kernels) if self.draw else ()
        return Rest(found, tuple(_kernel_report(facts) for facts in kernels), pictures)

    def _found(self, belongs: Callable[[Rule], bool]) -> tuple[Found, CheckedProgram]:
        """What the rules of one part find. A base that they cannot check is as good as none."""
        disabled, severities = self.settings.disabled, self.settings.severities

        def runs(rule: Rule) -> bool:
            return rule.id not in disabled and belongs(rule)

        facts, compared = self.facts, True
        at_base: tuple[Finding, ...] = ()
        if self._base_facts is not None:
            try:
                at_base = findings_of(check_facts(self._base_facts, runs), severities)
            except GateError:
                facts, compared = self._facts(self.head), False
        checked = check_facts(facts, runs)
        return Found(findings_of(checked, severities), tuple(one.fingerprint for one in at_base), compared), checked

    def _facts(self, program: Program, base: FileFacts | None = None) -> FileFacts:
        return file_facts(program, base, self.constraints, frozenset(self.settings.profiles))


def reported(facts: FileFacts) -> Iterator[KernelFacts]:
    """The kernels of a file; every function of one without kernels."""
    only_kernels = bool(facts.program.kernels)
    return (one for one in facts.kernels if one.kernel.is_kernel or not only_kernels)


def _kernel_report(facts: KernelFacts) -> KernelReport:
    metrics = kernel_metrics(facts)
    base_metrics = kernel_metrics(facts.base) if facts.base is not None else None
    return KernelReport(
        name=facts.kernel.name,
        file=facts.program.path,
        gpu=facts.kernel.target.name,
        metrics=metrics,
        base=base_metrics,
        delta=metric_delta(metrics, base_metrics) if base_metrics is not None else None,
        blocks=tuple(block_reports(facts)),
    )
