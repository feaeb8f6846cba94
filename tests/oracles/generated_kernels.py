"""Random kernels compiled by LLVM 22: hazard-heavy LLVM IR for every target, and what the compiler makes of it.

``generated_kernels()`` yields ``(gpu, name, text)``. A kernel is a mix of operations of one or two groups (matrix
chains, DPP, lane access, masks, transcendental, memory ...) over basic blocks with conditions and loops. The same
seed gives the same kernel. Outputs are cached by content in the directory for temporary files.

Command line::

    python -m tests.oracles.generated_kernels [--kernels N] [--seed N] [--write DIR] [GPU ...]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.oracles.kernel_operations import ALL, OPERATIONS, Body, Entry

COMPILER = "llc-22"
GPUS = ALL
PER_MODULE = 12
TIMEOUT_SECONDS = 300
_GROUPS = ("plain", "scalar", "mask", "lane", "dpp", "divide", "double", "trans", "half", "memory", "message", "dot",
           "permlane", "matrix")  # fmt: skip
_BOTH_SIZES = ("gfx1010", "gfx1030", "gfx1100", "gfx1151", "gfx1200", "gfx1201")


class GeneratedKernel(NamedTuple):
    """One module as the compiler writes it: ``name`` tells GPU, wave size, optimisation level and seed."""

    gpu: str
    wave: int
    name: str
    text: str


class CompileError(Exception):
    """The compiler rejected a generated module; the message holds its output."""


@cache
def compiler_version() -> str | None:
    """First line of the compiler's version, ``None`` when it is not installed."""
    program = shutil.which(COMPILER)
    if program is None:
        return None
    result = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=60)
    return " ".join(result.stdout.split()[:6])


