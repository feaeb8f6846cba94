"""GPU targets: names, wave sizes and the features that analyses ask for; data in ``data/targets.json``."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec

from asmevo_gate.errors import UsageError
from asmevo_gate.isa.data_files import read_data


class Target(msgspec.Struct, frozen=True):
    """One GPU target.

    ``name`` is the processor (``gfx942``), ``table`` the target whose column of the ISA table holds (a GPU with the
    same instructions shares it), ``features`` the settings of the target id (``{"xnack": "+", "sramecc": "-"}``).
    ``facts`` are the data of ``targets.json``; each key is documented there.
    """

    name: str
    table: str
    wave_sizes: tuple[int, ...]
    """Allowed wave sizes, the default first."""
    features: dict[str, str]
    facts: dict[str, Any]


@cache
def document() -> dict[str, Any]:
    """The whole data file; :mod:`asmevo_gate.isa.resource_limits` reads its resource and ABI keys."""
    text = read_data("targets.json")
    content: dict[str, Any] = msgspec.json.decode(text)
    return content


def target_names() -> tuple[str, ...]:
    """Every target that the gate checks, in the order of the data file."""
    return tuple(document()["targets"])


_TARGET_ID = re.compile(
    r"^(?:amdgcn-amd-amdhsa-(?:unknown)?-|amdgpu[\w.]*-amd-amdhsa-(?:unknown)?-)?(?P<name>gfx[0-9a-f]+)"
    r"(?P<features>(?:[:+-][\w-]+[+-]?)*)$"
)


def parse_target(text: str) -> Target:
    """A target from a name (``gfx942``), a target id (``gfx90a:sramecc+:xnack-``) or a whole target triple in either
    spelling (``amdgcn-amd-amdhsa--gfx942``, ``amdgpu9.42-amd-amdhsa-unknown-gfx942``).

    Raises:
        UsageError: the text is no target id, or the gate has no data for the GPU.
    """
    match = _TARGET_ID.match(text.strip())
    if not match:
        raise UsageError(
            f"'{text}' is not an AMDGPU target id", "write it as gfx942 or amdgcn-amd-amdhsa--gfx942:xnack-"
        )
    return find_target(match["name"], _features(match["features"]))


def target_id(target: Target) -> str:
    """The target as a target id, such as ``gfx90a:sramecc+:xnack-`` (AMDGPUUsage, "Target ID")."""
    return target.name + "".join(f":{name}{sign}" for name, sign in sorted(target.features.items()))


def obsolete_name(name: str) -> str | None:
    """The released name of a GPU that was known under an early one (gfx940), or ``None``."""
    found = document()["obsolete_names"].get(name)
    return str(found) if found else None


def find_target(name: str, features: dict[str, str] | None = None) -> Target:
    """The target of a processor name.

    Raises:
        UsageError: the gate has no data for the GPU.
    """
    facts = document()
    name = facts["obsolete_names"].get(name, name)
    table = facts["same_instructions"].get(name, name)
    entry = facts["targets"].get(table)
    if entry is None:
        known = ", ".join(facts["targets"])
        raise UsageError(f"unknown GPU '{name}'", f"known GPUs: {known}")
    return Target(name, table, tuple(entry["wave"]), features or {}, entry)


def _features(text: str) -> dict[str, str]:
    return {match[1]: match[2] for match in re.finditer(r":(\w+)([+-])", text)}
