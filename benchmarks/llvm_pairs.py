"""LLVM's own tests of hazards and waits: the unrepaired side is found, the repaired side is quiet.

    python -m benchmarks.llvm_pairs --tests llvm-project/llvm/test/CodeGen/AMDGPU [--processes N] [--details] [--write]

Needs a copy of LLVM's sources (of which nothing is kept here), ``llc-22`` and ``llvm-mc-22``. Each function of a test
of ``post-RA-hazard-rec``, ``amdgpu-wait-sgpr-hazards`` or ``si-insert-waitcnts`` is printed without and with the pass
(see :mod:`benchmarks.llvm_mir`) and checked. Where the pass changes the function, the unrepaired side must have a
finding that the repaired side has not; the repaired side must have no error. What differs is counted in
``benchmarks/data/llvm_pairs_exceptions.yaml``, with the reason; the exit code is 1 when the counts are others.

``--write`` puts the counts into ``benchmarks/results/llvm_pairs.json``; ``docs/llvm-test-pairs.md`` is made from it.
``--details`` prints each function in question with its difference.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import msgspec
import yaml

from asmevo_gate.gate.file_check import CheckedProgram, check_text
from asmevo_gate.gate.findings import findings_of
from asmevo_gate.gate.result import Finding
from asmevo_gate.gate.target_choice import named_target
from asmevo_gate.rules.rule import Rule
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.symbols import predefined_symbols
from benchmarks.llvm_mir import HAZARD_PASSES, WAIT_PASSES, FunctionText, Pair, Unprinted, pairs_of, runs_of

HERE = Path(__file__).parent
RESULT = HERE / "results" / "llvm_pairs.json"
EXCEPTIONS = HERE / "data" / "llvm_pairs_exceptions.yaml"
_ADVICE = ("wait.redundant", "wait.too_strong", "nop.too_long")
"""Rules about what is not needed; they say nothing about faults."""

Kind = Literal["not_printed", "not_read", "unchanged", "entry_only", "found", "missed"]


class ListedException(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Functions of a file on a GPU that are missed, or whose repaired side has an error, with the reason."""

    file: str
    gpu: str
    reason: str
    missed: int = 0
    alarms: int = 0


class _Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    exceptions: list[ListedException]


@dataclass(frozen=True)
class Outcome:
    """One function of one run. ``alarms`` are error findings of its repaired side, ``detail`` shows the difference."""

    file: str
    function: str
    gpu: str
    hazards: bool
    kind: Kind
    alarms: tuple[str, ...] = ()
    detail: str = ""


