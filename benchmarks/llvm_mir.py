"""Pairs of assembly text from LLVM's machine-code tests: functions before and after the pass that repairs them.

A test of LLVM names a processor, a pass and functions in LLVM's machine representation. ``llc`` prints the functions
twice: started behind the pass, which leaves out its repairs, and started before it.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from asmevo_gate.isa.targets import find_target, target_names

LLC = "llc-22"
ASSEMBLER = "llvm-mc-22"
HAZARD_PASSES = ("post-RA-hazard-rec", "amdgpu-wait-sgpr-hazards")
"""The passes that repair hazards, in the order in which the compiler runs them."""
WAIT_PASSES = ("si-insert-waitcnts",)
NEAREST = "gfx900"
"""Stands for the older processors of a test, which the gate has no data for."""
_SAME = {
    "gfx940": "gfx942",
    "gfx941": "gfx942",
    "gfx9-4-generic": "gfx942",
    "gfx11-generic": "gfx1100",
    "gfx1150": "gfx1151",
}
"""Processors with the same hazards and counters as one that the gate has data for."""
_OLD_FEATURES = ("+volcanic-islands",)
"""Features that stand for an older processor."""
_TRIPLE = "amdgcn-amd-amdhsa"
_SECONDS = 20
"""For one call of ``llc``; the tests hold a function on which the compiler does not end."""


@dataclass(frozen=True, order=True)
class Run:
    """One way in which a test file is run: processor, target features and the passes under test, in their order."""

    gpu: str
    attributes: str
    passes: tuple[str, ...]

    @property
    def options(self) -> tuple[str, ...]:
        """Processor and features as LLVM's tools take them."""
        return (f"-mcpu={self.gpu}", *((f"-mattr={self.attributes}",) if self.attributes else ()))

    @property
    def wave_size(self) -> int | None:
        """The wave size that the features name, ``None`` when they name none."""
        return next((size for size in (32, 64) if f"+wavefrontsize{size}" in self.attributes), None)


@dataclass(frozen=True)
class MirFunction:
    """One function of a test file: its name and its document."""

    name: str
    body: str

    @property
    def is_kernel(self) -> bool:
        """True when it does not return: it is printed as a kernel, whose descriptor says what it starts with."""
        return not _RETURNS.search(self.body)


@dataclass(frozen=True)
class FunctionText:
    """Where a printed function stands (1-based lines, both included), and its instructions and labels."""

    first: int
    last: int
    code: tuple[str, ...]


@dataclass(frozen=True)
class Pair:
    """The printed assembly of some functions without and with the repairs of the passes."""

    file: str
    run: Run
    names: tuple[str, ...]
    bad: str
    good: str
    unread: frozenset[str]
    """Functions with an instruction that the assembler refuses."""

    @cached_property
    def bad_functions(self) -> dict[str, FunctionText]:
        """The functions of the bad side by name."""
        return function_texts(self.bad)

    @cached_property
    def good_functions(self) -> dict[str, FunctionText]:
        """The functions of the good side by name."""
        return function_texts(self.good)


@dataclass(frozen=True)
class Unprinted:
    """A function that ``llc`` does not print."""

    file: str
    name: str
    run: Run


_LABEL = re.compile(r'^"?([\w.$-]+)"?:')


def function_texts(text: str) -> dict[str, FunctionText]:
    """The functions of printed assembly."""
    found: dict[str, FunctionText] = {}
    name, first, code = "", 0, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        label = _LABEL.match(line)
        if label and not label[1].startswith(".L"):
            name, first, code = label[1], number, []
        elif line.startswith(".Lfunc_end") and name:
            found[name] = FunctionText(first, number, tuple(code))
            name = ""
        elif name:
            stripped = line.split(";")[0].strip()
            if stripped and (label or not stripped.startswith(".")):
                code.append(stripped)
    return found


def runs_of(text: str) -> tuple[Run, ...]:
    """The runs of a test file that concern hazards or waits, once each."""
    found = set()
    joined = re.sub(r"\\\n\s*[#;]\s*(?:RUN:)?", " ", text)
    for command in re.findall(r"^\s*[#;]\s*RUN:\s*(.*)", joined, re.MULTILINE):
        if "llc" not in command:
            continue
        named = [one for group in re.findall(r"-run-pass[= ]([\w,-]+)", command) for one in group.split(",")]
        passes = tuple(one for one in (*WAIT_PASSES, *HAZARD_PASSES) if one in named)
        if not passes:
            continue
        processor = re.search(r"-mcpu=(\S+)", command)
        attributes = re.search(r"-mattr=([^\s%]+)(?=\s)", command)
        gpu = _gpu(processor[1] if processor else "")
        found.add(Run(gpu, _attributes(gpu, attributes[1] if attributes else ""), passes))
    return tuple(sorted(found))


def _attributes(gpu: str, named: str) -> str:
    """Target features of a run, with XNACK spelled out: LLVM takes it as on where a test says nothing."""
    kept = [one for one in named.split(",") if one and one not in _OLD_FEATURES]
    if find_target(gpu).facts["xnack"] == "optional" and not any("xnack" in one for one in kept):
        kept.append("+xnack")
    return ",".join(kept)


def _gpu(processor: str) -> str:
    name = _SAME.get(processor, processor)
    return name if name in target_names() else NEAREST


