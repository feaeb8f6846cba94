"""The rule ``md.descriptor``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.program.metadata import KernelMetadata
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.metadata_place import metadata_place
from asmevo_gate.rules.rule import Example, Rule, Severity, Violation

_ARGUMENTS = (
    "    .args:\n      - { .name: p, .size: 8, .offset: 16, .value_kind: global_buffer, .address_space: global }\n"
)


def _metadata(size: int, more: str = "") -> str:
    return f"    .kernarg_segment_size: {size}\n    .wavefront_size: 64\n{more}"


class MetadataAgainstDescriptor(Rule):
    """The metadata and the kernel descriptor contradict each other.

    What it does:
        Compares the metadata of a kernel with its descriptor: kernarg size (when the descriptor states one), the
        arguments against the kernarg segment, scratch, LDS, wavefront size, dynamic stack, work-group processor
        mode, the descriptor's symbol, VGPR, AGPR and SGPR counts. Larger reservations than needed and absent values
        are normal and quiet. What the runtime acts on is an error, what only tools show a warning.
    Why it matters:
        The runtime sizes the kernarg segment and scratch by one of the two, the code relies on the other: arguments
        are read from beyond the segment, or the dispatch is refused.
    Repair:
        Make the value of the metadata and of the directive the same.
    Sources:
        AMDGPUUsage, "Code Object V3 Metadata" and "Kernel Descriptor"; what real files contain decides the tolerance.
    """

    id = "md.descriptor"
    title = "metadata and kernel descriptor contradict each other"
    family = "descriptor"
    severity = "error"
    bad = (
        Example("gfx900", kernel_text("  s_nop 0\n", "  .amdhsa_kernarg_size 24\n", _metadata(36)), line=18),
        Example("gfx900", kernel_text("  s_nop 0\n", metadata=_metadata(16, _ARGUMENTS)), line=19),
        Example("gfx1100", kernel_text("  s_nop 0\n", "  .amdhsa_wavefront_size32 1\n", _metadata(24)), line=19),
        Example("gfx1030", kernel_text("  s_nop 0\n", metadata=_metadata(24)), line=18),
    )
    good = (
        Example("gfx900", kernel_text("  s_nop 0\n", "  .amdhsa_kernarg_size 24\n", _metadata(24, _ARGUMENTS))),
        Example("gfx900", kernel_text("  s_nop 0\n", metadata=_metadata(24, _ARGUMENTS))),
        Example("gfx1100", kernel_text("  s_nop 0\n", "  .amdhsa_wavefront_size32 0\n", _metadata(24))),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Every contradiction, at its line of the metadata."""
        metadata, descriptor = facts.kernel.metadata, facts.kernel.descriptor
        if metadata is None or descriptor is None:
            return
        for key, message, severity in _contradictions(facts, metadata):
            yield Violation(
                place=metadata_place(facts, metadata, key),
                message=message,
                repair="give both the same value",
                severity=severity,
                context=f"{key} {message}",
            )


_Contradiction = tuple[str, str, Severity | None]


