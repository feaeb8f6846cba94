"""DPP legality: does the target have the control, are value and masks right, and what replaces an old form exactly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from operator import itemgetter

import msgspec

from asmevo_gate.constraints.model import ConstraintGraph, DppReplacement
from asmevo_gate.program.model import Function, Instruction

_CONTROLS = (
    "quad_perm", "row_shl", "row_shr", "row_ror", "row_mirror", "row_half_mirror", "row_bcast", "row_newbcast",
    "row_share", "row_xmask", "wave_shl", "wave_shr", "wave_rol", "wave_ror", "dpp8",
)  # fmt: skip
_CONTROL = re.compile(rf"\b(?P<name>{'|'.join(_CONTROLS)})\b(?:\s*:\s*(?P<value>\[[^\]]*\]|\w+))?")
_MASK = r"\b(?P<name>row_mask|bank_mask)\s*:\s*(?P<value>\w+)"
_VGPR = r"-?\|?(?P<name>v\d+)\|?"
_WIDE = r"_(?:f64|b64|u64|i64)(?:_|$)"


class DppProblem(msgspec.Struct, frozen=True):
    """One DPP instruction that the target does not have as written. ``replacement`` holds the lines of an exact
    equivalent, ``condition`` what it needs; both empty where none is known."""

    rule: str
    instruction: Instruction
    message: str
    repair: str
    replacement: tuple[str, ...] = ()
    condition: str = ""


def dpp_problems(function: Function, graph: ConstraintGraph) -> Iterator[DppProblem]:
    """All illegal DPP forms of a function, in order."""
    matches = ((_CONTROL.search(text), indices) for text, _, indices in function.spellings if _may_hold_control(text))
    found = [(index, match) for match, indices in matches if match for index in indices]
    for index, match in sorted(found, key=itemgetter(0)):
        yield from _judge(function.instructions[index], match, function, graph)


def _may_hold_control(text: str) -> bool:
    """False for nearly every text, in less time than the search takes."""
    return "row_" in text or "wave_" in text or "quad_perm" in text or "dpp8" in text


def _judge(
    instruction: Instruction, match: re.Match[str], function: Function, graph: ConstraintGraph
) -> Iterator[DppProblem]:
    name, text = match["name"], instruction.statement.text
    gpu = function.target.name
    control = graph.dpp.get(name)
    value = _number(match["value"])
    if control is None:
        found = _replacement(instruction, name, value, graph)
        lines, when = found if found else ((), "")
        repair = (
            f"replace it by '{'; '.join(lines)}' ({when})"
            if lines
            else "no exact equivalent is known: rewrite the exchange"
        )
        yield DppProblem(
            "dpp.control", instruction, f"DPP control '{name}' does not exist on {gpu}", repair, lines, when
        )
        return
    if control.values and value not in control.values:
        allowed = ", ".join(str(one) for one in control.values)
        yield DppProblem("dpp.value", instruction, f"'{name}' takes {allowed}", f"write {name}:{control.values[0]}")
    elif value is not None and not (control.first or 0) <= value <= (control.last or value):
        limits = f"{control.first} to {control.last}"
        yield DppProblem("dpp.value", instruction, f"'{name}:{value}' is out of range", f"'{name}' takes {limits}")
    mnemonic = instruction.statement.name
    wide = [one for one, other in graph.dpp.items() if other.wide]
    if wide and not control.wide and re.search(_WIDE, mnemonic) and not mnemonic.startswith("v_cvt"):
        message = f"64-bit DPP instructions have only {', '.join(wide)} on {gpu}"
        yield DppProblem("dpp.wide", instruction, message, "exchange the two halves with 32-bit instructions")
    for mask in re.finditer(_MASK, text):
        if _number(mask["value"]) == 0:
            message = f"{mask['name']}:0 switches every lane off: the instruction changes nothing"
            yield DppProblem(
                "dpp.mask", instruction, message, f"give the rows or banks to be written in {mask['name']}"
            )


def _replacement(
    instruction: Instruction, name: str, value: int | None, graph: ConstraintGraph
) -> tuple[tuple[str, ...], str] | None:
    text = instruction.statement.text
    masks = {match["name"]: _number(match["value"]) for match in re.finditer(_MASK, text)}
    for one in graph.dpp_replacements.get(name, ()):
        if one.value is not None and one.value != value:
            continue
        if any(masks.get(mask, 15) != int(wanted, 0) for mask, wanted in one.masks.items()):
            continue
        base = re.sub(r"_(dpp|e32|e64)$", "", instruction.statement.name)
        if one.mnemonics and not any(fnmatchcase(base, pattern) for pattern in one.mnemonics):
            continue
        operands = _operands(instruction)
        if one.lines and (operands is None or (one.distinct and operands[0] == operands[1])):
            continue
        return _lines(one, text, operands, name, value), one.when
    return None


def _operands(instruction: Instruction) -> tuple[str, str] | None:
    """Destination and first source, each without modifiers; ``None`` where the source is no VGPR by number."""
    parts = [part.split() for part in instruction.statement.rest.split(",")]
    sources = [match for part in parts[1:] if part and (match := re.fullmatch(_VGPR, part[0]))]
    return (parts[0][0], sources[0]["name"]) if parts[0] and sources else None


def _lines(
    one: DppReplacement, text: str, operands: tuple[str, str] | None, name: str, value: int | None
) -> tuple[str, ...]:
    number = str(value)
    if one.control or operands is None:
        return (_with_control(text, name, one.control.replace("{n}", number)),)
    destination, source = operands
    lines: list[str] = []
    for line in one.lines:
        if line.startswith("self "):
            _, control, *other = line.split()
            line = _with_control(text, name, control)
            if other:
                head, comma, rest = line.partition(",")
                line = head + comma + re.sub(rf"\b{re.escape(source)}\b", other[0], rest, count=1)
        lines.append(line.replace("{dst}", destination).replace("{src}", source).replace("{n}", number))
    return tuple(lines)


def _with_control(text: str, name: str, control: str) -> str:
    return re.sub(rf"\b{name}\b(?:\s*:\s*(?:\[[^\]]*\]|\w+))?", control, text)


def _number(text: str | None) -> int | None:
    try:
        return int(text, 0) if text else None
    except ValueError:
        return None
