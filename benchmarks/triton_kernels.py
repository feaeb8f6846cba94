# mypy: ignore-errors
"""Kernels compiled by Triton, for ``rewrite_gain --kernels``; no GPU is needed.

pip install triton          (3.9.0 made the committed figures)
python benchmarks/triton_kernels.py OUT
"""

from __future__ import annotations

import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

TARGETS = (("gfx90a", 64), ("gfx942", 64), ("gfx1100", 32), ("gfx1201", 32))


@triton.jit
def gemm(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """One tile of a matrix product."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a + rows[:, None] * K + (k + inner)[None, :])
        right = tl.load(b + (k + inner)[:, None] * N + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16))


@triton.jit
def attention(q, k, v, o, L, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """Attention of a tile of queries with a running maximum."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    head = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + head[None, :])
    highest = tl.full((BM,), -1e30, tl.float32)
    weight = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    for start in range(0, L, BN):
        columns = start + tl.arange(0, BN)
        keys = tl.load(k + columns[None, :] * D + head[:, None])
        values = tl.load(v + columns[:, None] * D + head[None, :])
        score = tl.dot(query, keys) * scale
        above = tl.maximum(highest, tl.max(score, 1))
        share = tl.exp2(score - above[:, None])
        shrink = tl.exp2(highest - above)
        weight = weight * shrink + tl.sum(share, 1)
        total = tl.dot(share.to(tl.float16), values, total * shrink[:, None])
        highest = above
    tl.store(o + rows[:, None] * D + head[None, :], (total / weight[:, None]).to(tl.float16))


@triton.jit
def reduction(x, o, N, B: tl.constexpr):
    """The sum of each row."""
    row = tl.program_id(0)
    total = tl.zeros((B,), tl.float32)
    for start in range(0, N, B):
        columns = start + tl.arange(0, B)
        total += tl.load(x + row * N + columns, mask=columns < N, other=0.0)
    tl.store(o + row, tl.sum(total, 0))


@triton.jit
def convolution(x, w, o, W, B: tl.constexpr, K: tl.constexpr):
    """A K by K convolution of one image."""
    place = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for i in range(K):
        for j in range(K):
            total += tl.load(x + (place // W + i) * (W + K) + place % W + j) * tl.load(w + i * K + j)
    tl.store(o + place, total)


HALF, WORD, FLOAT = "*fp16", "i32", "*fp32"
JOBS = (
    (gemm, "GEMM", {"a": HALF, "b": HALF, "c": HALF, "M": WORD, "N": WORD, "K": WORD}, {"BM": 64, "BN": 64, "BK": 32}),
    (attention, "attention", {"q": HALF, "k": HALF, "v": HALF, "o": HALF, "L": WORD, "scale": "fp32"},
     {"BM": 64, "BN": 32, "D": 64}),
    (reduction, "reduction", {"x": FLOAT, "o": FLOAT, "N": WORD}, {"B": 1024}),
    (convolution, "convolution", {"x": FLOAT, "w": FLOAT, "o": FLOAT, "W": WORD}, {"B": 256, "K": 3}),
)  # fmt: skip


def main(directory: Path) -> None:
    """Compile every kernel for every target."""
    directory.mkdir(parents=True, exist_ok=True)
    for gpu, wave_size in TARGETS:
        for function, family, signature, constants in JOBS:
            source = ASTSource(
                fn=function, signature={**signature, **dict.fromkeys(constants, "constexpr")}, constexprs=constants
            )
            made = triton.compile(source, target=GPUTarget("hip", gpu, wave_size))
            (directory / f"{family}_triton-{function.fn.__name__} {gpu}.s").write_text(made.asm["amdgcn"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