def functions_of(text: str) -> tuple[MirFunction, ...]:
    """Every function of a test file, without what refers to the file's IR."""
    found = []
    for part in re.split(r"^\.\.\.[ \t]*$", text, flags=re.MULTILINE):
        name = re.search(r"^name:\s*['\"]?([\w.$-]+)['\"]?", part, re.MULTILINE)
        if name and not re.search(r"^---[ \t]*\|", part, re.MULTILINE):
            own = re.sub(r"\W", "_", name[1])
            body = _IR_BLOCK.sub(r"bb.\1", _IR_PLACE.sub("", part[name.end() :]))
            found.append(MirFunction(own, _entry(f"name: {own}{_physical(body)}")))
    return tuple(found)


def _entry(body: str) -> str:
    """A function marked as a kernel's entry, unless it returns."""
    if _RETURNS.search(body):
        return body
    body = re.sub(r"^ +isEntryFunction:.*\n", "", body, flags=re.MULTILINE)
    information = re.search(r"^machineFunctionInfo: *\n", body, re.MULTILINE)
    if information:
        return body[: information.end()] + "  isEntryFunction: true\n" + body[information.end() :]
    return re.sub(r"^body:", "machineFunctionInfo:\n  isEntryFunction: true\nbody:", body, count=1, flags=re.MULTILINE)


_IR_BLOCK = re.compile(r"\bbb\.(\d+)(?:\.[\w.-]*\w| \(%ir-block\.[\w.-]+\))")
_IR_PLACE = re.compile(r" (?:from|into|on) (?:%ir\.[\w.-]+|%ir-block\.[\w.-]+|@[\w.-]+)(?: [+-] \d+)?")
_RETURNS = re.compile(r"S_SETPC|SI_RETURN|SI_TCRETURN")
_WIDTHS = {"32": 1, "64": 2, "96": 3, "128": 4, "160": 5, "256": 8, "512": 16}


def _physical(body: str) -> str:
    """A function without virtual registers that are only placeholders, so that it can be printed."""

    def register(match: re.Match[str]) -> str:
        number, kind = int(match[1]), match[2]
        width = _WIDTHS.get((re.findall(r"\d+", kind) or [""])[0])
        if width is None:
            return match[0]
        vector = kind.startswith("v")
        first = (40 + 16 * number) % 200 if vector else (16 + 8 * number) % 80
        first -= first % 4
        return "$" + "_".join(f"{'vgpr' if vector else 'sgpr'}{first + i}" for i in range(width))

    return re.sub(r"%(\d+):(\w+)", register, body)


def pairs_of(path: Path, work: Path) -> Iterator[Pair | Unprinted]:
    """Print the functions of a test file for each of its runs; ``work`` is a folder for the files between."""
    text = path.read_text("utf-8")
    functions = functions_of(text)
    for run in runs_of(text):
        yield from _printed_group(path.name, functions, run, work)


def _printed_group(file: str, group: Sequence[MirFunction], run: Run, work: Path) -> Iterator[Pair | Unprinted]:
    """Print a group at once; where ``llc`` refuses it, its halves."""
    if not group:
        return
    good = _printed(group, run, f"-start-before={run.passes[0]}", work)
    bad = _printed(group, run, f"-start-after={run.passes[-1]}", work) if good else None
    if good and bad:
        yield Pair(file, run, tuple(one.name for one in group), bad, good, _unread(good, run) | _unread(bad, run))
    elif len(group) == 1:
        yield Unprinted(file, group[0].name, run)
    else:
        middle = len(group) // 2
        yield from _printed_group(file, group[:middle], run, work)
        yield from _printed_group(file, group[middle:], run, work)


def _printed(group: Sequence[MirFunction], run: Run, start: str, work: Path) -> str | None:
    """What ``llc`` prints for some functions, ``None`` when it cannot."""
    source = work / "functions.mir"
    ir = [f'define {"amdgpu_kernel " * one.is_kernel}void @"{one.name}"() {{ ret void }}' for one in group]
    names = {one.name for one in group}
    used = dict.fromkeys(name for one in group for name in re.findall(r"@([\w.-]+)", one.body))
    ir += [f'@"{name}" = external addrspace(1) global i32' for name in used if name not in names]
    head = "".join(f"  {line}\n" for line in ir)
    source.write_text(f"--- |\n{head}...\n" + "".join(f"---\n{one.body}...\n" for one in group), "utf-8")
    command = [LLC, f"-mtriple={_TRIPLE}", *run.options, "-verify-machineinstrs=0", start, str(source), "-o", "-"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None


def _unread(text: str, run: Run) -> frozenset[str]:
    """Functions with a line that the assembler refuses."""
    command = [ASSEMBLER, f"-triple={_TRIPLE}", *run.options, "-filetype=null"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=_SECONDS, check=False)
    numbers = {int(number) for number in re.findall(r"^<stdin>:(\d+):\d+: error:", done.stderr, re.MULTILINE)}
    written = text.splitlines()
    refused = [number for number in numbers if not written[number - 1].lstrip().startswith(".")]
    functions = function_texts(text)
    return frozenset(
        name for name, one in functions.items() if any(one.first <= number <= one.last for number in refused)
    )
