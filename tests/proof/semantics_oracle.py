"""Our semantics of LLVM's assembly against the host's results for the same IR."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from asmevo_gate.isa.decoder import isa_for
from asmevo_gate.isa.instruction import Decoded, NotDecoded
from asmevo_gate.isa.registers import SGPR, VGPR
from asmevo_gate.isa.targets import find_target
from asmevo_gate.proof.evaluate import Evaluation, Wavefronts, unknown_functions
from asmevo_gate.proof.normal_form import NormalTerms
from asmevo_gate.proof.state import EXEC_LO, State
from asmevo_gate.proof.step import is_interpreted, step_of
from asmevo_gate.proof.terms import Term, Terms
from tests.proof.ir_functions import (
    ARGUMENTS,
    DWORDS,
    RESULTS,
    HostFunctions,
    IrText,
    compile_device,
    random_function,
)

COMPUTE_MODE = 0x3F0
"""MODE of compute kernels: round to nearest even, denormals kept, DX10_CLAMP, IEEE."""
WAVES = 2
_ENDS = ("s_setpc_b64", "s_set_pc_i64")


@dataclass
class Agreement:
    """Counts of one run; ``wrong`` are messages about values that differ."""

    functions: int = 0
    instructions: int = 0
    values: int = 0
    open_values: int = 0
    wrong: list[str] = field(default_factory=list)
    uninterpreted: Counter[str] = field(default_factory=Counter)
    bases: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)

    def add(self, other: Agreement) -> None:
        """Sum up."""
        self.functions += other.functions
        self.instructions += other.instructions
        self.values += other.values
        self.open_values += other.open_values
        self.wrong += other.wrong
        self.uninterpreted.update(other.uninterpreted)
        self.bases.update(other.bases)
        self.skipped.update(other.skipped)


def compare(gpu: str, wave: int, seed: int, count: int) -> Agreement:
    """Compare ``count`` random functions on one target."""
    texts = [random_function(f"f{index}", random.Random(f"{gpu}/{wave}/{seed}/{index}")) for index in range(count)]
    return compare_texts(texts, gpu, wave, seed)


def compare_texts(texts: list[IrText], gpu: str, wave: int, seed: int) -> Agreement:
    """Compare given functions on one target."""
    device = compile_device(texts, gpu, wave)
    host = HostFunctions(texts)
    total = Agreement()
    for index, text in enumerate(texts):
        total.add(_compare_one(text, device[text.name], host, gpu, wave, seed * 1000 + index))
    return total


def _compare_one(text: IrText, lines: list[str], host: HostFunctions, gpu: str, wave: int, seed: int) -> Agreement:
    found = Agreement(functions=1)
    code = _code(lines, gpu, wave)
    if isinstance(code, str):
        found.skipped[code] += 1
        return found
    target = find_target(gpu)
    for decoded in code:
        for half in decoded.halves or (decoded,):
            found.bases[half.base] += 1
        if not is_interpreted(decoded, target, wave):
            found.uninterpreted[decoded.base] += 1
    found.instructions = len(code)
    wavefronts = Wavefronts(WAVES, wave, seed, mode=COMPUTE_MODE)
    slots = _inputs(wavefronts, wave)
    expected = host.run(text.name, slots)
    for terms in (Terms(), NormalTerms()):
        state = State(terms, wave)
        for decoded in code:
            step_of(decoded, target, wave)(state)
        _check(text, lines, state, Evaluation(wavefronts), expected, wave, found, gpu)
        if found.wrong:
            break
    return found


def _code(lines: list[str], gpu: str, wave: int) -> list[Decoded] | str:
    """The decoded body, or why it is none."""
    isa = isa_for(find_target(gpu), wave)
    code = []
    for line in lines:
        if line.startswith(_ENDS):
            return code
        if line.startswith(("s_cbranch", "s_branch", "s_swap", "scratch_", "buffer_", "s_getpc", "s_get_pc")):
            return f"not straight-line: {line.split()[0]}"
        decoded = isa.decode(line)
        if isinstance(decoded, NotDecoded):
            return f"not decoded: {line.split()[0]}"
        code.append(decoded)
    return "no end"


_QUIET = {"float": (0x7F800000, 0x400000), "half": (0x7C00, 0x200), "double": (0x7FF00000, 0x80000)}


def _quiet(kind: str, values: Any) -> Any:
    """Signalling NaNs made quiet: what functions do with them differs between IR, host and GPU."""
    for name, (infinity, bit) in _QUIET.items():
        if kind == name or (kind == "<2 x half>" and name == "half"):
            for shift in (0, 16) if kind == "<2 x half>" else (0,):
                low, quiet = np.uint64(infinity << shift), np.uint64(bit << shift)
                values = np.where(values & low == low, values | quiet, values)
    return values


def _inputs(wavefronts: Wavefronts, wave: int) -> Any:
    """Put values into the argument registers, and the same into the host's slots."""
    for low in (EXEC_LO, EXEC_LO + 1):
        wavefronts.set(low, np.full((WAVES, 1), 0xFFFFFFFF, dtype=np.uint64))
    vector, scalar = VGPR.start, SGPR.start + 4
    slots = np.zeros((WAVES * wave, len(ARGUMENTS)), dtype=np.uint64)
    for number, (kind, uniform) in enumerate(ARGUMENTS):
        value = np.zeros((WAVES, wave), dtype=np.uint64)
        count = DWORDS.get(kind, 1)
        for part in range(count):
            register = (scalar if uniform else vector) + part
            word = wavefronts.value(register, 32)
            if part == count - 1:
                word = _quiet(kind, word)
                wavefronts.set(register, word)
            value |= word << np.uint64(32 * part)
        slots[:, number] = value.reshape(-1)
        if uniform:
            scalar += count
        else:
            vector += count
    return slots


