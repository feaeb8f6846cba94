"""One named file -> its programs, one for each way in which the settings build it: for commands that only look."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from asmevo_gate.changes import named_files, standard_input
from asmevo_gate.changes.model import ChangeSet
from asmevo_gate.errors import GateError
from asmevo_gate.gate.file_check import parsed_program
from asmevo_gate.gate.inputs import input_texts
from asmevo_gate.gate.run import source_options
from asmevo_gate.gate.settings import Settings, load_settings
from asmevo_gate.gate.target_choice import configurations
from asmevo_gate.isa.targets import target_id
from asmevo_gate.program.model import Program


def programs_of(file: str, here: Path, gpus: tuple[str, ...], defines: Mapping[str, int]) -> tuple[Program, ...]:
    """The programs of assembly source, of a code object, or of standard input (``-``).

    Raises:
        GateError: the file cannot be read as one of these, or nothing says which GPU it is for.
    """
    import sys

    settings = load_settings(here)
    if file == "-":
        changes = standard_input(sys.stdin.buffer, "<stdin>", here, settings.selection)
    else:
        changes = named_files([file], here, settings.selection)
    with changes:
        return _programs(changes, settings, gpus, defines)


def _programs(
    changes: ChangeSet, settings: Settings, gpus: tuple[str, ...], defines: Mapping[str, int]
) -> tuple[Program, ...]:
    programs = []
    for change in changes.changes:
        if change.head is None:
            continue
        configured = settings.for_path(change.path)
        for given in input_texts(change.head):
            asked = (target_id(given.target),) if given.target else gpus
            for way in configurations(change.path, given.text, asked, configured, defines):
                options = source_options("head", way, changes)
                wave_size = given.wave_size or way.wave_size
                programs.append(parsed_program(change.path, given.text, way.target, options, wave_size))
    if not programs:
        reasons = "; ".join(f"{skipped.path}: {skipped.reason}" for skipped in changes.skipped)
        raise GateError(f"nothing to look at{': ' + reasons if reasons else ''}", "name an assembly file")
    return tuple(programs)
