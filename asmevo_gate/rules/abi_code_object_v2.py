"""The rule ``abi.code_object_v2``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.rules.facts import FileFacts
from asmevo_gate.rules.rule import Example, Rule, Violation

_MODERN = {
    ".hsa_code_object_version": ".amdhsa_code_object_version 5",
    ".hsa_code_object_isa": '.amdgcn_target "amdgcn-amd-amdhsa--gfx900"',
    ".amd_kernel_code_t": ".amdhsa_kernel NAME ... .end_amdhsa_kernel in .rodata",
    ".amdgpu_hsa_kernel": ".amdhsa_kernel NAME and .type NAME,@function",
    ".amd_amdgpu_hsa_metadata": ".amdgpu_metadata with amdhsa.kernels",
    ".amdgpu_code_object_metadata": ".amdgpu_metadata with amdhsa.kernels",
}


class CodeObjectV2(Rule):
    """Directives of code object version 2, which current assemblers do not know.

    What it does:
        Reports each kind of code object v2 directive once and names the form that replaced it.
    Why it matters:
        LLVM dropped code object v2: the file does not assemble with current ROCm, with "unknown directive" and no hint.
    Repair:
        Use the .amdhsa_kernel block, .amdgpu_metadata and .amdgcn_target.
    Sources:
        AMDGPUUsage, "Code Object V2" (removed) and "Code Object V3 and Above Directives".
    """

    id = "abi.code_object_v2"
    title = "directive of the removed code object version 2"
    family = "abi"
    severity = "error"
    bad = (Example("gfx900", ".hsa_code_object_version 2,1\n.text\nkernel:\n  s_endpgm\n", line=1),)
    good = (Example("gfx900", ".amdhsa_code_object_version 5\n.text\nkernel:\n  s_endpgm\n"),)

    def check_file(self, facts: FileFacts) -> Iterable[Violation]:
        """The first directive of each kind."""
        seen = set()
        for statement in facts.program.source.besides_instructions:
            modern = _MODERN.get(statement.name)
            if modern is not None and statement.name not in seen:
                seen.add(statement.name)
                yield Violation(
                    place=statement.place,
                    frames=statement.frames,
                    message=f"{statement.name} belongs to code object version 2, which current assemblers reject",
                    repair=f"write {modern}",
                    context=statement.name,
                )