def main() -> int:
    """Check all pairs, compare with the exceptions, print and write."""
    parser = argparse.ArgumentParser(description="LLVM's own pairs of broken and repaired code.")
    parser.add_argument(
        "--tests", type=Path, required=True, help="llvm/test/CodeGen/AMDGPU of a copy of LLVM's sources"
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--details", action="store_true")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    files = sorted(path for path in arguments.tests.rglob("*.mir") if runs_of(path.read_text("utf-8")))
    if not files:
        parser.error(f"{arguments.tests} holds no test of these passes")
    with ProcessPoolExecutor(arguments.processes) as pool:
        outcomes = [one for found in pool.map(outcomes_of, files) for one in found]
    exceptions = msgspec.convert(yaml.safe_load(EXCEPTIONS.read_text("utf-8")), _Document).exceptions
    result = summary(outcomes, exceptions)
    if arguments.write:
        RESULT.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    if arguments.details:
        _print_details(outcomes)
    print(json.dumps(result["functions"], indent=1))
    open_questions = list(unexplained(outcomes, exceptions))
    print("\n".join(open_questions) or "every exception is listed with its reason")
    return 1 if open_questions else 0


def outcomes_of(path: Path) -> list[Outcome]:
    """Every function of a test file in every run."""
    found = []
    with TemporaryDirectory() as work:
        for pair in pairs_of(path, Path(work)):
            if isinstance(pair, Unprinted):
                found.append(Outcome(pair.file, pair.name, pair.run.gpu, _hazards(pair), "not_printed"))
            else:
                found.extend(_outcomes(pair))
    return found


def _hazards(pair: Pair | Unprinted) -> bool:
    return any(one in HAZARD_PASSES for one in pair.run.passes)


def _outcomes(pair: Pair) -> Iterator[Outcome]:
    bad, good = _checked(pair, pair.bad), _checked(pair, pair.good)
    for name in pair.names:
        before, after = pair.bad_functions.get(name), pair.good_functions.get(name)
        common = (pair.file, name, pair.run.gpu, _hazards(pair))
        if before is None or after is None:
            yield Outcome(*common, "not_printed")
            continue
        if name in pair.unread and not _decoded(bad.program, before):
            yield Outcome(*common, "not_read")
            continue
        made, left = bad.within(before), good.within(after)
        alarms = tuple(f"{one.rule}: {one.message}" for one in left if one.severity == "error")
        kind: Kind = "unchanged"
        if before.code != after.code:
            more = Counter(one.rule for one in made) - Counter(one.rule for one in left)
            kind = "entry_only" if _without_entry_waits(before) == _without_entry_waits(after) else "missed"
            kind = "found" if more else kind
        yield Outcome(*common, kind, alarms, "\n".join(difflib.ndiff(before.code, after.code)))


@dataclass(frozen=True)
class _Checked:
    """One side of a pair: the program, and the findings that its passes are about."""

    program: CheckedProgram
    findings: tuple[Finding, ...]

    def within(self, function: FunctionText) -> list[Finding]:
        return [one for one in self.findings if function.first <= one.line <= function.last]


def _checked(pair: Pair, text: str) -> _Checked:
    target = named_target(pair.file, text)
    assert target is not None, "llc names the target"
    families = ("hazard", "wait") if any(one in WAIT_PASSES for one in pair.run.passes) else ("hazard",)

    def concerned(rule: Rule) -> bool:
        return rule.family in families and rule.id not in _ADVICE

    options = SourceOptions(predefined=predefined_symbols(pair.run.gpu))
    program = check_text(pair.file, text, target, options, pair.run.wave_size, None, concerned)
    return _Checked(program, tuple(findings_of(program, {})))


def _decoded(checked: CheckedProgram, text: FunctionText) -> bool:
    return all(
        instruction.decoded is not None
        for function in checked.program.functions
        for instruction in function.instructions
        if text.first <= instruction.statement.place.line <= text.last
    )


_WAIT = re.compile(r"s_wait(cnt(_\w+cnt)?|_\w*cnt) ")


def _without_entry_waits(text: FunctionText) -> tuple[str, ...]:
    """A function without the waits at its start, which are for what its caller left in flight."""
    first = next((index for index, line in enumerate(text.code) if not _WAIT.match(line)), len(text.code))
    return text.code[first:]


def summary(outcomes: list[Outcome], exceptions: list[ListedException]) -> dict[str, object]:
    """The counts, as written: all, by test file, and the exceptions."""
    files: dict[str, Counter[str]] = {}
    for one in outcomes:
        counts = files.setdefault(one.file, Counter())
        counts.update((one.kind, *(["alarms"] if one.alarms else [])))
    kinds = Counter(one.kind for one in outcomes)
    return {
        "command": "python -m benchmarks.llvm_pairs --tests llvm/test/CodeGen/AMDGPU --write",
        "functions": {
            "all": len(outcomes),
            **{kind: kinds[kind] for kind in ("not_printed", "not_read", "unchanged", "entry_only")},
            "with_a_repair": kinds["found"] + kinds["missed"],
            "found": kinds["found"],
            "missed": kinds["missed"],
            "repaired_side_with_an_error": sum(bool(one.alarms) for one in outcomes),
        },
        "hazards_found": sum(one.kind == "found" and one.hazards for one in outcomes),
        "waits_found": sum(one.kind == "found" and not one.hazards for one in outcomes),
        "files": {name: dict(sorted(counts.items())) for name, counts in sorted(files.items())},
        "exceptions": [msgspec.to_builtins(one) for one in exceptions],
    }


def unexplained(outcomes: list[Outcome], exceptions: list[ListedException]) -> Iterator[str]:
    """Differences between what was seen and what is listed."""
    seen: dict[tuple[str, str], Counter[str]] = {}
    for one in outcomes:
        counts = seen.setdefault((one.file, one.gpu), Counter())
        counts["missed"] += one.kind == "missed"
        counts["alarms"] += bool(one.alarms)
    listed: dict[tuple[str, str], Counter[str]] = {}
    for known in exceptions:
        listed.setdefault((known.file, known.gpu), Counter()).update(missed=known.missed, alarms=known.alarms)
    for key in sorted(seen.keys() | listed.keys()):
        there, known_counts = seen.get(key, Counter()), listed.get(key, Counter())
        for kind in ("missed", "alarms"):
            if there[kind] != known_counts[kind]:
                yield f"{key[0]} on {key[1]}: {there[kind]} {kind}, {known_counts[kind]} listed"


def _print_details(outcomes: list[Outcome]) -> None:
    for one in outcomes:
        if one.kind == "missed" or one.alarms:
            print(f"--- {one.file} {one.gpu} {one.function}: {one.kind}", *one.alarms, one.detail, sep="\n")


if __name__ == "__main__":
    sys.exit(main())