def generated_kernels(
    kernels: int, seed: int = 1, gpus: Sequence[str] = GPUS, level: str | None = None
) -> Iterator[GeneratedKernel]:
    """At least ``kernels`` kernels, spread evenly over the targets, a module at a time.

    Raises:
        CompileError: the compiler is missing or rejected a module.
    """
    modules = -(-kernels // (PER_MODULE * len(gpus)))
    for number in range(modules):
        for gpu in gpus:
            yield _first_that_compiles(gpu, seed * 100_003 + number, level)


def _first_that_compiles(gpu: str, seed: int, level: str | None) -> GeneratedKernel:
    """A module of this seed, or of a later one where LLVM 22 stops at its own illegal instruction (v_div_scale with
    two equal undefined operands at -O0)."""
    for attempt in range(4):
        try:
            return compile_module(gpu, seed + attempt * 7_000_003, level)
        except CompileError as error:
            if "Illegal instruction detected" not in str(error):
                raise
    raise CompileError(f"no module of seed {seed} compiles for {gpu}")


def compile_module(gpu: str, seed: int, level: str | None = None) -> GeneratedKernel:
    """One module of kernels for one target."""
    rng = random.Random(f"{gpu}/{seed}")
    wave = rng.choice((32, 64)) if gpu in _BOTH_SIZES else 32 if gpu == "gfx1250" else 64
    optimisation = level or rng.choice(("-O1", "-O2", "-O2", "-O3", "-O0"))
    text = module_ir(rng, gpu, wave)
    features = [f"+wavefrontsize{wave}"] if gpu in _BOTH_SIZES else []
    if gpu.startswith("gfx9") or gpu == "gfx1010":
        features.append("-xnack")
    command = [COMPILER, "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={gpu}", optimisation]
    if features:
        command.append(f"-mattr={','.join(features)}")
    return GeneratedKernel(gpu, wave, f"{gpu} wave{wave} {optimisation} seed {seed}", _compile(text, command))


def _compile(text: str, command: list[str]) -> str:
    version = compiler_version()
    if version is None:
        raise CompileError(f"{COMPILER} is not installed")
    digest = hashlib.sha256("\0".join((version, *command, text)).encode()).hexdigest()
    place = Path(tempfile.gettempdir()) / "asmevo-generated-kernels" / digest[:2] / digest
    if place.is_file():
        return place.read_text()
    result = subprocess.run(
        [*command, "-o", "-", "-"], input=text, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
    )
    if result.returncode:
        raise CompileError(f"{' '.join(command)}: {result.stderr.strip()[:600]}")
    place.parent.mkdir(parents=True, exist_ok=True)
    partial = place.with_suffix(f".{os.getpid()}")
    partial.write_text(result.stdout)
    partial.replace(place)
    return result.stdout


def module_ir(rng: random.Random, gpu: str, wave: int) -> str:
    """The IR of one module."""
    declarations: set[str] = {"declare i32 @llvm.amdgcn.workitem.id.x()"}
    functions = [_kernel_ir(rng, gpu, wave, f"k{number}", declarations) for number in range(PER_MODULE)]
    head = "@lds = internal addrspace(3) global [1024 x float] poison, align 16\n"
    return head + "\n".join(sorted(declarations)) + "\n\n" + "\n".join(functions) + "\n!0 = !{}\n"


def _kernel_ir(rng: random.Random, gpu: str, wave: int, name: str, declarations: set[str]) -> str:
    entries = _mix(rng, gpu, wave)
    weights = [entry.weight for entry in entries]
    number = [0]
    pool = _arguments()
    head = _prologue()
    body = Body(rng, gpu, wave, pool, number, declarations=declarations)
    blocks: list[str] = ["\n".join(head)]
    label = "entry"
    for _ in range(rng.randint(1, 4)):
        for _ in range(rng.randint(4, 14)):
            rng.choices(entries, weights)[0].operation(body)
        shape = rng.choice(("straight", "if", "loop", "uniform if"))
        label = _close(rng, body, entries, weights, label, shape, blocks)
    body.lines.extend(_epilogue(body))
    blocks.append("\n".join(body.lines))
    parameters = "ptr addrspace(1) %p, ptr addrspace(1) %q, ptr addrspace(4) %c, ptr addrspace(8) %r, i32 %u, i32 %w"
    limit = rng.choice(('"amdgpu-flat-work-group-size"="1,64"', '"amdgpu-flat-work-group-size"="1,256"'))
    return (
        f"define amdgpu_kernel void @{name}({parameters}) {limit} {{\nentry:\n"
        + "\n".join(blocks)
        + "\n  ret void\n}\n"
    )


def _mix(rng: random.Random, gpu: str, wave: int) -> list[Entry]:
    """Operations of two random groups (and the plain ones) that the target has."""
    available = [entry for entry in OPERATIONS if gpu in entry.gpus and entry.wave in (None, wave)]
    groups = {group for entry in available for group in entry.groups}
    chosen = set(rng.sample([group for group in _GROUPS if group in groups], 2))
    return [
        entry for entry in available if chosen & set(entry.groups) or ("plain" in entry.groups and rng.random() < 0.3)
    ]


def _arguments() -> dict[str, list[str]]:
    return {
        "s32": ["%u", "%w"], "i32": ["%t"], "float": ["%f0", "%f1"], "i1": ["%b0"], "s1": ["%sb"], "double": ["%d0"],
        "half": ["%h0"], "i16": ["%h16"], "i64": ["%l0"], "<2 x half>": ["%ph"],
    }  # fmt: skip


def _prologue() -> list[str]:
    return [
        "  %t = call i32 @llvm.amdgcn.workitem.id.x()",
        "  %pg = getelementptr float, ptr addrspace(1) %p, i32 %t",
        "  %f0 = load float, ptr addrspace(1) %pg",
        "  %pg2 = getelementptr float, ptr addrspace(1) %pg, i32 64",
        "  %f1 = load float, ptr addrspace(1) %pg2",
        "  %b0 = icmp ult i32 %t, %u",
        "  %sb = icmp ult i32 %w, %u",
        "  %d0 = fpext float %f0 to double",
        "  %h0 = fptrunc float %f1 to half",
        "  %h16 = trunc i32 %t to i16",
        "  %l0 = zext i32 %t to i64",
        "  %pha = insertelement <2 x half> poison, half %h0, i32 0",
        "  %ph = insertelement <2 x half> %pha, half %h0, i32 1",
    ]


def _close(
    rng: random.Random,
    body: Body,
    entries: list[Entry],
    weights: list[float],
    label: str,
    shape: str,
    blocks: list[str],
) -> str:
    """End the current block with a condition or a loop around some more operations; the label that follows."""
    if shape == "straight":
        return label
    body.number[0] += 1
    tag = body.number[0]
    condition = body.use("s1") if shape == "uniform if" else body.use("i1")
    outer = {kind: list(values) for kind, values in body.pool.items()}
    carried = body.use("float")
    if shape == "loop":
        body.lines.append(f"  br label %loop{tag}\nloop{tag}:")
        body.lines.append(f"  %c{tag} = phi float [ {carried}, %{label} ], [ %n{tag}, %loop{tag} ]")
        body.lines.append(f"  %i{tag} = phi i32 [ 0, %{label} ], [ %j{tag}, %loop{tag} ]")
        body.pool["float"].append(f"%c{tag}")
    else:
        body.lines.append(f"  br i1 {condition}, label %then{tag}, label %join{tag}\nthen{tag}:")
    for _ in range(rng.randint(2, 8)):
        rng.choices(entries, weights)[0].operation(body)
    body.lines.append(f"  %n{tag} = fadd float {body.use('float')}, {carried}")
    if shape == "loop":
        body.lines.append(f"  %j{tag} = add i32 %i{tag}, 1")
        body.lines.append(f"  %e{tag} = icmp ult i32 %j{tag}, {rng.choice(('%u', '7', '%t'))}")
        body.lines.append(f"  br i1 %e{tag}, label %loop{tag}, label %join{tag}\njoin{tag}:")
        result = f"%n{tag}"
    else:
        body.lines.append(f"  br label %join{tag}\njoin{tag}:")
        body.lines.append(f"  %m{tag} = phi float [ {carried}, %{label} ], [ %n{tag}, %then{tag} ]")
        result = f"%m{tag}"
    blocks.append("\n".join(body.lines))
    body.lines.clear()
    # Values of the inner block do not dominate what follows.
    body.pool.clear()
    body.pool.update(outer)
    body.pool["float"].append(result)
    return f"join{tag}"


def _epilogue(body: Body) -> list[str]:
    """Use one value of each kind, so that little is dead."""
    lines: list[str] = []
    for offset, kind in enumerate(("float", "i32", "s32", "double", "half", "i1", "i64", "<4 x float>", "<16 x float>", "<32 x float>", "<4 x i32>", "<16 x i32>", "<4 x double>", "<8 x float>", "<8 x half>", "<16 x half>", "<8 x i32>")):  # noqa: E501 # fmt: skip
        for position, value in enumerate(body.pool.get(kind, ())[-3:]):
            stored, llvm = value, "i32" if kind == "s32" else kind
            if kind == "i1":
                body.number[0] += 1
                stored, llvm = f"%x{body.number[0]}", "i32"
                lines.append(f"  {stored} = zext i1 {value} to i32")
            body.number[0] += 1
            place = f"%x{body.number[0]}"
            index = "%t" if kind != "s32" else "%u"
            lines.append(f"  {place} = getelementptr {llvm}, ptr addrspace(1) %q, i32 {index}")
            body.number[0] += 1
            shifted = f"%x{body.number[0]}"
            lines.append(
                f"  {shifted} = getelementptr i8, ptr addrspace(1) {place}, i32 {(offset * 4 + position) * 64}"
            )
            lines.append(f"  store {llvm} {stored}, ptr addrspace(1) {shifted}")
    return lines


def kernel_count(text: str) -> int:
    """Kernels of a module's assembly."""
    return len(re.findall(r"^\s*\.amdhsa_kernel\b", text, re.MULTILINE))


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate, compile and count; print what failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("gpu", nargs="*", default=list(GPUS))
    parser.add_argument("--kernels", type=int, default=len(GPUS) * PER_MODULE)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args(arguments)
    total = 0
    for kernel in generated_kernels(options.kernels, options.seed, options.gpu):
        total += kernel_count(kernel.text)
        if options.write:
            options.write.mkdir(parents=True, exist_ok=True)
            (options.write / f"{kernel.name.replace(' ', '_')}.s").write_text(kernel.text)
    print(f"{total} kernels")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
