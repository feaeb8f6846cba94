"""The kernel descriptor as the ``.amdhsa_kernel`` block (or a code object) states it."""

from __future__ import annotations

import msgspec

from asmevo_gate.isa.resource_limits import DirectiveFacts, descriptor_directives, has_xnack
from asmevo_gate.isa.targets import Target
from asmevo_gate.program.symbol_values import SymbolValues
from asmevo_gate.source.expressions import ExpressionError
from asmevo_gate.source.statement import Kind, Source, SourceProblem, Statement

_PREFIX = ".amdhsa_"


class Descriptor(msgspec.Struct, frozen=True):
    """One ``.amdhsa_kernel`` block.

    ``values`` holds the evaluated value of each directive given, by its name without ``.amdhsa_``
    (``{"next_free_vgpr": 24}``); a directive whose expression could not be evaluated is in ``unknown`` with
    the reason. ``places`` maps the same names to their statements. Defaults come from the ISA's ABI data,
    not from here: :func:`directive_value` joins both. ``problems`` are what the assembler would reject in
    the block.
    """

    kernel: str
    values: dict[str, int]
    unknown: dict[str, str]
    places: dict[str, Statement]
    opening: Statement | None
    """The ``.amdhsa_kernel`` statement; ``None`` for a descriptor read from a code object."""
    problems: tuple[SourceProblem, ...] = ()


def parse_descriptors(source: Source, target: Target | None = None) -> dict[str, Descriptor]:
    """The kernel descriptors of a file by kernel name, in file order.

    ``target`` is needed for expressions that depend on it (``totalnumvgprs``, ``extrasgprs``) and for telling
    directives that the target lacks. Of two blocks for one kernel the first counts; the second is a problem.
    """
    symbols: SymbolValues | None = None
    blocks: dict[str, _Block] = {}
    block: _Block | None = None
    for statement in source.besides_instructions:
        if statement.kind is not Kind.DIRECTIVE or "amdhsa_" not in statement.name:
            continue
        name = statement.name.lower()
        if name == ".amdhsa_kernel":
            if block:
                block.report(statement, "a new .amdhsa_kernel block starts before .end_amdhsa_kernel", "end the block")
            block = _Block(statement.rest.strip().strip('"'), statement)
            first = blocks.setdefault(block.kernel, block)
            if first is not block:
                first.report(
                    statement,
                    f"kernel '{block.kernel}' has a second descriptor",
                    "remove one of the two blocks",
                )
        elif name == ".end_amdhsa_kernel":
            if block:
                block.closed = True
            block = None
        elif name.startswith(_PREFIX) and block:
            symbols = symbols or SymbolValues(source, target)
            block.add(statement, symbols, target)
    return {kernel: block.finish(target) for kernel, block in blocks.items()}


class _Block(msgspec.Struct):
    """A descriptor while its directives are collected."""

    kernel: str
    opening: Statement
    values: dict[str, int] = {}
    unknown: dict[str, str] = {}
    places: dict[str, Statement] = {}
    problems: list[SourceProblem] = []
    closed: bool = False

    def report(self, statement: Statement, message: str, repair: str) -> None:
        self.problems.append(SourceProblem("error", message, repair, statement.place, statement.frames))

    def add(self, statement: Statement, symbols: SymbolValues, target: Target | None) -> None:
        name = statement.name[len(_PREFIX) :].lower()
        facts = descriptor_directives().get(name)
        if facts is None:
            self.report(
                statement,
                f"unknown directive '{statement.name}'",
                "see AMDGPUUsage",
            )
            return
        if target and not facts.exists_on(target):
            self.report(statement, f"'{statement.name}' does not exist on {target.name}", "remove it")
        if name in self.places:
            first = self.places[name].place.line
            self.report(statement, f"'{statement.name}' stands in line {first} too", "keep one")
            return
        self.places[name] = statement
        try:
            value = symbols.evaluate(statement.rest)
        except ExpressionError as reason:
            self.unknown[name] = str(reason)
            return
        if not 0 <= value < 1 << facts.bits:
            most = (1 << facts.bits) - 1
            self.report(statement, f"'{statement.name} {value}' is out of range 0..{most}", "correct it")
        self.values[name] = value

    def finish(self, target: Target | None) -> Descriptor:
        if not self.closed:
            self.report(self.opening, f"the descriptor of '{self.kernel}' has no .end_amdhsa_kernel", "end the block")
        if target:
            for name, facts in descriptor_directives().items():
                if facts.default == "required" and facts.exists_on(target) and name not in self.places:
                    message = f"'{self.kernel}' lacks '{_PREFIX}{name}', which {target.name} requires"
                    self.report(self.opening, message, f"add {_PREFIX}{name}")
        return Descriptor(self.kernel, self.values, self.unknown, self.places, self.opening, tuple(self.problems))


def directive_value(descriptor: Descriptor, name: str, target: Target) -> int | None:
    """The value of a directive, or its default when the block does not give it.

    ``None`` when it could not be evaluated, or when it is required and missing; also for a directive that the
    target lacks. Defaults that depend on the target: wave size and work-group mode as the target's features
    have them, XNACK as the target id says.
    """
    if name in descriptor.values:
        return descriptor.values[name]
    facts = descriptor_directives()[name]
    if name in descriptor.unknown or not facts.exists_on(target):
        return None
    return _default(name, facts, target)


def _default(name: str, facts: DirectiveFacts, target: Target) -> int | None:
    if isinstance(facts.default, int):
        return facts.default
    if facts.default == "required":
        return None
    if name == "wavefront_size32":
        return int(target.wave_sizes[0] == 32)
    if name == "reserve_xnack_mask":
        return int(has_xnack(target))
    if name == "workgroup_processor_mode":
        return int(target.features.get("cumode") != "+")
    return int(target.features.get("tgsplit") == "+") if name == "tg_split" else None
