"""Small random programs that load, store, wait, branch and use registers, for differential tests of the waits."""

from __future__ import annotations

import random

_NEW_NAMES = {"dword": "b32", "dwordx2": "b64"}


def random_program(gpu: str, rng: random.Random, length: int) -> str:
    """Instruction texts and labels, ending in ``s_endpgm``; branches go anywhere, also into loops."""
    labels = rng.randint(0, 3)
    lines = [_instruction(gpu, rng) for _ in range(length)]
    for label in range(labels):
        lines.insert(rng.randint(0, len(lines)), f".L{label}:")
        branch = rng.choice(["s_cbranch_scc0", "s_cbranch_scc1", "s_cbranch_vccz", "s_cbranch_execz"])
        lines.insert(rng.randint(0, len(lines)), f"{branch} .L{label}")
    return "\n".join([*lines, "s_endpgm"])


def _instruction(gpu: str, rng: random.Random) -> str:
    kinds = [_load, _load, _load, _lds, _lds, _scalar, _use, _use, _use, _overwrite, _wait, _wait, _store, _flat, _misc]
    return rng.choice(kinds)(gpu, rng)


def _new(gpu: str) -> bool:
    return gpu.startswith(("gfx11", "gfx12"))


def _size(gpu: str, name: str) -> str:
    return _NEW_NAMES[name] if _new(gpu) else name


def _v(rng: random.Random) -> int:
    return rng.randint(2, 5)


def _load(gpu: str, rng: random.Random) -> str:
    if rng.random() < 0.3:
        offset = "null" if gpu.startswith("gfx12") else "0"
        return f"buffer_load_{_size(gpu, 'dword')} v{_v(rng)}, v1, s[8:11], {offset} offen"
    return f"global_load_{_size(gpu, 'dword')} v{_v(rng)}, v[0:1], off"


def _lds(gpu: str, rng: random.Random) -> str:
    read, write = ("ds_load_b32", "ds_store_b32") if _new(gpu) else ("ds_read_b32", "ds_write_b32")
    if rng.random() < 0.3:
        return f"{write} v0, v{_v(rng)}"
    return f"{read} v{_v(rng)}, v0"


def _scalar(gpu: str, rng: random.Random) -> str:
    return f"s_load_{_size(gpu, 'dword')} s{rng.randint(2, 4)}, s[0:1], 0x0"


def _use(gpu: str, rng: random.Random) -> str:
    if rng.random() < 0.3:
        return f"s_mov_b32 s20, s{rng.randint(2, 4)}"
    return f"v_mov_b32 v9, v{_v(rng)}"


def _overwrite(gpu: str, rng: random.Random) -> str:
    return rng.choice(
        [f"v_mov_b32 v{_v(rng)}, 0", f"s_mov_b32 s{rng.randint(0, 4)}, 0", f"v_mov_b32 v{rng.randint(0, 1)}, 0"]
    )


def _store(gpu: str, rng: random.Random) -> str:
    return f"global_store_{_size(gpu, 'dword')} v[0:1], v{_v(rng)}, off"


def _flat(gpu: str, rng: random.Random) -> str:
    if rng.random() < 0.3:
        return f"flat_store_{_size(gpu, 'dword')} v[0:1], v{_v(rng)}"
    return f"flat_load_{_size(gpu, 'dword')} v{_v(rng)}, v[0:1]"


def _misc(gpu: str, rng: random.Random) -> str:
    barrier = (
        "s_barrier" if len(gpu) == 6 or gpu < "gfx12" else rng.choice(["s_barrier_signal -1", "s_barrier_wait -1"])
    )
    choices = [barrier, barrier, "s_nop 0", "s_sendmsg sendmsg(MSG_SYSMSG)" if gpu == "gfx900" else "s_nop 0"]
    if gpu in ("gfx900", "gfx1030", "gfx1100"):
        choices += [f"exp mrt0 v{_v(rng)}, v2, v3, v4 done", f"exp param0 v{_v(rng)}, v2, v3, v4"]
        if gpu != "gfx1100":
            choices.append(f"exp pos0 v{_v(rng)}, v2, v3, v4 done")
    return rng.choice([one for one in choices if not (gpu == "gfx1100" and "param" in one)])


def _wait(gpu: str, rng: random.Random) -> str:
    count = rng.choice([0, 0, 1, 1, 2, 3])
    if len(gpu) > 6 and gpu >= "gfx12":
        names = ["loadcnt", "loadcnt", "dscnt", "kmcnt", "storecnt", *(["xcnt"] if gpu == "gfx1250" else ["samplecnt"])]
        if rng.random() < 0.2:
            return f"s_wait_loadcnt_dscnt {(count << 8) | rng.randint(0, 2):#x}"
        return f"s_wait_{rng.choice(names)} {count:#x}"
    if gpu.startswith("gfx1") and rng.random() < 0.15:
        return f"s_waitcnt_vscnt null, {count:#x}"
    fields = rng.sample(["vmcnt", "lgkmcnt", "expcnt"], rng.choice([1, 1, 2]))
    return "s_waitcnt " + " ".join(f"{name}({count})" for name in fields)
