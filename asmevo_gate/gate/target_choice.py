"""Which GPUs a file is for: asked for, named in the file, or given by the settings."""

from __future__ import annotations

import re

from asmevo_gate.errors import GateError, UsageError
from asmevo_gate.isa.targets import Target, parse_target

_DIRECTIVE = re.compile(r'^[ \t]*\.amdgcn_target[ \t]+"?([^"\s;]+)"?', re.MULTILINE)
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


def choose_targets(path: str, text: str, asked: tuple[str, ...], configured: tuple[str, ...]) -> tuple[Target, ...]:
    """The targets to check a file for: ``--gpu``, else the file's own, else the settings for its path.

    Raises:
        UsageError: a name is no GPU that the gate knows.
        GateError: nothing says which GPU the file is for.
    """
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
