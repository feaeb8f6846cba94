"""How much of the AMDGPU assembly that public repositories hold is understood, and why the rest is not.

Usage: python benchmarks/compatibility.py [OWNER/NAME=]CLONE... [--details FILE] [--jobs N] [--write]

CLONE is a local git clone (bare or not) with its history; OWNER/NAME is its entry in
``benchmarks/data/public_repositories.yaml`` (default: from the remote's address), which says how its files are assembled.
``--gpu GLOB=GPU``, ``-D [GLOB:]NAME=VALUE`` and ``-I DIRECTORY`` add to the entry; ``--only GLOB`` picks files.

Every file goes through the pipeline of ``asmevo-gate check`` and through LLVM's assembler with the same options (code
objects: LLVM's disassembler). A file is *understood* when it is read without an error, every instruction is decoded and
nothing is reported as not modelled. CPU seconds are counted, so other work on the machine matters little.

``--details`` writes one JSON line a file, with the messages; ``--write`` puts counts into
``benchmarks/results/compatibility.json`` and the table into ``docs/compatibility.md``.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent))
from repository_snapshot import DELETED, Snapshot, take_snapshot

from asmevo_gate.changes.model import Version
from asmevo_gate.changes.patterns import patterns
from asmevo_gate.errors import GateError
from asmevo_gate.gate.compile_check import assemble_source
from asmevo_gate.gate.file_check import CheckedProgram, check_text
from asmevo_gate.gate.findings import findings_of
from asmevo_gate.gate.inputs import InputText, input_texts
from asmevo_gate.gate.target_choice import Configuration, named_target
from asmevo_gate.isa.targets import Target, find_target
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.parser import parse_source
from asmevo_gate.source.recognise import recognise
from asmevo_gate.source.symbols import predefined_symbols
from asmevo_gate.verify.assembler import Assembled, AssemblyErrors

ROOT = Path(__file__).resolve().parent.parent
ENTRIES = ROOT / "benchmarks" / "data" / "public_repositories.yaml"
RESULTS = ROOT / "benchmarks" / "results" / "compatibility.json"
DOCUMENT = ROOT / "docs" / "compatibility.md"
BEGIN, END = "<!-- table: benchmarks/compatibility.py -->", "<!-- end of table -->"
SECONDS = 180


@dataclass(frozen=True)
class Job:
    """One file and how to assemble it; ``gpus`` are tried in order when ``certain`` is false."""

    repository: str
    root: str
    path: str
    gpus: tuple[str, ...]
    certain: bool
    defines: dict[str, int]
    include: tuple[str, ...]
    wave_size: int | None


@dataclass
class Outcome:
    """What became of one file."""

    repository: str
    path: str
    kind: str = "text"
    gpu: str = ""
    chosen_by: str = ""
    llvm: str = ""
    """``accepts``, ``rejects``, or why the question was not answered."""
    llvm_message: str = ""
    understood: bool = False
    reasons: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)
    instructions: int = 0
    modelled: int = 0
    kernels: int = 0
    findings: dict[str, int] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    seconds: float = 0.0
    llvm_seconds: float = 0.0


def run_job(job: Job) -> Outcome:
    """Check one file; whatever goes wrong is part of the outcome."""
    outcome = Outcome(job.repository, job.path)

    def too_long(_number: int, _frame: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(SECONDS)
    try:
        _check(job, outcome)
    except TimeoutError:
        _reason(outcome, "time", f"more than {SECONDS} s")
    except GateError as error:
        _reason(outcome, f"rejected: {_class(error.message)}", f"{error.line}: {error.message}")
    except Exception as error:  # noqa: BLE001 - a fault of the gate is a result here
        _reason(outcome, f"fault of the gate: {type(error).__name__}", f"{error!r} {_where(error)}")
    finally:
        signal.alarm(0)
    outcome.understood = not outcome.reasons
    return outcome


def _where(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""


def _check(job: Job, outcome: Outcome) -> None:
    data = (Path(job.root) / job.path).read_bytes()
    start = time.process_time() + _children()
    texts = input_texts(Version(job.path, data))
    read = time.process_time() + _children() - start
    if texts[0].target is not None:
        outcome.kind = "object"
        outcome.llvm = "accepts"
        outcome.llvm_seconds = _llvm_object(Path(job.root) / job.path, texts[0].target)
        outcome.seconds = read
        for given in texts:
            assert given.target is not None
            _check_text(job, given, Configuration(given.target, {}, (), given.wave_size), outcome)
        return
    text = texts[0].text
    if not recognise(text).is_amdgpu:
        outcome.kind = "other"
        return
    way = _way(job, text, outcome)
    outcome.seconds = read
    _check_text(job, texts[0], way, outcome)


def _way(job: Job, text: str, outcome: Outcome) -> Configuration:
    """The configuration of a source file; LLVM's verdict is noted on the way."""
    own = named_target(job.path, text)
    targets = [own] if own else [find_target(gpu) for gpu in job.gpus]
    outcome.chosen_by = "the file" if own else "an entry" if job.certain else "trial"
    ways = [Configuration(target, job.defines, job.include, job.wave_size) for target in targets]
    for way in ways:
        accepted = _llvm_text(job, text, way, outcome)
        if accepted:
            return way
    if len(ways) > 1:
        _llvm_text(job, text, ways[0], outcome)
    return ways[0]


