"""The rule ``md.missing``."""

from __future__ import annotations

from collections.abc import Iterable

from asmevo_gate.rules.facts import FileFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.metadata_place import metadata_place
from asmevo_gate.rules.rule import Example, Rule, Violation
from asmevo_gate.source.statement import Kind

_ENTRY = "    .wavefront_size: 64\n"
_WITHOUT_DESCRIPTOR = (
    ".text\nkernel:\n  s_endpgm\n.amdgpu_metadata\n---\namdhsa.version: [ 1, 2 ]\namdhsa.kernels:\n  - .name: kernel\n"
    "    .symbol: kernel.kd\n...\n.end_amdgpu_metadata\n"
)
_OTHER = kernel_text("  s_nop 0\n", metadata=_ENTRY).replace(": kernel\n", ": other\n").replace("kernel.kd", "other.kd")


class MissingHalf(Rule):
    """A kernel with metadata but no descriptor, or the other way round.

    What it does:
        In a file with metadata, reports kernels that the metadata names but that have no .amdhsa_kernel block and no
        descriptor symbol (error), and kernels with a descriptor that the metadata does not name (warning).
    Why it matters:
        The loader looks a kernel up by its descriptor symbol, the runtime finds its arguments in the metadata. With
        one of the two missing the kernel cannot be launched, which shows only when it is tried.
    Repair:
        Add the missing half, or correct the name.
    Sources:
        AMDGPUUsage, "Code Object V3 Kernel Metadata Map" (.name, .symbol) and "Symbols" (kernel descriptor symbols).
    """

    id = "md.missing"
    title = "kernel has only metadata or only a descriptor"
    family = "abi"
    severity = "error"
    bad = (
        Example("gfx900", _WITHOUT_DESCRIPTOR, line=8),
        Example("gfx900", _OTHER, line=6),
    )
    good = (
        Example("gfx900", kernel_text("  s_nop 0\n", metadata=_ENTRY)),
        Example("gfx900", kernel_text("  s_nop 0\n")),
    )

    def check_file(self, facts: FileFacts) -> Iterable[Violation]:
        """Kernels that lack one of the two."""
        program = facts.program
        if program.metadata is None or program.metadata.problems:
            return
        named = {kernel.name for kernel in program.metadata.kernels}
        symbols = {kernel.symbol for kernel in program.metadata.kernels}
        labels = {one.name for one in program.source.besides_instructions if one.kind is Kind.LABEL}
        described = {one.kernel.name for one in facts.kernels if one.kernel.descriptor is not None}
        for one in facts.kernels:
            kernel = one.kernel
            descriptor, metadata = kernel.descriptor, kernel.metadata
            if metadata is not None and descriptor is None and metadata.symbol not in labels:
                if metadata.symbol.removesuffix(".kd") in described:
                    continue
                yield Violation(
                    place=metadata_place(one, metadata, ".name"),
                    message=f"the metadata names '{kernel.name}', but the file has no descriptor '{metadata.symbol}'",
                    repair=f"add .amdhsa_kernel {kernel.name}",
                    context=kernel.name,
                )
            if descriptor is None or descriptor.opening is None:
                continue
            if kernel.name not in named and f"{kernel.name}.kd" not in symbols:
                yield Violation(
                    place=descriptor.opening.place,
                    frames=descriptor.opening.frames,
                    message=f"'{kernel.name}' has a descriptor, but no entry in the metadata of this file",
                    repair="add the kernel to amdhsa.kernels",
                    severity="warning",
                    context=kernel.name,
                )
