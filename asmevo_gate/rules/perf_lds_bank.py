"""The rule ``perf.lds_bank``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from asmevo_gate.analysis.lds_access import LdsAccess
from asmevo_gate.program.descriptor import directive_value
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.rule import Example, Rule, Violation


def _strided(stride: int, gpu_load: str = "ds_read_b32") -> str:
    return kernel_text(f"  v_and_b32 v0, 0x3ff, v0\n  v_mul_u32_u24 v1, {stride}, v0\n  {gpu_load} v2, v1\n")


class LdsBank(Rule):
    """Lanes of one LDS access ask for different words of the same bank.

    What it does:
        For 32-bit LDS accesses whose address is a known multiple of work-item id x (in a work-group whose ids run along
        x), counts how many lanes meet on the busiest bank. With a base version it warns when the accesses of the kernel
        take more passes than before; without one it notes (info) each access that takes more passes than it must.
    Why it matters:
        A bank serves one word a clock: an access with an n-way conflict takes n times as long, and all waves of the
        compute unit share the LDS.
    Repair:
        Pad the rows (a stride of an odd number of words has no conflict), or swizzle the address.
    Sources:
        AMD ISA guides, "Local Data Share" (banks); the fingerprint microarch/GPU.yaml, lds.banks and lds.bank_width.
    """

    id = "perf.lds_bank"
    title = "LDS bank conflict"
    family = "performance"
    severity = "warning"
    bad = (
        Example("gfx900", _strided(128), line=5),
        Example("gfx1100", _strided(16, "ds_load_b32"), line=5, base=_strided(4, "ds_load_b32")),
    )
    good = (
        Example("gfx900", _strided(4)),
        Example("gfx900", _strided(132)),
        Example("gfx1100", _strided(16, "ds_load_b32"), base=_strided(16, "ds_load_b32")),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Accesses with a conflict, or the first one when the kernel got worse."""
        conflicts = list(_conflicts(facts))
        if not conflicts:
            return
        if facts.base is not None:
            before = sum(one.passes - one.least for one in _conflicts(facts.base))
            now = sum(one.passes - one.least for one in conflicts)
            if now > before:
                worst = max(conflicts, key=lambda one: one.passes)
                yield _violation(worst, f"; bank conflicts cost {now} passes more than needed, before {before}", False)
            return
        for conflict in conflicts:
            yield _violation(conflict, " (no base to compare with)", True)


class _Conflict(msgspec.Struct, frozen=True):
    access: LdsAccess
    stride: int
    passes: int
    least: int


def _violation(conflict: _Conflict, more: str, info: bool) -> Violation:
    instruction = conflict.access.instruction
    return Violation(
        place=instruction.statement.place,
        frames=instruction.statement.frames,
        message=f"lanes are {conflict.stride} bytes apart, so that {conflict.passes} of them meet on one bank "
        f"({conflict.least} at best){more}",
        repair="pad the stride to an odd number of words",
        severity="info" if info else None,
    )


def _conflicts(facts: KernelFacts) -> Iterator[_Conflict]:
    """The 32-bit accesses that take more passes than needed."""
    kernel = facts.kernel
    along_x = _ids_along_x(facts)
    candidates = [
        one
        for one in (facts.lds_accesses if along_x else ())
        if one.width == 4 and len(one.starts) == 1 and one.address is not None and one.address.origin == "x"
    ]
    if not candidates:
        return
    geometry = _geometry(facts)
    if geometry is None:
        return
    banks, width = geometry
    for access in candidates:
        assert access.address is not None
        stride = access.address.scale
        if stride >> 31:
            continue
        words = {lane * stride // width for lane in range(kernel.wave_size)}
        passes = max(Counter(word % banks for word in words).values())
        least = -(-len(words) // banks)
        if passes > least:
            yield _Conflict(access, stride, passes, least)


def _ids_along_x(facts: KernelFacts) -> bool:
    """Neighbouring lanes have neighbouring x: only x is enabled, or rows are at least as long as a wave."""
    kernel = facts.kernel
    required = kernel.metadata.values.get(".reqd_workgroup_size") if kernel.metadata else None
    if isinstance(required, list) and required and isinstance(required[0], int):
        return required[0] % kernel.wave_size == 0
    descriptor = kernel.descriptor
    return descriptor is not None and directive_value(descriptor, "system_vgpr_workitem_id", kernel.target) == 0


def _geometry(facts: KernelFacts) -> tuple[int, int] | None:
    """Banks and bytes of one; ``None`` without a fingerprint of the GPU."""
    from asmevo_gate.cost.fingerprint import fingerprint_names, load_fingerprint

    target = facts.kernel.target
    name = next((name for name in (target.name, target.table) if name in fingerprint_names()), None)
    if name is None:
        return None
    lds = load_fingerprint(name).lds
    banks, width = lds.get("banks"), lds.get("bank_width")
    return (int(banks.number), int(width.number)) if banks and width and banks.known and width.known else None
