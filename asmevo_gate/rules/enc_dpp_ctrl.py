"""The rule ``enc.dpp_ctrl``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.constraints.dpp import dpp_problems
from asmevo_gate.constraints.files import graph_for
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.rule import Example, Rule, Violation

_MASKS = "row_mask:0xf bank_mask:0xf"


def _body(line: str) -> str:
    return f"kernel:\n  {line}\n  s_endpgm\n"


class DppControl(Rule):
    """A DPP control that the GPU does not have, or with a value or mask that makes no sense.

    What it does:
        Checks the lane pattern of every DPP instruction against the GPU's constraint file: whether the control exists,
        the range of its value, and whether a 64-bit instruction may use it. Names an exact replacement and its
        condition where one is known. A row or bank mask of 0 is a warning.
    Why it matters:
        The assembler rejects the line ("not a valid operand"). Vega's row_bcast and wave shifts went away with gfx10,
        so kernels with hand-written reductions do not build for RDNA; row_share and dpp8 do not exist on CDNA.
    Repair:
        Use the replacement that the finding names: v_permlanex16_b32, row_share, ds_swizzle_b32 and the like.
    Sources:
        AMD ISA guides, "DPP_CTRL"; LLVM AMDGPUAsmParser::isSupportedDPPCtrl; the constraint file names its own.
    """

    id = "enc.dpp_ctrl"
    title = "DPP control does not exist on this GPU"
    family = "dpp"
    severity = "error"
    bad = (
        Example("gfx1030", _body(f"v_mov_b32_dpp v3, v2 row_bcast:15 {_MASKS}"), line=2),
        Example("gfx1100", _body(f"v_mov_b32_dpp v3, v2 wave_shl:1 {_MASKS}"), line=2),
        Example("gfx90a", _body(f"v_mov_b32_dpp v3, v2 row_share:1 {_MASKS}"), line=2),
        Example("gfx900", _body(f"v_mov_b32_dpp v3, v2 row_shr:16 {_MASKS}"), line=2),
    )
    good = (
        Example("gfx900", _body(f"v_mov_b32_dpp v3, v2 row_bcast:15 {_MASKS}")),
        Example("gfx1100", _body(f"v_mov_b32_dpp v3, v2 row_share:1 {_MASKS}")),
        Example("gfx90a", _body(f"v_mov_b32_dpp v3, v2 row_newbcast:1 {_MASKS}")),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Each illegal form; nothing when the constraint file says nothing about DPP."""
        graph = facts.constraints or graph_for(facts.kernel.target)
        if not graph.dpp:
            return
        for problem in dpp_problems(facts.kernel, graph):
            statement = problem.instruction.statement
            yield Violation(
                place=statement.place,
                frames=statement.frames,
                message=problem.message,
                repair=problem.repair,
                severity="warning" if problem.rule == "dpp.mask" else None,
            )
