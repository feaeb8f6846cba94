"""The chain that a proposal must pass: scope, parse, constraints, proof, cost gain, assembler. Nothing is trusted.

What is judged is the text of the file with the edits made, read again from the start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from asmevo_gate.analysis.pending_memory import pending_memory
from asmevo_gate.analysis.pending_slack import Slack, too_strong_waits
from asmevo_gate.analysis.regions import Region, exclusion
from asmevo_gate.analysis.side_effects import is_timing
from asmevo_gate.cost.timing import timing_for
from asmevo_gate.errors import GateError
from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.program.model import Function, Program
from asmevo_gate.proof.equivalence import Proof, ProofOptions, Prover
from asmevo_gate.rewrite.edit_script import ScriptError, result_texts, text_edits
from asmevo_gate.rewrite.gain import Worth, metrics, no_gain, surroundings, worth
from asmevo_gate.rewrite.proposal import Proposal, RewriteOptions
from asmevo_gate.rewrite.wait_strength import too_weak
from asmevo_gate.source.edits import TextEdit, apply_edits
from asmevo_gate.source.statement import Kind, Statement

RejectionClass = Literal["scope", "parse", "constraint", "not_proved", "refuted", "no_gain", "assembler"]
Level = Literal["static", "compile"]


class Judge(Protocol):
    """What the chain asks of the layers above: the rules and the assembler."""

    def parse(self, text: str) -> Program:
        """The program of a text. Raises ``GateError`` when it cannot be read."""

    def findings(self, program: Program) -> Counter[tuple[str, str, str]]:
        """Everything that the gate reports or cannot check, as (rule, kernel, words), each with its number."""

    def assembles(self, program: Program) -> str | None:
        """``""`` when the text assembles, the assembler's words when not, ``None`` when no assembler is at hand."""


@dataclass(frozen=True)
class Candidate:
    """A change of one region: the edits of the file's text, and the statements that should come out."""

    region: Region
    proposals: tuple[Proposal, ...]
    edits: tuple[TextEdit, ...]
    texts: tuple[str, ...]

    @property
    def title(self) -> str:
        """What it does, in words."""
        return "; ".join(dict.fromkeys(one.title for one in self.proposals))

    @property
    def key(self) -> tuple[str, int, tuple[str, ...], tuple[str, ...]]:
        """The same for the same change of the same code."""
        old = tuple(one.statement.text for one in self.region.instructions)
        return self.region.function.name, self.region.first, old, self.texts


@dataclass(frozen=True)
class Rejection:
    """A candidate that failed: at which link of the chain, and why."""

    candidate: Candidate
    class_: RejectionClass
    reason: str
    detail: tuple[str, ...] = ()


@dataclass(frozen=True)
class Acceptance:
    """A candidate that passed: its proof, its worth before and after, and the level of verification reached."""

    candidate: Candidate
    proof: Proof
    old: Worth
    new: Worth
    level: Level
    alone: bool = True
    """It also stands without the other rewrites of the file."""

    @property
    def metrics(self) -> dict[str, float]:
        """Numbers for reports."""
        return metrics(self.old, self.new)


@dataclass(frozen=True)
class Verdict:
    """What came of some candidates; ``program`` has the accepted ones made."""

    program: Program
    accepted: tuple[Acceptance, ...]
    rejected: tuple[Rejection, ...]


def candidate(program: Program, region: Region, proposal: Proposal) -> Candidate | Rejection:
    """A proposal as a change of the text: the link "scope" of the chain."""
    try:
        texts = tuple(result_texts(region, proposal.script))
        edits = tuple(text_edits(region, proposal.script, program.source.text))
    except ScriptError as error:
        return Rejection(Candidate(region, (proposal,), (), ()), "scope", str(error))
    return Candidate(region, (proposal,), edits, texts)