def _contradictions(facts: KernelFacts, metadata: KernelMetadata) -> Iterable[_Contradiction]:
    resources, values = facts.resources, metadata.values
    yield from _kernarg(facts, metadata)
    yield from _wave_size(facts, metadata)
    for key, size, what in (
        (".private_segment_fixed_size", resources.scratch_bytes, "scratch"),
        (".group_segment_fixed_size", resources.lds_bytes, "LDS"),
    ):
        stated = values.get(key)
        if isinstance(stated, int) and size is not None and stated > size:
            yield key, f"the metadata asks for {stated} bytes of {what}, the descriptor for {size}", None
    if metadata.symbol and metadata.symbol != f"{metadata.name}.kd" and not _renamed(facts, metadata):
        yield ".symbol", f"the descriptor of '{metadata.name}' is '{metadata.name}.kd', not '{metadata.symbol}'", None
    vgprs = values.get(".vgpr_count")
    total = resources.vgpr_allocated
    if isinstance(vgprs, int) and total is not None and vgprs > total + (resources.agpr_allocated or 0):
        yield ".vgpr_count", f"the metadata counts {vgprs} VGPRs, the descriptor allocates {total}", "warning"
    agprs = values.get(".agpr_count")
    own = resources.agpr_addressable
    if isinstance(agprs, int) and own is not None and agprs > own:
        yield ".agpr_count", f"the metadata counts {agprs} AGPRs, the descriptor allocates {own}", "warning"
    sgprs = values.get(".sgpr_count")
    if isinstance(sgprs, int) and resources.sgpr_allocated is not None and sgprs > resources.sgpr_allocated:
        yield (
            ".sgpr_count",
            f"the metadata counts {sgprs} SGPRs, the descriptor allocates {resources.sgpr_allocated}",
            "warning",
        )
    if isinstance(vgprs, int) and vgprs < resources.used.vgprs:
        yield ".vgpr_count", f"the metadata counts {vgprs} VGPRs, the code uses {resources.used.vgprs}", "warning"
    yield from _flags(facts, metadata)


def _wave_size(facts: KernelFacts, metadata: KernelMetadata) -> Iterable[_Contradiction]:
    """Without .amdhsa_wavefront_size32 the wave size is the target's default, unless the build asks for another."""
    key, kernel = ".wavefront_size", facts.kernel
    wave, descriptor = metadata.values.get(key), kernel.descriptor
    if not isinstance(wave, int) or descriptor is None:
        return
    if wave != kernel.wave_size:
        yield key, f"the metadata says wave{wave}, the descriptor wave{kernel.wave_size}", None
    elif "wavefront_size32" not in descriptor.places and wave != kernel.target.wave_sizes[0]:
        default = kernel.target.wave_sizes[0]
        yield (
            key,
            f"the metadata says wave{wave}, but the descriptor has no .amdhsa_wavefront_size32: unless the build sets "
            f"wavefrontsize{wave} the kernel runs as wave{default}",
            "warning",
        )


def _flags(facts: KernelFacts, metadata: KernelMetadata) -> Iterable[_Contradiction]:
    """Flags that both state. The descriptor decides what the hardware does, the metadata what the runtime prepares."""
    descriptor = facts.kernel.descriptor
    for key, directive in (
        (".uses_dynamic_stack", "uses_dynamic_stack"),
        (".workgroup_processor_mode", "workgroup_processor_mode"),
    ):
        stated = metadata.values.get(key)
        declared = descriptor.values.get(directive) if descriptor else None
        if isinstance(stated, bool | int) and declared is not None and bool(stated) != bool(declared):
            yield key, f"the metadata says {int(stated)}, .amdhsa_{directive} {declared}", "warning"


def _renamed(facts: KernelFacts, metadata: KernelMetadata) -> bool:
    """The source name may differ from the symbol, as long as the symbol is that of the kernel's code."""
    return metadata.symbol == f"{facts.kernel.name}.kd"


def _kernarg(facts: KernelFacts, metadata: KernelMetadata) -> Iterable[_Contradiction]:
    descriptor, values = facts.kernel.descriptor, metadata.values
    stated = values.get(".kernarg_segment_size")
    declared = descriptor.values.get("kernarg_size", 0) if descriptor else 0
    if isinstance(stated, int) and declared and stated != declared:
        yield (
            ".kernarg_segment_size",
            f"the metadata says {stated} bytes of kernel arguments, the descriptor {declared}",
            None,
        )
    arguments = values.get(".args")
    if not isinstance(arguments, list) or not isinstance(stated, int):
        return
    ends = [
        argument[".offset"] + argument[".size"]
        for argument in arguments
        if isinstance(argument, dict)
        and isinstance(argument.get(".offset"), int)
        and isinstance(argument.get(".size"), int)
    ]
    if ends and max(ends) > stated:
        yield ".args", f"the arguments end at byte {max(ends)}, but the kernarg segment has {stated} bytes", None
