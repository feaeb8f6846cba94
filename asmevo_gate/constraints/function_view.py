"""A function as the constraint graph sees it: traits of each instruction, blocks, wavefront mode states."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import chain

from asmevo_gate.constraints.matching import Matcher, Traits, matcher_for
from asmevo_gate.constraints.model import ConstraintGraph, Edge
from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.program.model import Block, Function


class FunctionView:
    """Traits and control flow of one function; made once and shared by the evaluators of all edge kinds."""

    def __init__(self, function: Function, graph: ConstraintGraph) -> None:
        self.function = function
        self.graph = graph
        self.matcher: Matcher = matcher_for(graph, function.target)
        self.keys = [0] * len(function.instructions)
        """For each instruction the key of its text."""
        self.texts: dict[int, Decoded | None] = {}
        """Key -> what the text means, once for each distinct meaning."""
        for _, decoded, indices in function.spellings:
            key = id(decoded)
            self.texts[key] = decoded
            for index in indices:
                self.keys[index] = key
        traits = self.matcher.traits
        self.distinct: dict[int, Traits | None] = {
            key: None if decoded is None else traits(decoded) for key, decoded in self.texts.items()
        }
        """Key -> what the graph sees of the text."""
        self.blocks: tuple[Block, ...] = function.blocks
        self._states: dict[str, list[bool]] = {}
        self._matching: dict[str, list[int]] = {}
        self._registers: dict[str, dict[int, int]] = {}
        self._related: dict[int, tuple[dict[int, int], dict[int, int]]] = {}

    @cached_property
    def traits(self) -> list[Traits | None]:
        """What the graph sees of each instruction; ``None`` for one without a meaning."""
        return list(map(self.distinct.__getitem__, self.keys))

    @cached_property
    def _alike(self) -> dict[tuple[str, ...], list[tuple[int, Traits]]]:
        """Nodes -> the distinct texts, by key, that match just these."""
        alike: dict[tuple[str, ...], list[tuple[int, Traits]]] = {}
        for key, traits in self.distinct.items():
            if traits is not None:
                alike.setdefault(tuple(traits.nodes), []).append((key, traits))
        return alike

    @cached_property
    def nodes(self) -> frozenset[str]:
        """The nodes that some instruction matches."""
        return frozenset(chain.from_iterable(self._alike))

    def registers(self, node: str) -> dict[int, int]:
        """The registers of each distinct text that matches a node, by its key."""
        known = self._registers.get(node)
        if known is None:
            texts = chain.from_iterable(texts for nodes, texts in self._alike.items() if node in nodes)
            known = self._registers[node] = {key: traits.nodes[node] for key, traits in texts}
        return known

    def related(self, edge: Edge) -> tuple[dict[int, int], dict[int, int]]:
        """The producers and the consumers of a distance edge that have a register in common with one of the other side,
        where the edge asks for it; keys and registers as of :meth:`registers`."""
        known = self._related.get(id(edge))
        if known is None:
            known = self._related[id(edge)] = self._relate(edge)
        return known

    def _relate(self, edge: Edge) -> tuple[dict[int, int], dict[int, int]]:
        if not self.nodes >= {edge.producer, edge.consumer}:
            return {}, {}
        producers, consumers = self.registers(edge.producer), self.registers(edge.consumer)
        if edge.relation == "any":
            return producers, consumers
        producers = _touching(producers, consumers)
        return producers, _touching(consumers, producers)

    @cached_property
    def _named(self) -> dict[str, list[int]]:
        named: dict[str, list[int]] = {}
        for key, decoded in self.texts.items():
            if decoded is not None:
                named.setdefault(decoded.base, []).append(key)
        return named

    def named(self, prefixes: tuple[str, ...]) -> list[int]:
        """The keys of the texts whose mnemonic begins with one of some prefixes."""
        return [key for base, keys in self._named.items() if base.startswith(prefixes) for key in keys]

    @cached_property
    def _places(self) -> dict[int, list[int]]:
        places: dict[int, list[int]] = {}
        for _, decoded, indices in self.function.spellings:
            places.setdefault(id(decoded), []).extend(indices)
        return places

    def places(self, keys: Iterable[int]) -> list[int]:
        """The instructions with the texts of some keys, in order."""
        return sorted(chain.from_iterable(map(self._places.__getitem__, keys)))

    def matching(self, node: str) -> list[int]:
        """The instructions that match a node, in order."""
        known = self._matching.get(node)
        if known is None:
            known = self._matching[node] = self.places(self.registers(node))
        return known

    @cached_property
    def block_of(self) -> list[int]:
        """Instruction -> number of its block."""
        numbers: list[int] = []
        for block in self.blocks:
            numbers.extend([block.number] * (block.end - block.first))
        return numbers

    @cached_property
    def returns(self) -> bool:
        """True for a device function: it goes back to a caller and has no kernel descriptor."""
        if self.function.is_kernel or self.function.entry is None:
            return False
        return any(
            instruction.decoded is not None and instruction.decoded.base == "s_setpc_b64"
            for instruction in self.function.instructions
        )

    def is_call(self, index: int) -> bool:
        """True when the instruction calls a function, so that unknown code runs behind it."""
        decoded = self.function.instructions[index].decoded
        return decoded is not None and decoded.is_call

    def active(self, edge: Edge, profiles: frozenset[str]) -> bool:
        """True when the edge applies to this function at all."""
        if edge.wave is not None and edge.wave != self.function.wave_size:
            return False
        if edge.profile and edge.profile not in profiles:
            return False
        features = self.function.target.features
        return all(features.get(name) == value for name, value in edge.feature.items())

    def in_state(self, state: str) -> list[bool]:
        """For each instruction, whether the wavefront may be in the mode when it issues."""
        known = self._states.get(state)
        if known is None:
            known = self._states[state] = self._follow_state(state)
        return known

    def _follow_state(self, name: str) -> list[bool]:
        state = self.graph.states[name]
        sets = self.matcher.class_mask((state.set_by,))
        clears = self.matcher.class_mask(state.cleared_by)
        result = [False] * len(self.traits)
        at_entry = [False] * len(self.blocks)
        worklist = list(range(len(self.blocks)))
        visited = [False] * len(self.blocks)
        while worklist:
            number = worklist.pop(0)
            visited[number] = True
            block = self.blocks[number]
            on = at_entry[number]
            for index in range(block.first, block.end):
                result[index] = on
                traits = self.traits[index]
                if traits is not None:
                    on = bool(traits.classes & sets) or (on and not traits.classes & clears)
            for successor in block.successors:
                if on and not at_entry[successor]:
                    at_entry[successor] = True
                    if visited[successor]:
                        worklist.append(successor)
        return result


def _touching(texts: dict[int, int], others: dict[int, int]) -> dict[int, int]:
    """The texts that have a register in common with one of the others."""
    touched = 0
    for registers in others.values():
        touched |= registers
    return {key: registers for key, registers in texts.items() if registers & touched}
