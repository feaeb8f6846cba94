"""The question for a language model: the task, the GPU, the constraints that apply, the code, and what was refused.

Only what :mod:`canonical_text` lets through and texts of the gate's own data stand in it.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from asmevo_gate.analysis.side_effects import is_timing
from asmevo_gate.constraints.explanation import counted
from asmevo_gate.constraints.function_view import FunctionView
from asmevo_gate.constraints.model import ConstraintGraph, Edge
from asmevo_gate.errors import LimitError, UsageError
from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.isa.registers import set_name
from asmevo_gate.rewrite.answer_grammar import DONE
from asmevo_gate.rewrite.answer_vocabulary import Form, Part, Vocabulary
from asmevo_gate.rewrite.canonical_text import SYMBOL, canonical
from asmevo_gate.rewrite.proposal import Refusal, Situation

PLACE = "{instruction}"
MOST_TEMPLATE = 8192
"""Characters of a template."""
MOST_CONSTRAINTS = 8
MOST_REFUSALS = 4
MOST_FORMS = 6
_MOST_REASON = 160
_WORD = re.compile(r"[A-Za-z_.$][A-Za-z0-9_.$@]*")
_UNSAFE = re.compile(r"[^A-Za-z0-9 _.,:()\[\]+\-*/=%>']+")


@dataclass(frozen=True)
class Refused:
    """An answer of the model and why it was refused."""

    lines: tuple[str, ...]
    refusal: Refusal


def checked_template(template: str) -> str:
    """A template that can be filled.

    Raises:
        UsageError: it has no place for the instruction, or holds control characters.
        LimitError: it is too long.
    """
    if len(template) > MOST_TEMPLATE:
        raise LimitError(
            f"the prompt template has {len(template)} characters, more than {MOST_TEMPLATE}", "shorten the template"
        )
    if template.count(PLACE) != 1:
        raise UsageError(
            f"the prompt template has {template.count(PLACE) or 'no'} {PLACE}", f"put {PLACE} once where the task goes"
        )
    if any(not character.isprintable() and character not in "\n\t" for character in template):
        raise UsageError("the prompt template holds control characters", "use plain text")
    return template


def filled(template: str | None, instruction: str) -> str:
    """The template with the instruction in its place; the instruction alone without one."""
    return instruction if template is None else template.replace(PLACE, instruction)


def instruction(
    situation: Situation, words: Vocabulary, graph: ConstraintGraph | None, refused: Sequence[Refused] = ()
) -> str:
    """The whole task for one part of a region."""
    part, region = words.part, situation.region
    live = situation.live_after
    before = region.live_in if part.first == 0 else live[part.first - 1]
    behind = region.live_out if part.end == len(live) else live[part.end - 1]
    code = situation.decoded[part.first : part.end]
    reads = writes = 0
    for decoded in code:
        reads |= decoded.reads & ~writes
        writes |= decoded.writes
    lines = [
        "Improve this block of AMD GPU assembly: fewer cycles, instructions or live VGPRs.",
        f"Answer with edits, one a line, and then '{DONE}'. Answer '{DONE}' alone if nothing can be improved.",
        "",
        f"GPU: {region.function.target.name}, wave size {region.function.wave_size}, ROCm {_rocm(graph)}",
        f"Set before the block and read in it: {set_name(before & reads)}",
        f"Must keep their values behind the block: {set_name(behind & writes)}",
        f"Free registers: {', '.join(words.free) or 'none'}",
        *_constraints(situation, part, graph),
        "",
        *_block(situation, code),
        "",
        "Edits:",
        *_usage(words),
        *_refusals(refused, situation),
    ]
    return "\n".join(lines) + "\n"


def _rocm(graph: ConstraintGraph | None) -> str:
    return graph.rocm if graph is not None and graph.rocm else "unknown"


def _block(situation: Situation, code: Sequence[Decoded]) -> Iterator[str]:
    """The instructions, with the clk until a result can be used where the fingerprint has the figure."""
    latencies = [0.0 if is_timing(decoded) else situation.timing.step(decoded).latency for decoded in code]
    known = [latency for latency in latencies if latency]
    usual = statistics.mode(known) if known else 0.0
    yield f"Block (results after {usual:g} clk where nothing else is said):" if known else "Block:"
    for number, (decoded, latency) in enumerate(zip(code, latencies, strict=True)):
        other = f" ; result after {latency:g} clk" if latency and latency != usual else ""
        yield f"{number}: {canonical(decoded)}{other}"


def _usage(words: Vocabulary) -> Iterator[str]:
    yield "delete N: take instruction N out"
    if words.moves:
        yield "move N before M: put instruction N in front of instruction M"
    if words.operands:
        yield "set N.O R: operand O of instruction N (0 is the first) becomes register R"
    if words.inserts:
        yield f"insert {_example(words.inserts[0])} before N: a register move from A to the free register D"
    for form in words.forms[:MOST_FORMS]:
        yield f"write N: {_example(form)}: in place of instruction N"
    yield DONE


def _example(form: Form) -> str:
    return f"{form.mnemonic} {', '.join('DABC'[: len(form.kinds)])}"


def _constraints(situation: Situation, part: Part, graph: ConstraintGraph | None) -> Iterator[str]:
    """The edges of the graph that concern an instruction of the part, both sides of which the function has."""
    if graph is None:
        return
    function, region = situation.region.function, situation.region
    view = FunctionView(function, graph)
    inside = range(region.first + part.first, region.first + part.end)
    found: dict[str, None] = {}
    for edge in graph.edges.values():
        if edge.producer and edge.consumer and view.active(edge, frozenset()) and _has_middle(view, edge):
            sides = view.matching(edge.producer), view.matching(edge.consumer)
            if all(sides) and any(index in inside for side in sides for index in side):
                found[f"- {edge.title}{_distance(edge)}"] = None
    shown = list(found)[:MOST_CONSTRAINTS]
    if shown:
        more = len(found) - len(shown)
        yield f"Constraints of this GPU that apply{f' (the first {len(shown)} of {len(found)})' if more else ''}:"
        yield from shown


def _has_middle(view: FunctionView, edge: Edge) -> bool:
    """False for an edge that needs an instruction in between which the function does not have."""
    if not edge.through:
        return True
    middle = view.matcher.class_mask((edge.through,))
    return any(traits is not None and traits.classes & middle for traits in view.traits)


def _distance(edge: Edge) -> str:
    by_grade = isinstance(edge.required, dict)
    required = max(edge.required.values(), default=0) if isinstance(edge.required, dict) else edge.required
    if edge.kind != "distance" or not required:
        return ""
    return f": {'up to ' if by_grade else ''}{counted(required, edge.unit)} between"


def _refusals(refused: Sequence[Refused], situation: Situation) -> Iterator[str]:
    if refused:
        yield ""
        yield "These answers were refused; give another one:"
    for one in refused[-MOST_REFUSALS:]:
        yield f"{' / '.join(one.lines)}: {one.refusal.class_}: {_reason(one.refusal, situation)}"


def _reason(refusal: Refusal, situation: Situation) -> str:
    """The gate's words without anything that the source named."""
    if refusal.class_ == "assembler":
        return "it does not assemble"
    foreign = _named_by_source(situation)
    words = _UNSAFE.sub(" ", _WORD.sub(lambda word: SYMBOL if word[0] in foreign else word[0], refusal.reason))
    return words[:_MOST_REASON]


def _named_by_source(situation: Situation) -> set[str]:
    function = situation.region.function
    names = {function.name, *(block.label or "" for block in function.blocks)}
    for one in function.instructions:
        shown = canonical(one.decoded) if one.decoded is not None else ""
        names |= set(_WORD.findall(one.statement.text)) - set(_WORD.findall(shown))
    return names
