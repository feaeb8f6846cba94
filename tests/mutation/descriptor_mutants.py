"""Damaged kernels: descriptor values below use, changed metadata, EXEC operations of the wrong width, lost ends.

Each mutation changes one thing in the text of a compiled kernel and names the rules that may report it. A mutation
does not apply to a kernel in which the change would be harmless.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from asmevo_gate.analysis.divergence import divergent_branches
from asmevo_gate.analysis.exec_regions import exec_regions, writes_memory
from asmevo_gate.analysis.initial_state import initial_state
from asmevo_gate.analysis.known_state import address
from asmevo_gate.gate.file_check import CheckedProgram, check_text
from asmevo_gate.gate.findings import findings_of
from asmevo_gate.isa.instruction import Op, Role
from asmevo_gate.isa.registers import SGPR, VGPR, bits
from asmevo_gate.isa.resource_limits import is_unified, resource_limits
from asmevo_gate.isa.targets import Target, find_target
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.symbols import predefined_symbols
from tests.oracles.compiled_kernels import CompiledKernel

_RULES = ("kd.", "md.", "abi.", "cf.", "wave.", "reg.")


@dataclass(frozen=True)
class Mutation:
    """``change`` gives the damaged text, or ``None`` where it does not apply; one of ``rules`` has to report it."""

    name: str
    rules: frozenset[str]
    change: Callable[[str, KernelFacts], str | None]


class Tally(NamedTuple):
    """Mutants and found ones by mutation, and the missed ones in words."""

    made: Counter[str]
    found: Counter[str]
    missed: list[str]


def tally(kernels: Iterable[CompiledKernel], seed: int, per_kernel: int) -> Tally:
    """Damage each kernel in up to ``per_kernel`` ways and look for what is reported then and not before."""
    rng = random.Random(seed)
    result = Tally(Counter(), Counter(), [])
    for kernel in kernels:
        target = find_target(kernel.gpu)
        original = _check(kernel.text, target, kernel)
        facts = next((one for one in original.kernels if one.kernel.is_kernel), None)
        if facts is None:
            continue
        known = _reported(original)
        for mutation in rng.sample(MUTATIONS, len(MUTATIONS))[:per_kernel]:
            damaged = mutation.change(kernel.text, facts)
            if damaged is None or damaged == kernel.text:
                continue
            result.made[mutation.name] += 1
            new = _reported(_check(damaged, target, kernel)) - known
            if any(rule in mutation.rules for rule, _ in new):
                result.found[mutation.name] += 1
            else:
                result.missed.append(
                    f"{kernel.gpu} {kernel.name}: {mutation.name}: {sorted({rule for rule, _ in new})}"
                )
    return result


def _check(text: str, target: Target, kernel: CompiledKernel) -> CheckedProgram:
    wave = 64 if "-mwavefrontsize64" in kernel.name else None
    options = SourceOptions(predefined=predefined_symbols(target.name))
    return check_text("mutant.s", text, target, options, wave, None, lambda rule: rule.id.startswith(_RULES))


def _reported(checked: CheckedProgram) -> set[tuple[str, str]]:
    return {(one.rule, one.message) for one in findings_of(checked, {})}


def _directive(
    name: str, value: int, applies: Callable[[KernelFacts], bool]
) -> Callable[[str, KernelFacts], str | None]:
    pattern = re.compile(rf"(\.amdhsa_{name}\s+)(\S.*)")

    def change(text: str, facts: KernelFacts) -> str | None:
        return pattern.sub(rf"\g<1>{value}", text, count=1) if applies(facts) and pattern.search(text) else None

    return change


def _key(name: str, new: str) -> Callable[[str, KernelFacts], str | None]:
    pattern = re.compile(rf"^(    |  - ){re.escape(name)}:\s.*\n", re.M)

    def change(text: str, facts: KernelFacts) -> str | None:
        line = rf"\g<1>{name}: {new}\n" if new else ""
        return pattern.sub(line, text, count=1) if pattern.search(text) else None

    return change


def _value(facts: KernelFacts, name: str) -> int:
    descriptor = facts.kernel.descriptor
    return descriptor.values.get(name, 0) if descriptor is not None else 0


def _few_vgprs(facts: KernelFacts) -> bool:
    file = resource_limits(facts.kernel.target).vgpr[facts.kernel.wave_size]
    return max(facts.resources.used.vgprs, facts.resources.used.agprs) > file.granule


def _few_sgprs(facts: KernelFacts) -> bool:
    granule = resource_limits(facts.kernel.target).sgpr.granule
    return granule is not None and facts.resources.used.sgprs > granule


def _loads_arguments_from(facts: KernelFacts, start: int) -> bool:
    """A dword of the kernarg segment from this byte on is loaded and used."""
    for index, values in facts.known.items():
        decoded = facts.kernel.instructions[index].decoded
        if decoded is None or not decoded.of(Op.SMEM) or not decoded.of(Op.LOAD):
            continue
        at = address(decoded, values)
        if at is None or at[0] != "kernarg segment address":
            continue
        first = decoded.operands[0]
        for part in range(first.length):
            if at[1] + 4 * part >= start and facts.liveness.after[index] >> (first.start + part) & 1:
                return True
    return False


def _short_kernarg(text: str, facts: KernelFacts) -> str | None:
    if not _loads_arguments_from(facts, 8):
        return None
    text = re.sub(r"(\.amdhsa_kernarg_size )\d+", r"\g<1>8", text, count=1)
    return re.sub(r"(\.kernarg_segment_size: )\d+", r"\g<1>8", text, count=1)


def _uses_scratch(facts: KernelFacts) -> bool:
    return any(one.decoded is not None and one.decoded.of(Op.SCRATCH) for one in facts.kernel.instructions)


def _no_scratch(text: str, facts: KernelFacts) -> str | None:
    if not _uses_scratch(facts) or facts.resources.dynamic_stack or not facts.resources.scratch_bytes:
        return None
    text = re.sub(r"(\.amdhsa_private_segment_fixed_size\s+).*", r"\g<1>0", text, count=1)
    return re.sub(r"(\.private_segment_fixed_size: )\d+", r"\g<1>0", text, count=1)


def _kernarg_pointer(facts: KernelFacts) -> int:
    before = 4 * _value(facts, "user_sgpr_private_segment_buffer")
    before += 2 * (_value(facts, "user_sgpr_dispatch_ptr") + _value(facts, "user_sgpr_queue_ptr"))
    return bits(SGPR.start + before, 2)


def _loads_first(facts: KernelFacts) -> bool:
    """The kernel loads through its argument pointer, in a descriptor where no scratch set-up comes behind it."""
    if not _value(facts, "user_sgpr_kernarg_segment_ptr"):
        return False
    pointer = _kernarg_pointer(facts)
    for instruction in facts.kernel.instructions:
        decoded = instruction.decoded
        if decoded is None or decoded.is_call:
            return False
        if decoded.of(Op.SMEM) and len(decoded.operands) > 1 and decoded.operands[1].mask == pointer:
            return True
        if decoded.writes & pointer:
            return False
    return False


def _last_user_sgprs(facts: KernelFacts) -> bool:
    """Nothing but a work-group id follows the argument pointer, so that without it the pair is no address."""
    others = ("dispatch_id", "flat_scratch_init", "private_segment_size", "kernarg_preload_length")
    return _loads_first(facts) and not any(_value(facts, f"user_sgpr_{name}") for name in others)


def _overlap(text: str, facts: KernelFacts) -> str | None:
    offsets = [match for match in re.finditer(r"(\.offset:\s+)(\d+)", text) if int(match[2])]
    if not offsets:
        return None
    first = offsets[0]
    return text[: first.start()] + f"{first[1]}0" + text[first.end() :]


_SAVE64 = re.compile(r"s_and_saveexec_b64 s\[(\d+):\d+\], (vcc|s\[(\d+):\d+\])")
_OR32 = re.compile(r"s_or_b32 exec_lo, exec_lo, s(\d*[02468])\b")


def _narrow_save(text: str, facts: KernelFacts) -> str | None:
    match = _SAVE64.search(text)
    if (
        match is None
        or len(facts.kernel.target.wave_sizes) == 1
        or facts.kernel.wave_size != 64
        or (facts.resources.work_group or (0, 64))[1] <= 32
    ):
        return None
    source = "vcc_lo" if match[2] == "vcc" else f"s{match[3]}"
    return text[: match.start()] + f"s_and_saveexec_b32 s{match[1]}, {source}" + text[match.end() :]


def _wide_or(text: str, facts: KernelFacts) -> str | None:
    match = _OR32.search(text)
    if match is None or facts.kernel.wave_size != 32:
        return None
    first = int(match[1])
    return text[: match.start()] + f"s_or_b64 exec, exec, s[{first}:{first + 1}]" + text[match.end() :]


def _drop_end(text: str, facts: KernelFacts) -> str | None:
    last = facts.kernel.instructions[-1]
    if last.statement.text != "s_endpgm" or len(facts.kernel.instructions) == 1:
        return None
    place = last.statement.place
    return text[: place.start] + text[place.end :]


def _early_end(text: str, facts: KernelFacts) -> str | None:
    place = facts.kernel.instructions[1].statement.place if len(facts.kernel.instructions) > 2 else None
    return text[: place.start] + "s_endpgm\n\t" + text[place.start :] if place is not None else None


def _endless(text: str, facts: KernelFacts) -> str | None:
    """The only exit of a loop of one block goes."""
    kernel = facts.kernel
    for block in kernel.blocks:
        branch = kernel.instructions[block.end - 1]
        decoded = branch.decoded
        if decoded is None or not decoded.of(Op.CONDITIONAL) or block.number not in block.successors:
            continue
        if any(one.decoded is None or one.decoded.is_call for one in kernel.instructions[block.first : block.end]):
            continue
        place = branch.statement.place
        if kernel.labels.get(decoded.operands[-1].text) == block.first:
            return text[: place.start] + f"s_branch {decoded.operands[-1].text}" + text[place.end :]
    return None


def _unrestored(text: str, facts: KernelFacts) -> str | None:
    """The restoring s_or of a region whose mask nothing else uses, with a store right behind it in its block."""
    kernel = facts.kernel
    for region in exec_regions(kernel):
        first = kernel.instructions[region.join.first]
        decoded = first.decoded
        if decoded is None or not decoded.base.startswith("s_or_b") or not decoded.reads & region.saved:
            continue
        rest = kernel.instructions[region.join.first + 1 : region.join.end]
        if facts.liveness.after[first.index] & region.saved:
            continue
        stored = next((number for number, one in enumerate(rest) if writes_memory(one.decoded)), None)
        changed = next(
            (n for n, one in enumerate(rest) if one.statement.name.endswith(("exec", "xec_b64", "xec_b32"))), 999
        )
        if stored is not None and stored < changed:
            place = first.statement.place
            return text[: place.start] + text[place.end :]
    return None


def _lost_return(text: str, facts: KernelFacts) -> str | None:
    """A leaf function overwrites its return address."""
    match = re.search(r"^\ts_set(?:pc_b64|_pc_i64) s\[30:31\]", text, re.M)
    if match is None:
        return None
    starts = list(re.finditer(r"^(\w+):\s*; @\1\n; %bb\.0:\n", text[: match.start()], re.M))
    if not starts:
        return None
    start = starts[-1]
    if "s30" in text[start.end() : match.start()] or "[30:31]" in text[start.end() : match.start()]:
        return None
    return text[: start.end()] + "\ts_mov_b64 s[30:31], 0\n" + text[start.end() :]


def _barrier_inside(text: str, facts: KernelFacts) -> str | None:
    """A barrier behind a branch that waves of one work-group surely take differently."""
    kernel = facts.kernel
    if facts.resources.waves_per_work_group == 1 or kernel.target.facts["arch_sgprs"]:
        return None
    divergent = {branch.index for branch in divergent_branches(kernel)}
    for region in exec_regions(kernel):
        join = kernel.instructions[region.join.first]
        ends = join.statement.text == "s_endpgm"
        inside = kernel.instructions[region.inside.first : region.inside.end]
        if (
            region.branch.index in divergent
            and not ends
            and region.inside.successors == (region.join.number,)
            and inside
        ):
            place = region.branch.statement.place
            return text[: place.end] + "\n\ts_barrier" + text[place.end :]
    return None


def _first_touch_reads(facts: KernelFacts, register: int) -> bool:
    """The first instruction that names the register reads it alone."""
    for instruction in facts.kernel.instructions:
        decoded = instruction.decoded
        if decoded is None or decoded.is_call:
            return False
        for operand in decoded.operands:
            if operand.mask >> register & 1:
                plain = operand.length == 1 and bool(operand.role & Role.READ) and not operand.role & Role.WRITE
                return plain and not decoded.of(Op.STORE | Op.ACCVGPR)
    return False


def _reads_work_group_id(facts: KernelFacts) -> bool:
    """Work-group id x is read, and nothing that is enabled would take its place."""
    names = initial_state(facts.kernel).names
    register = next((number for number, name in names.items() if name == "work-group id x"), None)
    others = ("system_sgpr_workgroup_id_y", "system_sgpr_workgroup_id_z", "system_sgpr_workgroup_info")
    if register is None or facts.kernel.target.facts["arch_sgprs"] or any(_value(facts, name) for name in others):
        return False
    if _value(facts, "system_sgpr_private_segment_wavefront_offset") or facts.resources.scratch_bytes != 0:
        return False
    return _first_touch_reads(facts, register) and "calls" not in " ".join(facts.resources.used.reasons)


_PACKED_ID = re.compile(r"v_bfe_u32 v\d+, v0, (?:10|20), 10")


def _no_work_item_ids(text: str, facts: KernelFacts) -> str | None:
    pattern = re.compile(r"(\.amdhsa_system_vgpr_workitem_id\s+)[12]")
    packed = facts.kernel.target.facts["packed_tid"]
    reads = _PACKED_ID.search(_before_v0_changes(facts)) if packed else _first_touch_reads(facts, VGPR.start + 1)
    return pattern.sub(r"\g<1>0", text, count=1) if reads and pattern.search(text) else None


def _before_v0_changes(facts: KernelFacts) -> str:
    """The kernel's instructions up to the first write of v0."""
    lines = []
    for instruction in facts.kernel.instructions:
        lines.append(instruction.statement.text)
        if instruction.decoded is None or instruction.decoded.writes & bits(VGPR.start):
            break
    return "\n".join(lines)


