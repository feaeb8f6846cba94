"""Find, read and resolve constraint files: ``extends``, overrides, choice by GPU and ROCm version."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from asmevo_gate.constraints.model import SCHEMA, ConstraintFile, ConstraintGraph, Edge, HouseRule, Override
from asmevo_gate.errors import GateError, UsageError
from asmevo_gate.isa.targets import Target

_NAME = re.compile(r"^(?P<gpu>gfx[0-9a-f]+)_rocm(?P<rocm>\d+)\.json$")
_DIRECTORY = "data/constraints"


class ConstraintFileError(GateError):
    """A constraint file is missing, malformed or contradicts itself."""


def constraint_directory() -> Path:
    """Where the constraint files are: inside the installed package, else at the top of a checkout.

    Raises:
        ConstraintFileError: neither place exists.
    """
    package = Path(__file__).resolve().parent.parent
    for place in (package / _DIRECTORY, package.parent / "constraints"):
        if (place / "schema.json").is_file():
            return place
    raise ConstraintFileError(
        "the constraint files are not installed", "reinstall asmevo-gate, or run it from a complete checkout"
    )


def file_names() -> tuple[str, ...]:
    """Every shipped constraint file (without the schema), sorted."""
    names = (entry.name for entry in constraint_directory().iterdir())
    return tuple(sorted(name for name in names if name.endswith(".json") and name != "schema.json"))


def graph_for(target: Target, rocm: str = "", override_file: Path | None = None) -> ConstraintGraph:
    """The graph for a GPU and a ROCm version (``6.1.3``); the newest file when no version is given.

    A version between two files gets the older file; one older than all gets the oldest. ``override_file`` is a
    project's own file; it is laid over the shipped one and may not weaken a hardware rule without a reason.

    Raises:
        UsageError: no file exists for the GPU.
        ConstraintFileError: a file is malformed.
    """
    shipped = _shipped_graph(_choose(target, rocm))
    if override_file is None:
        return shipped
    return lay_over(shipped, read_file(override_file.read_bytes(), str(override_file)), str(override_file))


def _choose(target: Target, rocm: str) -> str:
    by_gpu: dict[str, list[tuple[int, str]]] = {}
    for name in file_names():
        match = _NAME.match(name)
        if match:
            by_gpu.setdefault(match["gpu"], []).append((int(match["rocm"]), name))
    entries = sorted(by_gpu.get(target.name) or by_gpu.get(target.table) or [])
    if not entries:
        raise UsageError(f"no constraint file for '{target.name}'", f"known GPUs: {', '.join(sorted(by_gpu))}")
    if not rocm:
        return entries[-1][1]
    wanted = rocm_number(rocm)
    at_most = [name for number, name in entries if number <= wanted]
    return at_most[-1] if at_most else entries[0][1]


def rocm_number(version: str) -> int:
    """``6.1.3`` as 613, as the file names spell it.

    Raises:
        UsageError: the text is no version.
    """
    match = re.fullmatch(r"(\d+)\.(\d+)(?:\.(\d+))?(?:[.-].*)?", version.strip())
    if not match:
        raise UsageError(f"'{version}' is not a ROCm version", "write it as 6.1.3")
    return int(match[1]) * 100 + min(int(match[2]), 9) * 10 + min(int(match[3] or 0), 9)


@cache
def _shipped_graph(name: str) -> ConstraintGraph:
    return resolve(name, load_shipped)


@cache
def load_shipped(name: str) -> ConstraintFile:
    """One shipped file as written.

    Raises:
        ConstraintFileError: it does not exist or is malformed.
    """
    place = constraint_directory().joinpath(name)
    if not place.is_file():
        raise ConstraintFileError(f"constraint file '{name}' does not exist", "look at the 'extends' that names it")
    return read_file(place.read_bytes(), name)


def read_file(content: bytes, name: str) -> ConstraintFile:
    """Parse one file.

    Raises:
        ConstraintFileError: no JSON, a wrong type, an unknown key or an unknown schema version.
    """
    try:
        document = msgspec.json.decode(content, type=ConstraintFile)
    except msgspec.DecodeError as error:
        raise ConstraintFileError(
            f"malformed constraint file: {error}", "validate it with 'asmevo-gate graph check'", file=name
        ) from error
    if document.schema_ != SCHEMA:
        raise ConstraintFileError(f"schema is '{document.schema_}', expected '{SCHEMA}'", "convert the file", file=name)
    return document


def resolve(name: str, load: Any = load_shipped) -> ConstraintGraph:
    """The graph of a file with everything that it extends; later files win, the file itself last."""
    chain: list[ConstraintFile] = []
    _collect(name, load, chain, ())
    merged: dict[str, dict[str, Any]] = {
        part: {}
        for part in (
            "sources",
            "classes",
            "nodes",
            "units",
            "states",
            "grades",
            "aliases",
            "hwregs",
            "edges",
            "abi",
            "dpp",
            "dpp_replacements",
            "house",
        )
    }
    s_nop_maximum = None
    half_registers = False
    overrides: dict[str, Override] = {}
    for one in chain:
        for part, known in merged.items():
            known.update(getattr(one, part))
        s_nop_maximum = one.s_nop_maximum or s_nop_maximum
        half_registers = half_registers or one.half_registers
        overrides.update(one.overrides)
    if s_nop_maximum is None:
        raise ConstraintFileError(
            "no file of the chain gives 's_nop_maximum'", "add it to the target's file", file=name
        )
    last = chain[-1]
    edges, disabled = _apply(merged["edges"], overrides, name, by_rule=False)
    merged["edges"] = edges
    return ConstraintGraph(
        name=last.name,
        gpu=last.gpu,
        rocm=last.rocm,
        s_nop_maximum=s_nop_maximum,
        half_registers=half_registers,
        disabled=disabled,
        **merged,
    )


def _collect(name: str, load: Any, chain: list[ConstraintFile], stack: tuple[str, ...]) -> None:
    if name in stack:
        raise ConstraintFileError(f"'extends' goes in a circle: {' -> '.join((*stack, name))}", file=name)
    document = load(name)
    for parent in document.extends:
        _collect(parent, load, chain, (*stack, name))
    if not any(document is known for known in chain):
        chain.append(document)


def lay_over(graph: ConstraintGraph, project: ConstraintFile, name: str) -> ConstraintGraph:
    """A graph with a project's file laid over it, as the engines can evaluate it; unchanged when the file names
    another GPU.

    Raises:
        ConstraintFileError: an override weakens a rule without saying why, or names a rule that does not exist; a
            part of the file names what is not there.
    """
    from asmevo_gate.constraints.names import misfits

    if project.gpu and project.gpu != graph.gpu:
        return graph
    laid = laid_over(graph, project, name)
    for place, message in misfits(laid):
        raise ConstraintFileError(f"{place}: {message}", "validate it with 'asmevo-gate graph check'", file=name)
    return laid


def laid_over(graph: ConstraintGraph, project: ConstraintFile, name: str) -> ConstraintGraph:
    """The same for a file that is being checked: its parts need not fit together.

    A project adds names of its own. What the graph has already it changes by an override, with a reason; only house
    rules, which are style, may be written anew.

    Raises:
        ConstraintFileError: an override weakens a rule without saying why, or names a rule that does not exist; a part
            takes the place of one of the graph, or is one that only a shipped file has.
    """
    for part in _SHIPPED_ONLY:
        if getattr(project, part):
            raise ConstraintFileError(
                f"'{part}' describes the GPU and comes from the shipped files", f"remove '{part}'", file=name
            )
    merged: dict[str, dict[str, Any]] = {}
    for part in _ADDED:
        known, own = getattr(graph, part), getattr(project, part)
        for taken in known.keys() & own.keys() if part != "house" else ():
            if known[taken] != own[taken]:
                raise ConstraintFileError(
                    f"{part}.{taken} would take the place of one of {graph.name}",
                    "choose another name; change a rule under 'overrides', with a reason",
                    file=name,
                )
        merged[part] = {**known, **own}
    of_house = {key: one for key, one in project.overrides.items() if key.removeprefix("house.") in merged["house"]}
    of_edges = {key: one for key, one in project.overrides.items() if key not in of_house}
    merged["edges"], disabled = _apply(merged["edges"], of_edges, name, by_rule=True)
    for key, override in of_house.items():
        wanted = key.removeprefix("house.")
        merged["house"][wanted] = _house_with(merged["house"][wanted], override, key, name)
    return msgspec.structs.replace(
        graph, name=f"{graph.name} + {project.name}", disabled={**graph.disabled, **disabled}, **merged
    )


_ADDED = ("sources", "classes", "nodes", "units", "states", "edges", "house")
"""What a project's file may add to."""
_SHIPPED_ONLY = ("extends", "s_nop_maximum", "half_registers", "grades", "aliases", "hwregs", "abi", "dpp",
                 "dpp_replacements")  # fmt: skip