@dataclass
class Chain:
    """Judges candidates against one version of a file."""

    program: Program
    judge: Judge
    options: RewriteOptions
    waves: dict[str, int]
    """Waves a SIMD of each function."""
    known: Counter[tuple[str, str, str]] | None = None
    _provers: dict[str, Prover] = field(default_factory=dict)
    _slack: dict[str, tuple[Slack, ...]] = field(default_factory=dict)
    _assembled: list[str | None] = field(default_factory=list)
    _new: dict[int, tuple[Decoded, ...]] = field(default_factory=dict)
    """The instructions of each candidate (by identity) as they were read."""

    def run(self, candidates: Sequence[Candidate]) -> Verdict:
        """Every candidate through the chain; those that stand alone but not together are taken one after the other."""
        rejected: list[Rejection] = []
        read = self._read(list(candidates), rejected)
        clean = self._without_findings(read, rejected)
        standing = [one for one in clean if not _note(self._waits_less(one), one, rejected)]
        proofs = {id(one): self._prove(one) for one in standing}
        proved = [one for one in standing if not _note(_unproved(proofs[id(one)]), one, rejected)]
        values = {id(one): self._worth(one) for one in proved}
        better = [one for one in proved if not _note(_worthless(*values[id(one)]), one, rejected)]
        better = self._without_findings(better, rejected) if len(better) != len(clean) else better
        chosen, level = self._assembling(better, rejected)
        program = self._made(chosen) if chosen else self.program
        accepted = tuple(Acceptance(one, proofs[id(one)], *values[id(one)], level) for one in chosen)
        return Verdict(program, accepted, tuple(rejected))

    def stands_alone(self, one: Candidate) -> bool:
        """True when a candidate brings no new finding without the others."""
        return not self._new_findings([one])

    def _read(self, candidates: list[Candidate], rejected: list[Rejection]) -> list[Candidate]:
        """Those whose text reads as the instructions that were meant, each of which has a meaning."""
        if not candidates:
            return []
        failed: tuple[RejectionClass, str] | None = None
        try:
            made = self._made(candidates)
            reason = structure_difference(self.program, made, candidates)
            failed = ("scope", reason) if reason else None
        except GateError as error:
            failed = "parse", error.message
        if failed is None:
            return [one for one in candidates if not _note(self._meaningless(one, made, candidates), one, rejected)]
        if len(candidates) == 1:
            rejected.append(Rejection(candidates[0], *failed))
            return []
        middle = len(candidates) // 2
        return self._read(candidates[:middle], rejected) + self._read(candidates[middle:], rejected)

    def _meaningless(
        self, one: Candidate, made: Program, candidates: Sequence[Candidate]
    ) -> tuple[RejectionClass, str] | None:
        """Take the new instructions from the program that was read, and say which of them has no meaning."""
        name = one.region.function.name
        moved = sum(
            len(other.texts) - len(other.region.instructions)
            for other in candidates
            if other.region.function.name == name and other.region.first < one.region.first
        )
        function = next(function for function in made.functions if function.name == name)
        first = one.region.first + moved
        found = function.instructions[first : first + len(one.texts)]
        for instruction in found:
            if instruction.decoded is None:
                reason = instruction.unknown.reason if instruction.unknown is not None else "it has no meaning"
                return "parse", f"'{instruction.statement.text}': {reason}"
            if instruction.decoded.text not in _decoded_of(one) and exclusion(instruction):
                return "scope", f"'{instruction.statement.text}': {exclusion(instruction)}"
        self._new[id(one)] = tuple(instruction.decoded for instruction in found if instruction.decoded is not None)
        return None

    def _made(self, candidates: Iterable[Candidate]) -> Program:
        edits = [edit for one in candidates for edit in one.edits]
        return self.judge.parse(apply_edits(self.program.source.text, edits))

    def _waits_less(self, one: Candidate) -> tuple[RejectionClass, str] | None:
        """The part of the constraints that no rule shows: waits that order memory for other waves."""
        old, new = ([item for item in code if item.classes & Op.WAIT] for code in (_code(one), self._new[id(one)]))
        if [item.text for item in old] == [item.text for item in new]:
            return None
        function = one.region.function
        if function.name not in self._slack:
            self._slack[function.name] = too_strong_waits(pending_memory(function))
        reason = too_weak(one.region, self._new[id(one)], self._slack[function.name])
        return ("constraint", reason) if reason else None

    def _without_findings(self, candidates: list[Candidate], rejected: list[Rejection]) -> list[Candidate]:
        """The largest part found by halving that brings no new finding."""
        if not candidates:
            return []
        new = self._new_findings(candidates)
        if not new:
            return candidates
        if len(candidates) == 1:
            rule, _, words = new[0]
            more = f" (and {len(new) - 1} more)" if len(new) > 1 else ""
            details = tuple(f"{found[0]}: {found[2]}" for found in new)
            rejected.append(Rejection(candidates[0], "constraint", f"{rule}: {words}{more}", details))
            return []
        middle = len(candidates) // 2
        left = self._without_findings(candidates[:middle], rejected)
        right = self._without_findings(candidates[middle:], rejected)
        kept = left + right
        while kept and self._new_findings(kept):
            # Each half stands alone, but not with the other: the later ones have their turn in the next round.
            kept = kept[: len(kept) // 2]
        return kept

    def _new_findings(self, candidates: Sequence[Candidate]) -> list[tuple[str, str, str]]:
        if self.known is None:
            self.known = self.judge.findings(self.program)
        try:
            made = self._made(candidates)
        except GateError as error:
            return [("parse", "", error.message)]
        reason = structure_difference(self.program, made, candidates)
        if reason:
            return [("scope", "", reason)]
        return sorted((self.judge.findings(made) - self.known).elements())

    def _prove(self, one: Candidate) -> Proof:
        function = one.region.function
        prover = self._provers.get(function.name)
        if prover is None:
            options = ProofOptions(solver_milliseconds=self.options.solver_milliseconds)
            prover = self._provers[function.name] = Prover(function.target, function.wave_size, options)
        return prover.prove(one.region.instructions, self._new[id(one)], one.region.live_out)

    def _worth(self, one: Candidate) -> tuple[Worth, Worth]:
        function = one.region.function
        timing, waves = timing_for(function.target.name, function.wave_size), self.waves.get(function.name, 1)
        old = _code(one)
        live = one.region.live_out
        around = surroundings(one.region)
        return worth(old, around, timing, waves, live), worth(self._new[id(one)], around, timing, waves, live)

    def _assembling(self, candidates: list[Candidate], rejected: list[Rejection]) -> tuple[list[Candidate], Level]:
        if not candidates:
            return [], "static"
        if not self._assembled:
            self._assembled.append(self.judge.assembles(self.program))
        before = self._assembled[0]
        if before:
            words = f"the file did not assemble before the rewrite either: {before}"
            rejected += [Rejection(one, "assembler", words) for one in candidates]
            return [], "static"
        if before is None:
            kept = []
            for one in candidates:
                if self._only_old_instructions(one):
                    kept.append(one)
                else:
                    rejected.append(Rejection(one, "assembler", "no assembler is at hand that confirms the new forms"))
            return kept, "static"
        return self._confirmed(candidates, rejected), "compile"

    def _only_old_instructions(self, one: Candidate) -> bool:
        """True when every instruction but waits, padding and hints was there before."""
        old = {item.statement.text for item in one.region.instructions}
        pairs = zip(one.texts, self._new[id(one)], strict=True)
        return all(text in old or is_timing(decoded) for text, decoded in pairs)

    def _confirmed(self, candidates: list[Candidate], rejected: list[Rejection]) -> list[Candidate]:
        words = self.judge.assembles(self._made(candidates))
        if words == "":
            return candidates
        if len(candidates) == 1:
            rejected.append(Rejection(candidates[0], "assembler", words or "the assembler gave no answer"))
            return []
        middle = len(candidates) // 2
        return self._confirmed(candidates[:middle], rejected) + self._confirmed(candidates[middle:], rejected)


def _note(failed: tuple[RejectionClass, str] | None, one: Candidate, rejected: list[Rejection]) -> bool:
    if failed is not None:
        rejected.append(Rejection(one, *failed))
    return failed is not None


def _code(one: Candidate) -> list[Decoded]:
    return [item.decoded for item in one.region.instructions if item.decoded is not None]


def _decoded_of(one: Candidate) -> set[str]:
    return {item.text for item in _code(one)}


def _unproved(proof: Proof) -> tuple[RejectionClass, str] | None:
    if proof.proved:
        return None
    if proof.answer == "refuted" and proof.counterexample is not None:
        found = proof.counterexample
        lane = "" if found.lane is None else f" in lane {found.lane}"
        return "refuted", f"{found.register}{lane} would be {found.new:#x} instead of {found.old:#x}"
    return ("refuted" if proof.answer == "refuted" else "not_proved"), proof.reason


def _worthless(old: Worth, new: Worth) -> tuple[RejectionClass, str] | None:
    reason = no_gain(old, new)
    return ("no_gain", reason) if reason else None


def structure_difference(old: Program, new: Program, candidates: Sequence[Candidate]) -> str:
    """What differs between two programs besides the regions of the candidates; ``""`` when nothing does."""
    if [function.name for function in old.functions] != [function.name for function in new.functions]:
        return "the edit changes which functions the file has"
    if [_content(one) for one in _others(old)] != [_content(one) for one in _others(new)]:
        return "the edit changes a label, directive, symbol or data"
    for before, after in zip(old.functions, new.functions, strict=True):
        own = sorted(
            (one for one in candidates if one.region.function.name == before.name), key=lambda one: one.region.first
        )
        expected: list[str] = []
        position = 0
        for one in own:
            expected += _texts(before, position, one.region.first)
            expected += [_normal(text) for text in one.texts]
            position = one.region.end
        expected += _texts(before, position, len(before.instructions))
        if expected != _texts(after, 0, len(after.instructions)):
            return "the edited text does not read as the instructions that were meant"
    return ""


def _texts(function: Function, first: int, end: int) -> list[str]:
    return [_normal(instruction.statement.text) for instruction in function.instructions[first:end]]


def _normal(text: str) -> str:
    return " ".join(text.split())


def _others(program: Program) -> list[Statement]:
    return [statement for statement in program.source.statements if statement.kind is not Kind.INSTRUCTION]


def _content(statement: Statement) -> tuple[str, str, str]:
    return statement.name, _normal(statement.rest), statement.section