def _rules(*names: str) -> frozenset[str]:
    return frozenset(names)


def _without_vgprs(text: str, facts: KernelFacts) -> str | None:
    return re.sub(r"\t*\.amdhsa_next_free_vgpr.*\n", "", text, count=1)


def _doubled(text: str, facts: KernelFacts) -> str | None:
    return text.replace(".end_amdhsa_kernel", ".amdhsa_kernarg_size 0\n.end_amdhsa_kernel", 1)


MUTATIONS: tuple[Mutation, ...] = (
    Mutation(
        "next_free_vgpr 1",
        _rules("kd.vgpr.under", "kd.accum_offset", "kd.limit"),
        _directive("next_free_vgpr", 1, _few_vgprs),
    ),
    Mutation("next_free_sgpr 1", _rules("kd.sgpr.under"), _directive("next_free_sgpr", 1, _few_sgprs)),
    Mutation(
        "accum_offset 4",
        _rules("kd.vgpr.under"),
        _directive("accum_offset", 4, lambda facts: is_unified(facts.kernel.target) and facts.resources.used.vgprs > 4),
    ),
    Mutation("kernarg_size 8 on both sides", _rules("kd.kernarg.under"), _short_kernarg),
    Mutation(
        "kernarg_size 8 in the descriptor",
        _rules("md.descriptor"),
        _directive("kernarg_size", 8, lambda facts: _value(facts, "kernarg_size") > 8),
    ),
    Mutation(
        "less LDS in the descriptor",
        _rules("md.descriptor"),
        _directive("group_segment_fixed_size", 4, lambda facts: _value(facts, "group_segment_fixed_size") > 4),
    ),
    Mutation("no scratch bytes", _rules("kd.scratch"), _no_scratch),
    Mutation(
        "scratch not enabled",
        _rules("kd.scratch"),
        _directive("enable_private_segment", 0, _uses_scratch),
    ),
    Mutation(
        "no argument pointer",
        _rules("abi.user_sgpr", "reg.undefined"),
        _directive("user_sgpr_kernarg_segment_ptr", 0, _last_user_sgprs),
    ),
    Mutation("next_free_vgpr missing", _rules("kd.directive"), _without_vgprs),
    Mutation("kernarg_size doubled", _rules("kd.directive"), _doubled),
    Mutation("sgpr_count missing in the metadata", _rules("md.document"), _key(".sgpr_count", "")),
    Mutation("wave16 in the metadata", _rules("md.descriptor"), _key(".wavefront_size", "16")),
    Mutation("work-group of 5,000", _rules("md.work_group"), _key(".max_flat_workgroup_size", "5000")),
    Mutation("other symbol", _rules("md.descriptor", "md.missing"), _key(".symbol", "other.kd")),
    Mutation("arguments overlap", _rules("md.argument"), _overlap),
    Mutation("saveexec of 32 lanes in wave64", _rules("wave.exec32_in_wave64"), _narrow_save),
    Mutation("EXEC restored with 64 bits in wave32", _rules("wave.exec64_in_wave32"), _wide_or),
    Mutation("no s_endpgm", _rules("cf.falls_off"), _drop_end),
    Mutation("s_endpgm at the start", _rules("cf.unreachable"), _early_end),
    Mutation("loop without an exit", _rules("cf.infinite_loop"), _endless),
    Mutation("EXEC not restored", _rules("cf.exec_not_restored"), _unrestored),
    Mutation("barrier in a divergent region", _rules("cf.barrier_divergent"), _barrier_inside),
    Mutation(
        "no work-group id",
        _rules("reg.undefined", "abi.user_sgpr"),
        _directive("system_sgpr_workgroup_id_x", 0, _reads_work_group_id),
    ),
    Mutation("no work-item id y", _rules("reg.undefined", "reg.work_item_id"), _no_work_item_ids),
    Mutation("return address lost", _rules("abi.preserved"), _lost_return),
)  # fmt: skip
