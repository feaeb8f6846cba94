"""Which GPUs a file is for: asked for, named in the file, or given by the settings."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from asmevo_gate.errors import GateError, UsageError
from asmevo_gate.gate.settings import TargetSettings, Variant
from asmevo_gate.isa.targets import Target, parse_target
from asmevo_gate.source.recognise import recognise

_DIRECTIVE = re.compile(r'^[ \t]*\.amdgcn_target[ \t]+"?([^"\s;]+)"?', re.MULTILINE)
_INCLUDE = re.compile(r"^[ \t]*\.include\b", re.MULTILINE)
_METADATA = re.compile(r"^[ \t]*amdhsa\.target:[ \t]*['\"]?([^'\"\s]+)", re.MULTILINE)


def named_target(path: str, text: str) -> Target | None:
    """The target that the file itself names: ``.amdgcn_target``, then ``amdhsa.target`` of the metadata.

    Raises:
        UsageError: the file names a GPU that the gate has no data for, with file and line.
    """
    for pattern in (_DIRECTIVE, _METADATA):
        match = pattern.search(text)
        if match:
            try:
                return parse_target(match[1])
            except UsageError as error:
                line = text.count("\n", 0, match.start(1)) + 1
                raise UsageError(error.message, error.repair, path, line) from error
    return None


def skip_reason(text: str, asked: bool, configured: TargetSettings) -> str:
    """Why a file is not looked at; ``""`` when it is.

    A file is looked at when it is AMDGPU assembly, when the user ``asked`` for it, or when it only includes others and
    the settings say for which GPUs its path is built (the usual wrapper around a kernel library's macro files).
    """
    recognition = recognise(text)
    listed = bool(configured.gpus or any(variant.gpus for variant in configured.variants))
    if asked or recognition.is_amdgpu or (listed and _INCLUDE.search(text)):
        return ""
    return recognition.reason


class Configuration(msgspec.Struct, frozen=True):
    """One way to assemble a file: GPU, symbol definitions, include directories, wave size (``None``: the default)."""

    target: Target
    defines: Mapping[str, int]
    include: tuple[str, ...]
    wave_size: int | None


def configurations(
    path: str, text: str, asked: tuple[str, ...], configured: TargetSettings, defines: Mapping[str, int]
) -> tuple[Configuration, ...]:
    """The ways to check a file: each variant of its settings for each GPU. ``defines`` (of ``-D``) win over settings.

    Raises:
        UsageError: a name is no GPU that the gate knows.
        GateError: nothing says which GPU the file is for.
    """
    variants = configured.variants or (Variant(""),)
    return tuple(
        Configuration(
            target,
            {**configured.defines, **variant.defines, **defines},
            configured.include,
            variant.wave_size or configured.wave_size,
        )
        for variant in variants
        for target in _targets(path, text, asked, variant.gpus or configured.gpus)
    )


def _targets(path: str, text: str, asked: tuple[str, ...], configured: tuple[str, ...]) -> tuple[Target, ...]:
    """``--gpu``, else the file's own target, else the settings for its path."""
    if asked:
        return tuple(parse_target(name) for name in asked)
    own = named_target(path, text)
    if own is not None:
        return (own,)
    if configured:
        return tuple(parse_target(name) for name in configured)
    raise GateError(
        "nothing says which GPU this file is for",
        "add .amdgcn_target to it, pass --gpu, or list its path under 'targets' in the configuration",
        path,
    )
