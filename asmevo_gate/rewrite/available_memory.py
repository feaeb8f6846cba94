"""Memory that a new process can have without swapping."""

from __future__ import annotations

import re
from pathlib import Path

_AVAILABLE = re.compile(r"^MemAvailable:\s+(\d+) kB$", re.M)
_INACTIVE = re.compile(r"^inactive_file (\d+)$", re.M)
_GROUP = Path("/sys/fs/cgroup")


def available_bytes(meminfo: Path = Path("/proc/meminfo"), group: Path = _GROUP) -> int | None:
    """Bytes that the system and the container's limit still allow; ``None`` where neither says it (not Linux)."""
    found = [one for one in (_of_system(meminfo), _of_group(group)) if one is not None]
    return min(found, default=None)


def _of_system(meminfo: Path) -> int | None:
    try:
        match = _AVAILABLE.search(meminfo.read_text("ascii", "replace"))
    except OSError:
        return None
    return int(match[1]) * 1024 if match else None


def _of_group(group: Path) -> int | None:
    """What the limit of the control group (version 2: ``memory.max``) leaves; cached files can be dropped."""
    try:
        limit, used, stat = (
            (group / name).read_text("ascii", "replace").strip()
            for name in ("memory.max", "memory.current", "memory.stat")
        )
    except OSError:
        return None
    if not (limit.isdigit() and used.isdigit()):
        return None
    cached = _INACTIVE.search(stat)
    return max(0, int(limit) - int(used) + (int(cached[1]) if cached else 0))
