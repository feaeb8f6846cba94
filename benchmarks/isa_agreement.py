"""Agreement of the instruction table with LLVM 22, on every form of every target, and the speed of decoding.

    python -m benchmarks.isa_agreement [--output benchmarks/results/isa_agreement.json] [--outputs N] [--draws N]

Lines: every sample line of ``tests/oracles/isa_lines.txt.xz`` as it is and on draws of other registers, in each
wave size, with one more modifier, and on the targets that it is not of; our own rare spellings; and the distinct
instruction lines of N compiler outputs.
Needs g++, llvm-22-dev and, for the last part, clang-22.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from asmevo_gate.isa import decoder
from asmevo_gate.isa.decoder import Isa
from asmevo_gate.isa.table import data_version, load_table
from asmevo_gate.isa.targets import find_target, target_names
from tests.oracles.compiled_kernels import CompileError, compiled_kernels
from tests.oracles.isa_lines import (
    compare,
    instruction_lines,
    known_exceptions,
    llvm,
    other_wave_sizes,
    rare_spellings,
    sample_lines,
    varied,
    with_modifiers,
)


class Tally:
    """Counts of verdicts, and examples of those that are not agreement."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.rules: Counter[str] = Counter()
        self.lines: set[tuple[str, str]] = set()
        self.exceptions: Counter[str] = Counter()
        self.examples: dict[str, list[str]] = {}

    def add(self, verdicts: Iterable[Any]) -> None:
        for verdict in verdicts:
            if (verdict.target, verdict.text) in self.lines:
                continue
            self.lines.add((verdict.target, verdict.text))
            self.kinds[verdict.kind] += 1
            if verdict.kind == "explained":
                self.rules[verdict.detail] += 1
            elif verdict.kind == "exception":
                self.exceptions[verdict.detail] += 1
            elif verdict.kind in ("different", "not_decoded", "lenient", "rejected"):
                shown = self.examples.setdefault(verdict.kind, [])
                if len(shown) < 60:
                    shown.append(f"{verdict.target}: {verdict.text} ({verdict.detail})")

    def report(self) -> dict[str, Any]:
        differing = sum(self.exceptions[known.name] for known in known_exceptions() if "different" in known.kinds)
        accepted = differing + sum(self.kinds[kind] for kind in ("equal", "explained", "different", "not_decoded"))
        agreed = self.kinds["equal"] + self.kinds["explained"]
        turned_down = len(self.lines) - accepted
        return {
            "distinct_lines": len(self.lines),
            "accepted_by_llvm": accepted,
            "agreement": round(agreed / accepted, 6) if accepted else None,
            "rejected_by_llvm": turned_down,
            "refused_of_those": round(self.kinds["refused"] / turned_down, 6) if turned_down else None,
            "verdicts": dict(sorted(self.kinds.items())),
            "explained_by": dict(sorted(self.rules.items())),
            "exceptions": dict(sorted(self.exceptions.items())),
            "examples": self.examples,
        }


def forms_agreement(draws: int) -> dict[str, Any]:
    """The table's own sample lines, on other registers too."""
    tally = Tally()
    for target in target_names():
        lines = sample_lines()[target]
        default = find_target(target).wave_sizes[0]
        tally.add(compare(target, default, lines))
        for seed in range(1, draws + 1):
            tally.add(compare(target, default, varied(target, lines, seed)))
        for wave_size in other_wave_sizes(target):
            tally.add(compare(target, wave_size, varied(target, lines, 0)))
        print(target, dict(tally.kinds), file=sys.stderr)
    return tally.report()


def foreign_lines() -> dict[str, Any]:
    """The sample lines of all other targets: what LLVM rejects as unavailable must not be decoded."""
    tally = Tally()
    everything = sorted({line for lines in sample_lines().values() for line in lines})
    for target in target_names():
        own = set(sample_lines()[target])
        tally.add(compare(target, find_target(target).wave_sizes[0], [line for line in everything if line not in own]))
        print(target, dict(tally.kinds), file=sys.stderr)
    return tally.report()


def modifiers_agreement(draws: int) -> dict[str, Any]:
    """Sample lines with one more modifier, whose value may be out of its range: both sides refuse the same ones."""
    tally = Tally()
    for target in target_names():
        for seed in range(draws):
            lines = with_modifiers(target, sample_lines()[target], seed)
            tally.add(compare(target, find_target(target).wave_sizes[0], lines))
        print(target, dict(tally.kinds), file=sys.stderr)
    return tally.report()


def spellings_agreement() -> dict[str, Any]:
    """Our own list of rare spellings."""
    tally = Tally()
    for target, text in rare_spellings():
        tally.add(compare(target, find_target(target).wave_sizes[0], [text]))
    return tally.report()


def compiler_agreement(outputs: int) -> dict[str, Any]:
    """Distinct instruction lines of compiler outputs."""
    tally = Tally()
    by_machine: dict[tuple[str, int], set[str]] = {}
    try:
        for output in compiled_kernels(outputs):
            wave_size = 64 if "wavefrontsize64" in output.name else find_target(output.gpu).wave_sizes[0]
            by_machine.setdefault((output.gpu, wave_size), set()).update(instruction_lines(output.text))
    except CompileError as error:
        return {"not_run": str(error)}
    for (target, wave_size), lines in sorted(by_machine.items()):
        tally.add(compare(target, wave_size, sorted(lines)))
    return tally.report()


def speed() -> dict[str, Any]:
    """Lines a second for distinct and for remembered texts (gfx942), and the time to load the table."""
    load_table.cache_clear()
    start = time.perf_counter()
    load_table()
    loaded = time.perf_counter()
    isa: Isa = decoder.Isa(find_target("gfx942"), 64)
    made = time.perf_counter()
    lines = sorted(
        {*sample_lines()["gfx942"], *(x for s in range(8) for x in varied("gfx942", sample_lines()["gfx942"], s))}
    )
    before = time.perf_counter()
    for line in lines:
        isa.decode(line)
    first = time.perf_counter()
    for line in lines:
        isa.decode(line)
    second = time.perf_counter()
    return {
        "load_ms": round((loaded - start) * 1000, 1),
        "target_ms": round((made - loaded) * 1000, 1),
        "distinct_lines": len(lines),
        "distinct_lines_per_s": round(len(lines) / (first - before)),
        "remembered_lines_per_s": round(len(lines) / (second - first)),
        "python": platform.python_version(),
    }


def main() -> int:
    """Write the report; exit code 1 when a line disagrees."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--outputs", type=int, default=100, help="compiler outputs to take lines from")
    parser.add_argument("--draws", type=int, default=1, help="draws of other registers for each line")
    arguments = parser.parse_args()
    report = {
        "command": "python -m benchmarks.isa_agreement --output benchmarks/results/isa_agreement.json",
        "llvm": llvm().descriptions.llvm,
        "table": data_version(),
        "known_exceptions": {known.name: known.reason for known in known_exceptions()},
        "forms": forms_agreement(arguments.draws),
        "lines_of_other_targets": foreign_lines(),
        "modifiers": modifiers_agreement(arguments.draws),
        "rare_spellings": spellings_agreement(),
        "compiler_output": compiler_agreement(arguments.outputs),
        "speed": speed(),
    }
    text = json.dumps(report, indent=1) + "\n"
    if arguments.output:
        arguments.output.write_text(text)
    print(text)
    parts = [part for part in report.values() if isinstance(part, dict) and "verdicts" in part]
    return int(any(part["examples"] for part in parts))


if __name__ == "__main__":
    raise SystemExit(main())