"""What a project's file must not have: facts about the GPU, of which nothing can be added."""


def _house_with(rule: HouseRule, override: Override, key: str, name: str) -> HouseRule:
    if override.required is not None:
        raise ConstraintFileError(f"override of '{key}': a house rule has no 'required'", "write the rule", file=name)
    severity = rule.severity if override.severity is None else override.severity
    enabled = rule.enabled if override.enabled is None else override.enabled
    return msgspec.structs.replace(rule, severity=severity, enabled=enabled)


@cache
def _rules_of_any_gpu() -> frozenset[str]:
    """Edges and rules of all shipped files: a project may change one that only some of its GPUs have."""
    edges = [item for one in file_names() for item in load_shipped(one).edges.items()]
    return frozenset({key for key, _ in edges} | {edge.rule for _, edge in edges})


def _apply(
    edges: dict[str, Edge], overrides: dict[str, Override], name: str, by_rule: bool
) -> tuple[dict[str, Edge], dict[str, str]]:
    """Edges with overrides applied, and what they switch off. A shipped file means the one edge of that name; a
    project that names a rule means all its edges."""
    found = dict(edges)
    disabled: dict[str, str] = {}
    for wanted, override in overrides.items():
        keys = [wanted] if wanted in found and not by_rule else []
        keys = keys or [key for key, edge in found.items() if wanted in (key, edge.rule)]
        if not keys and by_rule and wanted in _rules_of_any_gpu():
            continue
        if not keys:
            raise ConstraintFileError(f"override of unknown rule '{wanted}'", "see 'asmevo-gate graph show'", file=name)
        if not override.reason.strip():
            raise ConstraintFileError(
                f"override of '{wanted}' has no reason", "say in 'reason' why the rule may be changed", file=name
            )
        for key in keys:
            if override.enabled is False:
                disabled[key] = override.reason
                del found[key]
                continue
            changes: dict[str, Any] = {}
            if override.severity is not None:
                changes["severity"] = override.severity
            if override.required is not None:
                changes["required"] = override.required
            found[key] = msgspec.structs.replace(found[key], **changes)
    return found, disabled
