"""A small complete kernel for the examples of rules that need a descriptor or metadata."""

from __future__ import annotations


def kernel_text(body: str, directives: str = "", metadata: str = "", vgprs: int = 8, sgprs: int = 16) -> str:
    """Code, descriptor and (when ``metadata`` is given) metadata of a kernel named ``kernel``.

    ``body`` starts on line 3. ``directives`` and ``metadata`` are further lines of the ``.amdhsa_kernel`` block and of
    the kernel's metadata entry.
    """
    text = (
        f".text\nkernel:\n{body}  s_endpgm\n.rodata\n.amdhsa_kernel kernel\n  .amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
        f"  .amdhsa_next_free_vgpr {vgprs}\n  .amdhsa_next_free_sgpr {sgprs}\n{directives}.end_amdhsa_kernel\n"
    )
    if metadata:
        text += (
            ".amdgpu_metadata\n---\namdhsa.version: [ 1, 2 ]\namdhsa.kernels:\n"
            "  - .name: kernel\n    .symbol: kernel.kd\n"
            f"{metadata}...\n.end_amdgpu_metadata\n"
        )
    return text
