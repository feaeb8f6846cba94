"""Does a file assemble? With the user's assembler or the best one at hand, in a limited process.

A rejected file gives messages with line, column and the macro uses that led there. What is the assembler's own limit
is told apart: a file written for a newer LLVM, metadata that its YAML reader misreads, a processor it does not know.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from asmevo_gate.isa.targets import Target
from asmevo_gate.verify.discovery import Rejected, Tool, find_tools
from asmevo_gate.verify.limited_process import (
    FILE_BYTES,
    FILE_TOO_LARGE,
    MEMORY_BYTES,
    TIMEOUT_SECONDS,
    Finished,
    run_limited,
)

ASSEMBLERS = ("clang", "llvm-mc")
"""The kinds of tools that assemble."""

_NEW_TARGET = re.compile(r"^([ \t]*)\.amdgcn_target[ \t]+\"amdgpu[^\"\n]*\"", re.M)
_TARGET_FEATURES = re.compile(r"^[ \t]*\.amdgcn_target[ \t]+\"[^\"\n]*-(gfx[0-9a-f]+)((?::\w+[+-])*)\"", re.M)
_READS_FILES = re.compile(r"\.inc(?:lude|bin)\b", re.IGNORECASE)
_BOOLEAN_NAME = r"(?im)(\.name:[ \t]*)(['\"]?)(n|y|no|yes|on|off)(\2)(?=[ \t]*(?:$|[,}]))"
_MESSAGE = (
    r"(?m)^(?P<file>[^\n:]*(?::[\\/][^\n:]*)?):(?P<line>\d+):(?P<column>\d+): "
    r"(?P<kind>error|warning|note): (?P<text>.*)$"
)
_IGNORED_TARGET = "is not a recognized processor"
"""What LLVM says before it assembles for another processor than the one asked for."""
_STANDARD_INPUT = ("<stdin>", "-", "")


class AssemblyMessage(msgspec.Struct, frozen=True):
    """One message. ``line`` and ``column`` (1-based) are in the checked file: for code from a macro, where
    the outermost macro is used; ``notes`` are then the uses from the inside out, as (line, text)."""

    severity: str
    line: int
    column: int
    text: str
    notes: tuple[tuple[int, str], ...] = ()
    limit_of_tool: bool = False
    """The assembler at hand is the reason, not the file."""


class Assembled(msgspec.Struct, frozen=True):
    """The file assembles; ``object`` is the relocatable ELF file."""

    object: bytes
    tool: Tool
    warnings: tuple[AssemblyMessage, ...] = ()


class AssemblyErrors(msgspec.Struct, frozen=True):
    """The assembler rejected the file. ``newer`` is set when the file is written for an assembler newer than the one at
    hand (its target id has the spelling of LLVM 24): the messages may then be the tool's limit, not faults."""

    messages: tuple[AssemblyMessage, ...]
    tool: Tool
    newer: bool = False


class NotAssembled(msgspec.Struct, frozen=True):
    """The question was not answered: ``reason`` in words, and what to do."""

    reason: str
    repair: str
    tool: Tool | None = None


AssemblyResult = Assembled | AssemblyErrors | NotAssembled


def find_assembler(target: Target, option: str | None = None) -> Tool | NotAssembled:
    """The first assembler that knows the target's processor; ``option`` as in :func:`find_tools`."""
    tried = []
    for found in find_tools(ASSEMBLERS, option):
        if isinstance(found, Tool) and found.knows(target.name):
            return found
        tried.append(why_not(found, target))
    return no_assembler(target, tried)


def why_not(found: Tool | Rejected, target: Target) -> str:
    """Why a tool does not assemble for the target, for :func:`no_assembler`."""
    if isinstance(found, Rejected):
        return f"{' '.join(found.command)}: {found.reason}"
    return f"{found}: does not know {target.name}"


def no_assembler(target: Target, tried: Sequence[str]) -> NotAssembled:
    """The answer where none serves; ``tried`` are those that were found, and why they do not serve."""
    listed = "; ".join(tried) or "none was found"
    return NotAssembled(
        f"no assembler for {target.name}: {listed}", "pip install 'asmevo-gate[assembler]', or set ASMEVO_ASSEMBLER"
    )


def assemble(
    text: str,
    target: Target,
    tool: Tool,
    wave_size: int | None = None,
    symbols: Mapping[str, int] | None = None,
    include_directories: Sequence[Path] = (),
    timeout: float = TIMEOUT_SECONDS,
    memory: int = MEMORY_BYTES,
) -> AssemblyResult:
    """Assemble the text of a file.

    ``symbols`` are defined as by ``-defsym``. A file that reads others (``.include``, ``.incbin``) is assembled only
    with ``include_directories``; the caller answers for what they hold.
    """
    if not tool.knows(target.name):
        return NotAssembled(f"{tool} does not know {target.name}", "use a newer assembler", tool)
    if _READS_FILES.search(text) and not include_directories:
        return NotAssembled("the file reads other files", "name their directories in the configuration", tool)
    given, newer = _blank_new_target(text)
    target = _with_features_of_file(given, target)
    with tempfile.TemporaryDirectory(prefix="asmevo-gate-") as name:
        directory = Path(name)
        output = directory / "out.o"
        arguments = _arguments(tool, target, wave_size, symbols or {}, include_directories, output)
        result = _run(arguments, given, tool, timeout, memory, directory)
        if isinstance(result, NotAssembled):
            return result
        messages = parse_messages(result.errors)
        renamed = _rename_boolean_names(given) if "invalid HSA metadata" in result.errors else given
        if result.code and renamed != given:
            again = _run(arguments, renamed, tool, timeout, memory, directory)
            if isinstance(again, Finished) and not again.code:
                messages = tuple(
                    msgspec.structs.replace(message, severity="warning", limit_of_tool=True) for message in messages
                )
                result = again
        return _judge(result, messages, tool, newer, output)


