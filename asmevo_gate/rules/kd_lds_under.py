"""The rule ``kd.lds.under``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from asmevo_gate.analysis.lds_access import LdsAccess
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.rule import Example, Rule, Violation


def _directive(size: int) -> str:
    return f"  .amdhsa_group_segment_fixed_size {size}\n"


def _metadata(size: int, group: int | None = None) -> str:
    required = f"    .reqd_workgroup_size: [ {group}, 1, 1 ]\n" if group else ""
    return f"    .group_segment_fixed_size: {size}\n{required}"


_BY_ID = "  v_lshlrev_b32 v1, 2, v0\n  ds_write_b32 v1, v0\n"


class LdsUnder(Rule):
    """LDS is accessed beyond what the descriptor allocates.

    What it does:
        Reports the first LDS access that surely lies behind .amdhsa_group_segment_fixed_size, when that is not zero: by
        its constant offsets, by an address register whose value is known, or by the work-item id where the metadata
        fixes the work-group size. It is an error when the metadata asks for more LDS than the descriptor, a warning
        otherwise: a launch may add dynamic LDS behind the static part (a kernel that takes dynamic LDS by its
        metadata is not reported). Loads from beyond all LDS of the GPU are a known way to get zeros, and quiet.
    Why it matters:
        Reads beyond the allocation give zero and writes are dropped, or they hit the LDS of another work-group.
    Repair:
        Set .amdhsa_group_segment_fixed_size to the number of bytes that the work-group uses.
    Sources:
        AMDGPUUsage, ".amdhsa_group_segment_fixed_size"; AMD ISA guides, LDS ("out of range" accesses).
    """

    id = "kd.lds.under"
    title = "descriptor allocates less LDS than the code uses"
    family = "descriptor"
    severity = "warning"
    bad = (
        Example(
            "gfx1100",
            kernel_text("  ds_store_b32 v0, v0 offset:2048\n", _directive(1024), _metadata(4096)),
            line=3,
        ),
        Example("gfx900", kernel_text("  ds_read_b32 v1, v0 offset:1024\n", _directive(1024)), line=3),
        Example("gfx900", kernel_text("  ds_read_b64 v[2:3], v0 offset:1020\n", _directive(1024)), line=3),
        Example("gfx906", kernel_text("  v_mov_b32 v1, 0x400\n  ds_read_b32 v2, v1\n", _directive(1024)), line=4),
        Example("gfx900", kernel_text("  ds_read2st64_b32 v[2:3], v0 offset1:4\n", _directive(1024)), line=3),
        Example("gfx900", kernel_text(_BY_ID, _directive(512), _metadata(512, 256)), line=4),
    )
    good = (
        Example("gfx1100", kernel_text("  ds_store_b32 v0, v0 offset:2048\n", _directive(4096), _metadata(4096))),
        Example("gfx900", kernel_text("  ds_read_b32 v1, v0 offset:1024\n", _directive(0))),
        Example("gfx900", kernel_text("  ds_read2_b32 v[2:3], v0 offset1:255\n", _directive(1024))),
        Example("gfx900", kernel_text(_BY_ID, _directive(1024), _metadata(1024, 256))),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """The first access that is outside."""
        kernel, size = facts.kernel, facts.resources.lds_bytes
        values = kernel.metadata.values if kernel.metadata else {}
        if not size or _takes_dynamic_lds(values):
            return
        metadata = values.get(".group_segment_fixed_size")
        contradicts = isinstance(metadata, int) and metadata > size
        for access in facts.lds_accesses:
            reach = _reach_beyond(access, size, values)
            for_zeros = not access.stores and access.lowest >= int(kernel.target.facts["lds_bytes"])
            if not reach or for_zeros:
                continue
            also = f", while the metadata says {metadata}" if contradicts else ""
            yield Violation(
                place=access.instruction.statement.place,
                frames=access.instruction.statement.frames,
                message=f"{reach}, but the descriptor allocates {size} bytes{also}",
                repair="raise .amdhsa_group_segment_fixed_size",
                severity="error" if contradicts else None,
            )
            return


def _reach_beyond(access: LdsAccess, size: int, values: dict[str, Any]) -> str:
    """How the access surely leaves the first ``size`` bytes; empty when it may not."""
    offset = max(access.starts)
    if access.address is None or access.address.origin not in ("", "x", "y", "z"):
        end = offset + access.width
        return f"this access reaches byte {end - 1} of LDS or lies behind it" if end > size else ""
    last = 0
    if access.address.origin:
        required = values.get(".reqd_workgroup_size")
        axis = "xyz".index(access.address.origin)
        if isinstance(required, list) and len(required) == 3 and isinstance(required[axis], int):
            last = max(required[axis] - 1, 0)
    end_known = access.end_for(last)
    if end_known is None or end_known <= size:
        return ""
    who = f"work-item {last}" if last else "this access"
    return f"{who} reaches byte {end_known - 1} of LDS"


def _takes_dynamic_lds(values: dict[str, Any]) -> bool:
    arguments = values.get(".args")
    kinds = (
        {one.get(".value_kind") for one in arguments if isinstance(one, dict)} if isinstance(arguments, list) else set()
    )
    return bool(kinds & {"dynamic_shared_pointer", "hidden_dynamic_lds_size"})
