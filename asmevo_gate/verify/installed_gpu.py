"""Which GPU and which ROCm this machine has: asked of ROCm's own programs, then of the kernel driver."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from asmevo_gate.verify.limited_process import run_limited

_ASK = (("rocm_agent_enumerator",), ("amdgpu-arch",), ("rocminfo",))
_GFX = re.compile(r"\b(gfx[0-9a-f]{3,5})\b")
_HOST = "gfx000"
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?")
_SECONDS = 10.0
TOPOLOGY = Path("/sys/class/kfd/kfd/topology/nodes")
_MOST_NODES = 256


class Found(NamedTuple):
    """What was found, and where."""

    value: str
    source: str


def installed_gpu(topology: Path = TOPOLOGY) -> Found | None:
    """The first GPU of this machine, as ``gfx90a``; ``None`` when nothing knows of one."""
    for program in _programs():
        try:
            done = run_limited([str(program)], timeout=_SECONDS)
        except OSError:
            continue
        names = [name for name in _GFX.findall(done.output.decode("utf-8", "replace")) if name != _HOST]
        if done.code == 0 and names:
            return Found(names[0], program.name)
    return next(_driver_gpus(topology), None)


def installed_rocm(root: Path = Path("/opt")) -> Found | None:
    """The version of the installed ROCm, as ``6.1.3``; ``ROCM_PATH`` first, then the newest below ``/opt``."""
    named = os.environ.get("ROCM_PATH")
    places = [Path(named)] if named else []
    found = [*places, *sorted(root.glob("rocm*"), key=_newest, reverse=True)]
    for place in found:
        version = place / ".info" / "version"
        try:
            match = _VERSION.search(version.read_text("utf-8", errors="replace")[:200])
        except OSError:
            continue
        if match:
            return Found(match[0], str(version))
    return None


def _newest(path: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", path.name))


def _programs() -> Iterator[Path]:
    named = os.environ.get("ROCM_PATH")
    for (name,) in _ASK:
        found = shutil.which(name)
        if found:
            yield Path(found)
        for base in (named, "/opt/rocm"):
            for folder in ("bin", "llvm/bin") if base else ():
                path = Path(str(base)) / folder / name
                if path.is_file() and os.access(path, os.X_OK):
                    yield path


def _driver_gpus(topology: Path) -> Iterator[Found]:
    """``gfx_target_version 90010`` of the amdkfd driver is gfx90a: major, minor, stepping, two digits each."""
    for node in sorted(topology.glob("*"))[:_MOST_NODES]:
        try:
            properties = (node / "properties").read_text("ascii", errors="replace")[:65536]
        except OSError:
            continue
        match = re.search(r"^gfx_target_version (\d+)$", properties, re.M)
        if match and int(match[1]):
            number = int(match[1])
            name = f"gfx{number // 10000}{number // 100 % 100:x}{number % 100:x}"
            yield Found(name, str(node / "properties"))
