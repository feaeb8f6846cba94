"""``.amdgpu_metadata`` (NT_AMDGPU_METADATA) as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from asmevo_gate.source.statement import Statement


@dataclass(frozen=True)
class KernelMetadata:
    """One entry of ``amdhsa.kernels``. ``values`` keeps the document's own keys (``{".vgpr_count": 24}``);
    ``lines`` maps each key to its 1-based line in the file (empty for a code object)."""

    name: str
    symbol: str
    values: dict[str, Any]
    lines: dict[str, int]


@dataclass(frozen=True)
class Metadata:
    """The whole document: ``target`` is ``amdhsa.target`` as written, ``version`` is ``amdhsa.version``."""

    target: str | None
    version: tuple[int, ...]
    kernels: tuple[KernelMetadata, ...]
    opening: Statement | None
    problems: tuple[str, ...] = ()
