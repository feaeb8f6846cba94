"""How much of the AMDGPU assembly that public repositories hold is understood, and why the rest is not.

Usage: python benchmarks/compatibility.py [OWNER/NAME=]CLONE... [--details FILE] [--jobs N] [--write]

CLONE is a local git clone (bare or not) with its history; OWNER/NAME is its entry in
``benchmarks/data/public_repositories.yaml`` (default: from the remote's address), which says how its files are
assembled.
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
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO

import msgspec
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent))
from compatibility_report import ENTRIES, Outcome, message_class, summary, table, write_results
from repository_snapshot import DELETED, Snapshot, take_snapshot

from asmevo_gate.changes.model import Version
from asmevo_gate.changes.patterns import patterns
from asmevo_gate.errors import GateError, UsageError
from asmevo_gate.gate.compile_check import assemble_source
from asmevo_gate.gate.file_check import CheckedProgram, check_text
from asmevo_gate.gate.findings import findings_of
from asmevo_gate.gate.inputs import InputText, input_texts
from asmevo_gate.gate.target_choice import Configuration, named_target
from asmevo_gate.isa.targets import Target, obsolete_name, parse_target
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.parser import parse_source
from asmevo_gate.source.recognise import recognise
from asmevo_gate.source.symbols import predefined_symbols
from asmevo_gate.verify.assembler import Assembled, AssemblyErrors

SECONDS = 180
_OLD_TARGET = re.compile(r"(\.amdgcn_target[ \t]+\"[^\"\n]*?)(gfx[0-9a-f]+)")
"""LLVM is given the released name of a GPU (gfx942 for gfx940 and gfx941), as the gate takes it."""


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
        _reason(outcome, f"rejected: {message_class(error.message)}", f"{error.line}: {error.message}")
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
    if not recognise(text).is_amdgpu and not _includes_amdgpu(job, text):
        outcome.kind = "other"
        return
    way = _way(job, text, outcome)
    outcome.seconds = read
    _check_text(job, texts[0], way, outcome)


def _includes_amdgpu(job: Job, text: str) -> bool:
    """A file of nothing but macro uses and ``.include``, whose included files are AMDGPU assembly."""
    if ".include" not in text:
        return False
    options = SourceOptions(defines=job.defines, include_paths=job.include, root=job.root)
    return any(recognise(included).is_amdgpu for included in parse_source(job.path, text, options).files.values())


def _way(job: Job, text: str, outcome: Outcome) -> Configuration:
    """The configuration of a source file; LLVM's verdict is noted on the way."""
    try:
        own = named_target(job.path, text)
    except UsageError as error:
        outcome.llvm, outcome.llvm_message = "not tried", error.message
        raise
    targets = [own] if own else [parse_target(gpu) for gpu in job.gpus]
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
    released = _OLD_TARGET.sub(lambda match: f"{match[1]}{obsolete_name(match[2]) or match[2]}", source.text)
    source = msgspec.structs.replace(source, text=released)
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
        _reason(outcome, f"object: {message_class(problem)}", problem)
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
        _reason(
            outcome,
            f"not modelled: {message_class(unknown.reason)}",
            f"{unknown.line}: {unknown.text}: {unknown.reason}",
        )
    for facts in checked.kernels:
        for instruction in facts.kernel.instructions:
            if instruction.unknown is not None and instruction.unknown.kind == "not_on_target":
                statement = instruction.statement
                _reason(outcome, "not on this GPU", f"{statement.place.line}: {statement.text}")


def _reason(outcome: Outcome, kind: str, example: str) -> None:
    outcome.reasons[kind] = outcome.reasons.get(kind, 0) + 1
    outcome.examples.setdefault(kind, example[:400])


def jobs_of(name: str, snapshot: Snapshot, entry: dict[str, Any], trial: list[str], only: str | None) -> list[Job]:
    """A job for each file of a snapshot."""
    return [
        _job(name, snapshot, entry, trial, path) for path in snapshot.files if not only or fnmatch.fnmatch(path, only)
    ]


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
            with ProcessPoolExecutor(arguments.jobs, initializer=os.nice, initargs=(5,)) as pool:
                outcomes = [_noted(outcome, details) for outcome in pool.map(run_job, jobs, chunksize=1)]
        results[name] = summary(snapshot, outcomes)
        one = results[name]
        understood = f"{one['llvm_accepts']}, of those understood {one['understood_of_accepted']}"
        print(f"{name}: {one['tried']} files, LLVM accepts {understood}")
        for kind, count in one["reasons_where_llvm_accepts"].items():
            print(f"   {count:5} {kind}")
        sys.stdout.flush()
    print(table(results))
    if arguments.write:
        write_results(results)


def _noted(outcome: Outcome, details: TextIO | None) -> Outcome:
    if details:
        details.write(json.dumps(asdict(outcome)) + "\n")
        details.flush()
    return outcome


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


if __name__ == "__main__":
    main()
