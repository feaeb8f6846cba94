"""Thousands of answers of a model of random weights: every one must be read, and nothing unsafe may be accepted.

    python -m benchmarks.model_answers [--answers 10000] [--write]      (needs the extra llm)

The model is sampled at temperature 1 through llama-cpp-python under the grammar of each block, so that its answers are
random sentences of the language. What the chain of acceptance takes is judged again by other means: both versions are
executed on random wavefronts, every rule looks at the changed file, and LLVM assembles it.
``--write`` puts the figures in ``benchmarks/results/model_answers.json``.
"""

from __future__ import annotations

import argparse
import json
import time
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from asmevo_gate.rewrite.language_model import LanguageModel, ModelOptions
from tests.rewrite.model_answers import BLOCKS, AnswerTally, Block
from tests.rewrite.tiny_model import write_tiny_model

RESULT = Path(__file__).parent / "results" / "model_answers.json"
TOKENS = 128


def main(arguments: list[str] | None = None) -> int:
    """Measure and write; exit code 1 when an answer was not read or something unsafe was accepted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=10_000)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    total, blocks = AnswerTally(), {}
    start = time.monotonic()
    with TemporaryDirectory() as folder:
        model = LanguageModel(ModelOptions(write_tiny_model(Path(folder) / "tiny.gguf"), temperature=1.0))
        for at, name in enumerate(BLOCKS):
            seeds = range(at, options.answers, len(BLOCKS))
            found = Block(name, TOKENS).tally(model, seeds)
            blocks[name] = figures(found)
            total.add(found)
            print(name, blocks[name], flush=True)
        model.close()
    document = {
        "schema": "asmevo-gate/model_answers/1",
        "library": f"llama-cpp-python {version('llama-cpp-python')}",
        **figures(total),
        "seconds": round(time.monotonic() - start),
        "blocks": blocks,
    }
    print(json.dumps(document, indent=1))
    for line in [*total.unread, *total.unsafe]:
        print(line)
    if options.write:
        RESULT.write_text(json.dumps(document, indent=1) + "\n")
    return 1 if total.unread or total.unsafe else 0


def figures(tally: AnswerTally) -> dict[str, object]:
    """The counts for a report."""
    return {
        "answers": tally.answers,
        "complete": tally.complete,
        "not_read": len(tally.unread),
        "empty": tally.empty,
        "distinct_judged": tally.judged,
        "accepted": tally.accepted,
        "accepted_unsafe": len(tally.unsafe),
        "rejected": dict(sorted(tally.rejected.items())),
    }


if __name__ == "__main__":
    raise SystemExit(main())
