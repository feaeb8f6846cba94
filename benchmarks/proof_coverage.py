"""How many of the ALU instructions that compilers emit have a written meaning in the prover.

Usage: python -m benchmarks.proof_coverage [--outputs 400] [--write]

Counts every vector and scalar ALU instruction (branches, waits, padding and effects left out) in kernels that clang-22
compiled for every target, by occurrence and by mnemonic. The others are uninterpreted functions of what they read.
``--write`` puts the figures in ``benchmarks/results/proof_coverage.json``.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from asmevo_gate.analysis.side_effects import has_effect, is_timing, renames_registers
from asmevo_gate.isa.instruction import Op
from asmevo_gate.isa.targets import parse_target
from asmevo_gate.program.builder import build_program
from asmevo_gate.proof.step import is_interpreted
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.parser import parse_source
from tests.oracles.compiled_kernels import compiled_kernels

RESULT = Path(__file__).parent / "results" / "proof_coverage.json"


def main() -> int:
    """Count and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--outputs", type=int, default=400)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    known: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    matrix = 0
    for kernel in compiled_kernels(options.outputs):
        target = parse_target(kernel.gpu)
        for function in build_program(parse_source("kernel.s", kernel.text, SourceOptions()), target).functions:
            for instruction in function.instructions:
                decoded = instruction.decoded
                if decoded is None or not decoded.classes & (Op.VALU | Op.SALU):
                    continue
                if has_effect(decoded) or is_timing(decoded) or renames_registers(decoded):
                    continue
                matrix += bool(decoded.classes & (Op.MFMA | Op.WMMA))
                found = known if is_interpreted(decoded, target, function.wave_size) else unknown
                found[f"{decoded.base} {decoded.variant}".strip()] += 1
    total = known.total() + unknown.total()
    report = {
        "outputs": options.outputs,
        "alu_instructions": total,
        "with_written_meaning": known.total(),
        "share_by_occurrence": round(known.total() / total, 5),
        "share_without_matrix_instructions": round(known.total() / (total - matrix), 5),
        "forms": len(known | unknown),
        "forms_with_written_meaning": len(known.keys() - unknown.keys()),
        "uninterpreted": dict(unknown.most_common()),
    }
    print(json.dumps(report, indent=2))
    if options.write:
        RESULT.write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
