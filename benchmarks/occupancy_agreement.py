"""Agreement of registers, LDS, scratch and occupancy with LLVM 22's own figures on compiled kernels.

    python -m benchmarks.occupancy_agreement [OUTPUTS]      (2,500 compiler outputs unless told otherwise)

Needs clang-22. The first run compiles (about 0.1 s an output); outputs are cached.
"""

from __future__ import annotations

import sys
from collections import Counter

from tests.oracles.compiled_kernels import GPUS, compiled_kernels
from tests.oracles.resource_comments import Difference, differences


def main() -> int:
    """Print the agreement for each GPU; exit code 1 when a figure differs."""
    outputs = int(sys.argv[1]) if len(sys.argv) > 1 else 2500
    kernels: Counter[str] = Counter()
    wrong: list[Difference] = []
    for output in compiled_kernels(outputs):
        count, found = differences(output)
        kernels[output.gpu] += count
        wrong += found
    for gpu in GPUS:
        print(
            f"{gpu:8} {kernels[gpu]:5} kernels, {sum(d.output.startswith(gpu + ' ') for d in wrong):3} figures differ"
        )
    for difference in wrong[:20]:
        print(difference)
    print(f"all      {sum(kernels.values()):5} kernels, {len(wrong):3} figures differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