def _judge(
    result: Finished, messages: tuple[AssemblyMessage, ...], tool: Tool, newer: bool, output: Path
) -> AssemblyResult:
    if _IGNORED_TARGET in result.errors:
        return NotAssembled(f"{tool} does not know the processor", "use a newer assembler", tool)
    if not result.code and output.is_file():
        return Assembled(output.read_bytes(), tool, messages)
    errors = tuple(message for message in messages if message.severity == "error")
    if result.code < 0 or not errors:
        how = f"ended by signal {-result.code}" if result.code < 0 else f"ended with code {result.code}"
        return NotAssembled(f"{tool} {how}: {result.errors.strip()[:300] or 'no message'}", "report this to LLVM", tool)
    return AssemblyErrors(errors, tool, newer)


def _run(
    arguments: Sequence[str], text: str, tool: Tool, timeout: float, memory: int, directory: Path
) -> Finished | NotAssembled:
    try:
        done = run_limited(arguments, text.encode("utf-8", "surrogateescape"), timeout, memory, directory)
    except OSError as error:
        return NotAssembled(f"{tool} cannot be started: {error.strerror or error}", "install it again", tool)
    if done.timed_out:
        return NotAssembled(f"{tool} did not finish in {timeout:g} s", "raise the limit or split the file", tool)
    if done.code == FILE_TOO_LARGE:
        return NotAssembled(f"{tool} wrote more than {FILE_BYTES >> 20} MiB", "the file asks for too much space", tool)
    if "out of memory" in done.errors or "bad_alloc" in done.errors:
        return NotAssembled(f"{tool} needs more than {memory >> 20} MiB", "raise the limit or split the file", tool)
    return done


def _arguments(
    tool: Tool,
    target: Target,
    wave_size: int | None,
    symbols: Mapping[str, int],
    include_directories: Sequence[Path],
    output: Path,
) -> list[str]:
    includes = [part for directory in include_directories for part in ("-I", str(directory.resolve()))]
    other_wave = wave_size is not None and wave_size in target.wave_sizes and wave_size != target.wave_sizes[0]
    if tool.kind == "clang":
        identity = target.name + "".join(f":{name}{sign}" for name, sign in sorted(target.features.items()))
        options = ["--target=amdgcn-amd-amdhsa", f"-mcpu={identity}", "-x", "assembler", "-c", "-", "-o", str(output)]
        options += [f"-Wa,-defsym,{name}={value}" for name, value in symbols.items()]
        options += [f"-mwavefrontsize{wave_size}"] if other_wave else []
    else:
        features = [sign + name for name, sign in sorted(target.features.items())]
        features += [f"+wavefrontsize{wave_size}"] if other_wave else []
        options = ["-triple=amdgcn-amd-amdhsa", f"-mcpu={target.name}", "-filetype=obj", "-o", str(output), "-"]
        options += [f"-mattr={','.join(features)}"] if features else []
        options += [f"-defsym={name}={value}" for name, value in symbols.items()]
    return [*tool.command, *options, *includes]


def _blank_new_target(text: str) -> tuple[str, bool]:
    """The text without a target directive in the spelling of LLVM 24, lines and columns kept; and whether it had one.

    Older assemblers reject the spelling itself. Where the file means another target than the one asked for is found
    by the gate, which reads both spellings.
    """
    blanked, count = _NEW_TARGET.subn(lambda match: " " * len(match[0]), text)
    return blanked, bool(count)


def _with_features_of_file(text: str, target: Target) -> Target:
    """The target with the XNACK and SRAM-ECC settings that the file names: the assembler wants them equal."""
    match = _TARGET_FEATURES.search(text)
    if match is None or match[1] != target.name:
        return target
    return replace_features(target, dict(re.findall(r":(\w+)([+-])", match[2])))


def replace_features(target: Target, features: dict[str, str]) -> Target:
    """The same processor with other target id settings."""
    return Target(target.name, target.table, target.wave_sizes, features, target.facts)


def _rename_boolean_names(text: str) -> str:
    """Arguments called ``n``, ``y`` ... renamed: assemblers up to ROCm 7.2 read such a name as a YAML 1.1 boolean,
    quoted or not, and reject the metadata. Only the size of the object's note changes."""
    return re.sub(_BOOLEAN_NAME, r"\1\2\3_\4", text)


def parse_messages(errors: str) -> tuple[AssemblyMessage, ...]:
    """The messages of clang or llvm-mc, each error with the notes that follow it."""
    if not errors:
        return ()
    found: list[AssemblyMessage] = []
    for match in re.finditer(_MESSAGE, errors):
        line, column = int(match["line"]), int(match["column"])
        in_file = match["file"] in _STANDARD_INPUT
        if match["kind"] != "note":
            found.append(AssemblyMessage(match["kind"], line, column if in_file else 1, match["text"]))
        elif found:
            last = found[-1]
            # Notes go from the innermost use outwards; the last one that stands in the file is the outermost.
            place = (line, column) if in_file else (last.line, last.column)
            found[-1] = msgspec.structs.replace(
                last, line=place[0], column=place[1], notes=(*last.notes, (line, match["text"]))
            )
    return tuple(found)