def _options(job: Job, way: Configuration) -> SourceOptions:
    return SourceOptions(
        defines=way.defines, predefined=predefined_symbols(way.target.name), include_paths=way.include, root=job.root
    )


def _llvm_text(job: Job, text: str, way: Configuration, outcome: Outcome) -> bool:
    source = parse_source(job.path, text, _options(job, way))
    start = _children()
    result = assemble_source(source, way)
    outcome.llvm_seconds = _children() - start
    outcome.gpu = way.target.name
    if isinstance(result, Assembled):
        outcome.llvm, outcome.llvm_message = "accepts", ""
        return True
    if isinstance(result, AssemblyErrors):
        first = result.messages[0]
        outcome.llvm, outcome.llvm_message = "rejects", f"{first.line}: {first.text} ({len(result.messages)} messages)"
    else:
        outcome.llvm, outcome.llvm_message = "not answered", result.reason
    return False


def _llvm_object(path: Path, target: Target) -> float:
    start = _children()
    program = shutil.which("llvm-objdump-22") or shutil.which("llvm-objdump") or "llvm-objdump"
    command = [program, "-d", f"--mcpu={target.name}", str(path)]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return _children() - start


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _check_text(job: Job, given: InputText, way: Configuration, outcome: Outcome) -> None:
    outcome.gpu = way.target.name
    start = time.process_time() + _children()
    checked = check_text(job.path, given.text, way.target, _options(job, way), way.wave_size)
    found = findings_of(checked, {})
    outcome.seconds += time.process_time() + _children() - start
    for problem in given.problems:
        _reason(outcome, f"object: {_class(problem)}", problem)
    _count(checked, outcome)
    for finding in found:
        key = f"{finding.severity} {finding.rule}"
        outcome.findings[key] = outcome.findings.get(key, 0) + 1
        if finding.severity != "info" and outcome.findings[key] <= 3:
            outcome.lines.append(f"{key} {finding.line} [{finding.kernel}] {finding.text.strip()} :: {finding.message}")


def _count(checked: CheckedProgram, outcome: Outcome) -> None:
    outcome.instructions += checked.instructions
    outcome.modelled += checked.modelled
    outcome.kernels += len(checked.program.kernels)
    for unknown in checked.unknown:
        _reason(outcome, f"not modelled: {_class(unknown.reason)}", f"{unknown.line}: {unknown.text}: {unknown.reason}")
    for facts in checked.kernels:
        for instruction in facts.kernel.instructions:
            if instruction.unknown is not None and instruction.unknown.kind == "not_on_target":
                statement = instruction.statement
                _reason(outcome, "not on this GPU", f"{statement.place.line}: {statement.text}")