_FLOATS = {"float": ((32, 0x7F800000),), "double": ((64, 0x7FF0000000000000),), "half": ((16, 0x7C00),)}
_WIDTHS = {"i32": 32, "float": 32, "i64": 64, "double": 64, "half": 16, "i16": 16, "<2 x half>": 32, "<2 x i16>": 32}


def _check(
    text: IrText, lines: list[str], state: State, evaluation: Evaluation, expected: Any, wave: int,
    found: Agreement, gpu: str,
) -> None:  # fmt: skip
    register = VGPR.start
    for number, kind in enumerate(RESULTS):
        count = DWORDS.get(kind, 1)
        parts: list[Term] = [state.read(register + part) for part in range(count)]
        register += count
        if unknown_functions(parts):
            found.open_values += 1
            continue
        value = np.zeros((WAVES, wave), dtype=np.uint64)
        for place, part in enumerate(parts):
            value |= np.broadcast_to(evaluation.value(part), value.shape) << np.uint64(32 * place)
        width = _WIDTHS[kind]
        mask = np.uint64((1 << width) - 1)
        ours, theirs = value.reshape(-1) & mask, expected[:, number] & mask
        for low, infinity in _nan_parts(kind):
            ours, theirs = _one_nan(ours, low, infinity), _one_nan(theirs, low, infinity)
        different = ours != theirs
        found.values += int(different.size)
        if different.any():
            lane = int(np.argmax(different))
            how = type(state.terms).__name__
            found.wrong.append(
                f"{gpu} wave{wave} {text.name} ({how}): result {number} ({kind}) is {int(ours[lane]):#x}, host "
                f"{int(theirs[lane]):#x} in lane {lane}\n" + text.body + "\n" + "\n".join(lines)
            )


def _nan_parts(kind: str) -> tuple[tuple[int, int], ...]:
    """(first bit, bits of infinity) of each float in a result."""
    if kind == "<2 x half>":
        return ((0, 0x7C00), (16, 0x7C00))
    return tuple((0, infinity) for _, infinity in _FLOATS.get(kind, ()))


def _one_nan(values: Any, low: int, infinity: int) -> Any:
    """The same NaN for all NaNs of a float at bit ``low``: payloads are no part of IEEE arithmetic."""
    magnitude = _MAGNITUDES[infinity]
    nan = (values >> np.uint64(low) & np.uint64(magnitude)) > np.uint64(infinity)
    whole = np.uint64((2 * magnitude + 1) << low)
    return np.where(nan, values & ~whole | np.uint64(magnitude << low), values)


_MAGNITUDES = {0x7C00: 0x7FFF, 0x7F800000: 0x7FFFFFFF, 0x7FF0000000000000: 0x7FFFFFFFFFFFFFFF}
