"""The page ``docs/llvm-test-pairs.md``, from the result of ``benchmarks/llvm_pairs.py``."""

from __future__ import annotations

import json
from pathlib import Path

RESULT = Path(__file__).resolve().parent.parent / "benchmarks/results/llvm_pairs.json"

_HEAD = """# LLVM's own tests of hazards and waits

LLVM tests its passes for hazards and waits with functions in its machine representation. `llc` prints each of them
twice, without and with the repairs of the pass under test. The gate must find a fault in the first and must not find
one in the second. Nothing of LLVM is kept here: the numbers repeat with a copy of its sources and

    {command}

| functions and runs | number |
| --- | --- |
| all | {all} |
| `llc` does not print them (operands that exist only inside the compiler) | {not_printed} |
| the assembler refuses the text | {not_read} |
| the pass changes nothing | {unchanged} |
| the pass only waits at the entry of a device function, for what its caller left in flight | {entry_only} |
| **the pass repairs something** | **{with_a_repair}** |
| the fault is found | {found} ({hazards} hazards, {waits} waits) |
| the fault is not found | {missed} |
| the repaired side has an error finding | {repaired_side_with_an_error} |

Old processors of a test are replaced by gfx900, others by one with the same hazards; where a test does not say whether
XNACK is on it is, as the compiler assumes. A test of hazards is judged by the hazard rules alone, since its functions
do not wait for memory.

## Where the gate differs, and why

| test | GPU | not found | error on the repaired side | why |
| --- | --- | --- | --- | --- |
"""


def page() -> str:
    """The page as Markdown."""
    result = json.loads(RESULT.read_text("utf-8"))
    text = _HEAD.format(
        command=result["command"], hazards=result["hazards_found"], waits=result["waits_found"], **result["functions"]
    )
    for one in result["exceptions"]:
        counts = [str(one.get(kind) or "") for kind in ("missed", "alarms")]
        text += f"| {one['file']} | {one['gpu']} | {counts[0]} | {counts[1]} | {' '.join(one['reason'].split())} |\n"
    return text
