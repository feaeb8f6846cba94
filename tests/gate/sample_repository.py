"""A small repository of kernels with a change, for tests of how a run is executed."""

from __future__ import annotations

import subprocess
from pathlib import Path

from asmevo_gate.changes import range_changes
from asmevo_gate.changes.model import ChangeSet

GPU = "gfx90a"


def kernel(name: str, seed: int, *, faulty: bool = False, body: str = "", repeat: int = 4) -> str:
    """A kernel with loads, waits and arithmetic; a faulty one lacks a wait."""
    lines = [f'.amdgcn_target "amdgcn-amd-amdhsa--{GPU}"', ".text", ".p2align 8", f"{name}:", body]
    lines += ["  v_mov_b32 v1, 0", "  s_load_dwordx4 s[4:7], s[0:1], 0x0", "  s_waitcnt lgkmcnt(0)"]
    for number in range(repeat):
        offset = 4 * ((seed * 7 + number) % 500)
        lines.append(f"  global_load_dword v{2 + number % 8}, v0, s[4:5] offset:{offset}")
        if not (faulty and number == 1):
            lines.append("  s_waitcnt vmcnt(0)")
        lines.append(f"  v_add_u32_e32 v1, v{2 + number % 8}, v1")
    lines += ["  global_store_dword v0, v1, s[6:7]", "  s_endpgm", ".rodata", f".amdhsa_kernel {name}"]
    lines += ["  .amdhsa_next_free_vgpr 16", "  .amdhsa_next_free_sgpr 16", "  .amdhsa_accum_offset 16"]
    return "\n".join([*lines, "  .amdhsa_user_sgpr_kernarg_segment_ptr 1", ".end_amdhsa_kernel", ""])


def write_kernels(root: Path, count: int, repeat: int = 4) -> None:
    """Kernels ``k0.s`` ... in a directory; the last one is faulty."""
    for seed in range(count):
        faulty = seed == count - 1
        (root / f"k{seed}.s").write_text(kernel(f"k{seed}", seed, faulty=faulty, repeat=repeat))


def make_repository(root: Path) -> Path:
    """Two commits: the second breaks a kernel, adds one, and changes a file that another kernel includes."""
    git(root, "init", "-q", "-b", "main")
    include = '.include "inc/scale.inc"'
    (root / "inc").mkdir()
    (root / "inc" / "scale.inc").write_text("  v_mov_b32 v2, 0\n")
    (root / "a.s").write_text(kernel("a", 1))
    (root / "b.s").write_text(kernel("b", 2, body=include))
    (root / "c.s").write_text(kernel("c", 3))
    commit(root, "base")
    (root / "inc" / "scale.inc").write_text("  v_mov_b32 v2, 0\n  v_lshlrev_b32 v0, 2, v0\n")
    (root / "a.s").write_text(kernel("a", 1, faulty=True))
    (root / "c.s").write_text(kernel("c", 3, repeat=6))
    (root / "d.s").write_text(kernel("d", 4))
    commit(root, "change")
    return root


def changes_of(root: Path) -> ChangeSet:
    """The change of the second commit."""
    return range_changes(root, "HEAD~1", "HEAD")


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


def commit(root: Path, message: str) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)
