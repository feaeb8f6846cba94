"""The rule ``md.target_id``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from asmevo_gate.isa.targets import obsolete_name
from asmevo_gate.rules.facts import FileFacts
from asmevo_gate.rules.rule import Example, Rule, Violation
from asmevo_gate.source.statement import Statement

_OLD_FEATURE = r"([+-])(sram-?ecc|xnack)(?![+-])"
_PROCESSOR = r"gfx[0-9a-f]+"


class TargetId(Rule):
    """A target id in an old spelling, of a GPU that never shipped, or at odds with the metadata.

    What it does:
        Reports .amdgcn_target ids with features in the spelling before code object v4 (gfx908+sram-ecc), early names
        of GPUs (gfx940, gfx941), and metadata whose amdhsa.target is another GPU.
    Why it matters:
        Current assemblers reject the file, with a message that does not say what to write. A loader refuses code
        whose metadata names another GPU.
    Repair:
        Write features as gfx908:sramecc+:xnack-, and the released name of the GPU.
    Sources:
        AMDGPUUsage, "Target ID" and "Code Object Target ID" (V2 to V3 compared with V4); LLVM 22 processor table.
    """

    id = "md.target_id"
    title = "target id is obsolete or contradicts the metadata"
    family = "abi"
    severity = "error"
    bad = (
        Example(
            "gfx908",
            '.amdgcn_target "amdgcn-amd-amdhsa--gfx908+sram-ecc"\n.text\nkernel:\n  s_endpgm\n',
            line=1,
        ),
        Example("gfx942", '.amdgcn_target "amdgcn-amd-amdhsa--gfx940"\n.text\nkernel:\n  s_endpgm\n', line=1),
        Example(
            "gfx90a",
            '.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"\n.text\nkernel:\n  s_endpgm\n.amdgpu_metadata\n---\n'
            "amdhsa.version: [ 1, 2 ]\namdhsa.target: amdgcn-amd-amdhsa--gfx908\namdhsa.kernels: []\n...\n"
            ".end_amdgpu_metadata\n",
            line=5,
        ),
    )
    good = (
        Example(
            "gfx908",
            '.amdgcn_target "amdgcn-amd-amdhsa--gfx908:sramecc+:xnack-"\n.text\nkernel:\n  s_endpgm\n',
        ),
    )

    def check_file(self, facts: FileFacts) -> Iterable[Violation]:
        """The target directive, then the metadata against it."""
        program = facts.program
        directive = next((one for one in program.source.besides_instructions if one.name == ".amdgcn_target"), None)
        if directive is not None:
            yield from _directive_violations(directive)
        metadata = program.metadata
        if metadata is None or metadata.target is None or metadata.opening is None:
            return
        named = re.search(_PROCESSOR, metadata.target)
        if named and directive is not None and named[0] not in re.findall(_PROCESSOR, directive.rest):
            yield Violation(
                place=metadata.opening.place,
                message=f"the metadata is for {named[0]}, but .amdgcn_target is {directive.rest}",
                repair="write the same target in amdhsa.target",
                context=f"amdhsa.target {metadata.target}",
            )


def _directive_violations(directive: Statement) -> Iterable[Violation]:
    text = directive.rest.strip().strip('"')
    named = re.search(_PROCESSOR, text)
    if named is None:
        return
    modern = obsolete_name(named[0])
    features = re.findall(_OLD_FEATURE, text[named.end() :])
    if modern is None and not features:
        return
    name = modern or named[0]
    new = "".join(f":{feature.replace('-', '')}{sign}" for sign, feature in sorted(features, key=lambda one: one[1]))
    what = (
        f"{named[0]} is an early name that current assemblers no longer know"
        if modern
        else (f"'{text}' spells features as before code object v4")
    )
    yield Violation(
        place=directive.place,
        message=what,
        repair=f'write .amdgcn_target "amdgcn-amd-amdhsa--{name}{new}"',
    )
