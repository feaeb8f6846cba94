"""The compile level: does the file assemble with the assembler at hand? Its errors become findings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from asmevo_gate.gate.findings import digest
from asmevo_gate.gate.result import Finding, Location
from asmevo_gate.gate.target_choice import Configuration
from asmevo_gate.isa.decoder import isa_for
from asmevo_gate.isa.instruction import NotDecoded
from asmevo_gate.source.statement import Source
from asmevo_gate.verify.assembler import AssemblyErrors, AssemblyMessage, AssemblyResult
from asmevo_gate.verify.assembler_at_hand import AssemblerAtHand

RULE = "enc.assembles"

_PLAIN_WORDS = (
    ("vgpr tuples must be 64 bit aligned", "on this GPU a VGPR tuple must start at an even register"),
    ("branch size exceeds simm16", "the branch target is more than 32,767 dwords away: jump in two steps"),
    ("invalid operand for instruction", "an operand has the wrong kind, width or alignment for this GPU"),
    ("not a valid operand", "this modifier or operand does not exist on this GPU"),
    ("literal operands are not supported", "this encoding takes no literal constant: move it into a register first"),
    ("invalid number of operands", "the operands do not match any form of the instruction"),
    ("operands are not valid for this GPU or mode", "the form exists, but not on this GPU or in this wave size"),
    ("does not match the specified target id", "the file is for another target, or spells its target id in an old way"),
    ("undefined symbol", "a symbol has no value: define it with -D or in the settings"),
)


@cache
def _assembler(gpu: str) -> AssemblerAtHand:
    from asmevo_gate.isa.targets import find_target

    return AssemblerAtHand(find_target(gpu))


def assemble_source(source: Source, way: Configuration) -> AssemblyResult:
    """Assemble a parsed file with the first assembler that knows its GPU.

    The files that it includes are the ones that were read with it (from the same side of the change), laid out in a
    temporary directory; nothing else can be included.
    """
    with TemporaryDirectory(prefix="asmevo-gate-include-") as name:
        root = Path(name)
        for path, text in source.files.items():
            _write_below(root, path, text)
        own = PurePosixPath(source.path).parent
        directories = [root / own, *(root / path for path in way.include), root] if len(source.files) > 1 else []
        assembler = _assembler(way.target.name)
        return assembler.assemble(source.text, way.target, way.wave_size, way.defines, directories)


def _write_below(root: Path, path: str, text: str) -> None:
    """Write a file at its place below ``root``; a path that would lead elsewhere is left out."""
    parts = PurePosixPath(path).parts
    if PurePosixPath(path).is_absolute() or ".." in parts:
        return
    file = root.joinpath(*parts)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", errors="surrogateescape")


def assembly_findings(
    source: Source, way: Configuration, result: AssemblyResult, found: Iterable[Finding]
) -> tuple[Finding, ...]:
    """The assembler's errors as findings, without the lines that a rule has reported as an error already, and without
    what only follows from an earlier error."""
    if not isinstance(result, AssemblyErrors):
        return ()
    known = {finding.line for finding in found if finding.severity == "error"}
    lines = source.text.splitlines()
    first = min((*known, *(message.line for message in result.messages)), default=0)
    return tuple(
        _finding(source.path, lines, message, way, result)
        for message in result.messages
        if message.line not in known and not (message.line > first and _is_left_over(lines, message))
    )


_LEFT_OVER = r"\s*\.(?:amdhsa_|end_amdhsa_kernel|end_amd_kernel_code_t)"
"""Lines of a kernel descriptor: behind an error in it LLVM has left the descriptor, and knows none of them."""


def _is_left_over(lines: list[str], message: AssemblyMessage) -> bool:
    inside = 0 < message.line <= len(lines)
    return inside and message.text == "unknown directive" and bool(re.match(_LEFT_OVER, lines[message.line - 1]))


def _finding(
    path: str, lines: list[str], message: AssemblyMessage, way: Configuration, result: AssemblyErrors
) -> Finding:
    text = lines[message.line - 1] if 0 < message.line <= len(lines) else ""
    words = next((plain for pattern, plain in _PLAIN_WORDS if pattern in message.text), "")
    said = f"{result.tool.kind} {result.tool.version} rejects this line: {message.text}" + (
        f" ({words})" if words else ""
    )
    doubtful = result.newer or message.limit_of_tool
    if doubtful:
        said += "; the file is written for a newer assembler than the one at hand, so this may be the tool's limit"
    return Finding(
        rule=RULE,
        family="isa",
        severity="warning" if doubtful else "error",
        file=path,
        line=message.line,
        column=message.column,
        end_line=message.line,
        kernel="",
        message=said,
        repair=_repair(text, way),
        fingerprint=digest(RULE, way.target.name, message.text, " ".join(text.split())),
        macro=tuple(Location(path, line, note) for line, note in reversed(message.notes)),
        text=text.rstrip(),
        gpu=way.target.name,
    )


def _repair(text: str, way: Configuration) -> str:
    """Which GPUs have the instruction, when that is the fault."""
    code = re.split(r";|//", text)[0].strip()
    meaning = isa_for(way.target, way.wave_size or way.target.wave_sizes[0]).decode(code) if code else None
    if isinstance(meaning, NotDecoded) and meaning.available_on:
        return f"'{meaning.mnemonic}' exists on {', '.join(meaning.available_on)}"
    return ""