def _reason(outcome: Outcome, kind: str, example: str) -> None:
    outcome.reasons[kind] = outcome.reasons.get(kind, 0) + 1
    outcome.examples.setdefault(kind, example[:400])


def _class(message: str) -> str:
    """A message without its names and numbers, so that equal reasons count together."""
    return re.sub(r"\s+", " ", re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\b0x[0-9a-f]+\b|\b\d[\d,.]*\b", "_", message))[:120]


def jobs_of(name: str, snapshot: Snapshot, entry: dict[str, Any], trial: list[str], only: str | None) -> list[Job]:
    """A job for each file of a snapshot."""
    return [_job(name, snapshot, entry, trial, path) for path in snapshot.files if not only or fnmatch.fnmatch(path, only)]


def _job(name: str, snapshot: Snapshot, entry: dict[str, Any], trial: list[str], path: str) -> Job:
    gpu = next((gpu for glob, gpu in entry.get("gpus", ()) if _matches(glob, path)), None)
    include = [part for glob, parts in entry.get("include", {}).items() if _matches(glob, path) for part in parts]
    if path.startswith(DELETED):
        include = [*(f"{DELETED}/{part}" for part in include), *include]
    defines: dict[str, int] = {}
    for glob, values in entry.get("defines", {}).items():
        if _matches(glob, path):
            defines |= values
    wave_size = next((size for glob, size in entry.get("wave_size", {}).items() if _matches(glob, path)), None)
    gpus = (gpu,) if gpu else tuple(trial)
    return Job(name, str(snapshot.root), path, gpus, gpu is not None, defines, tuple(include), wave_size)


def _matches(glob: str, path: str) -> bool:
    return glob == "**" or patterns((glob,)).matches(path)


def table(results: dict[str, dict[str, Any]]) -> str:
    """The Markdown table: a row a repository."""
    lines = [
        "| repository | commit | files tried | LLVM accepts | understood | of those LLVM accepts | instructions | CPU s (LLVM) |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, one in results.items():
        tried = f"{one['tried']} of {one['found']}" if one["tried"] != one["found"] else str(one["tried"])
        lines.append(
            f"| {name} | {one['commit'][:10]} ({one['date']}) | {tried} | {one['llvm_accepts']} | {one['understood']} | "
            f"{one['understood_of_accepted']} | {one['instructions']:,} | {one['seconds']:.0f} ({one['llvm_seconds']:.0f}) |"
        )
    return "\n".join(lines) + "\n"


def summary(snapshot: Snapshot, outcomes: list[Outcome]) -> dict[str, Any]:
    """The counts of one repository."""
    ours = [one for one in outcomes if one.kind != "other"]
    accepted = [one for one in ours if one.llvm == "accepts"]
    reasons: Counter[str] = Counter()
    files: Counter[str] = Counter()
    with_finding: Counter[str] = Counter()
    for one in ours:
        files.update(one.findings)
        with_finding.update(one.findings.keys())
        if one.llvm == "accepts":
            reasons.update(one.reasons.keys())
    return {
        "commit": snapshot.commit,
        "date": snapshot.date,
        "found": snapshot.found - (len(outcomes) - len(ours)),
        "tried": len(ours),
        "not_amdgpu": len(outcomes) - len(ours),
        "objects": sum(one.kind == "object" for one in ours),
        "deleted": sum(one.path.startswith(DELETED) for one in ours),
        "llvm_accepts": len(accepted),
        "understood": sum(one.understood for one in ours),
        "understood_of_accepted": sum(one.understood for one in accepted),
        "kernels": sum(one.kernels for one in ours),
        "instructions": sum(one.instructions for one in ours),
        "modelled": sum(one.modelled for one in ours),
        "seconds": round(sum(one.seconds for one in ours), 1),
        "llvm_seconds": round(sum(one.llvm_seconds for one in ours), 1),
        "gpus": dict(Counter(one.gpu for one in ours).most_common()),
        "reasons_where_llvm_accepts": dict(reasons.most_common()),
        "not_understood_where_llvm_accepts": {
            one.path: sorted(one.reasons) for one in accepted if not one.understood
        },
        "llvm_rejects": dict(
            Counter(_class(one.llvm_message.partition(": ")[2]) for one in ours if one.llvm == "rejects").most_common(12)
        ),
        "findings": dict(sorted(files.items())),
        "files_with_finding": dict(sorted(with_finding.items())),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", nargs="+", metavar="[OWNER/NAME=]CLONE")
    parser.add_argument("--gpu", action="append", default=[], metavar="GLOB=GPU")
    parser.add_argument("-D", "--define", action="append", default=[], metavar="[GLOB:]NAME=VALUE")
    parser.add_argument("-I", "--include", action="append", default=[], metavar="DIRECTORY")
    parser.add_argument("--only", metavar="GLOB")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--details", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    os.environ.setdefault("ASMEVO_ASSEMBLER", shutil.which("llvm-mc-22") or "")
    document = yaml.safe_load(ENTRIES.read_text(encoding="utf-8"))
    results: dict[str, dict[str, Any]] = {}
    details = arguments.details.open("w", encoding="utf-8") if arguments.details else None
    for given in arguments.clones:
        name, clone = _named_clone(given)
        entry = _with_arguments(document["repositories"].get(name, {}), arguments)
        with TemporaryDirectory(prefix="compatibility-") as folder:
            snapshot = take_snapshot(clone, Path(folder), entry.get("sample", {}), entry.get("deleted", False))
            jobs = jobs_of(name, snapshot, entry, document["try"], arguments.only)
            with ProcessPoolExecutor(arguments.jobs, initializer=os.nice, initargs=(10,)) as pool:
                outcomes = list(pool.map(run_job, jobs, chunksize=4))
        results[name] = summary(snapshot, outcomes)
        one = results[name]
        print(f"{name}: {one['tried']} files, LLVM accepts {one['llvm_accepts']}, of those understood {one['understood_of_accepted']}")
        for kind, count in one["reasons_where_llvm_accepts"].items():
            print(f"   {count:5} {kind}")
        sys.stdout.flush()
        if details:
            details.writelines(json.dumps(asdict(outcome)) + "\n" for outcome in outcomes)
            details.flush()
    print(table(results))
    if arguments.write:
        write_results(results)


def _named_clone(given: str) -> tuple[str, Path]:
    name, equals, path = given.rpartition("=")
    if equals:
        return name, Path(path)
    address = subprocess.run(
        ["git", "-C", path, "remote", "get-url", "origin"], capture_output=True, text=True, check=False
    ).stdout
    match = re.search(r"([^/:]+/[^/]+?)(?:\.git)?\s*$", address)
    return (match[1] if match else Path(path).resolve().name), Path(path)


def _with_arguments(entry: dict[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    gpus = [given.split("=", 1) for given in arguments.gpu]
    defines = {glob: dict(values) for glob, values in entry.get("defines", {}).items()}
    for given in arguments.define:
        glob, colon, rest = given.rpartition(":")
        name, _, value = rest.partition("=")
        defines.setdefault(glob if colon else "**", {})[name] = int(value or "1", 0)
    include = {**entry.get("include", {})}
    if arguments.include:
        include["**"] = [*arguments.include, *include.get("**", [])]
    return {**entry, "gpus": [*gpus, *entry.get("gpus", [])], "defines": defines, "include": include}


def write_results(results: dict[str, dict[str, Any]]) -> None:
    """Lay the results over those of earlier runs, in the order of the entries, and put the table into the page."""
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    order = list(yaml.safe_load(ENTRIES.read_text(encoding="utf-8"))["repositories"])
    known |= results
    known = {name: known[name] for name in sorted(known, key=lambda name: (order.index(name) if name in order else 999, name))}
    RESULTS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    if DOCUMENT.is_file():
        text = DOCUMENT.read_text(encoding="utf-8")
        head, _, rest = text.partition(BEGIN)
        _, _, tail = rest.partition(END)
        DOCUMENT.write_text(f"{head}{BEGIN}\n\n{table(known)}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
