"""Which files changed, and their text at base and head. Git lives here and nowhere else.

Five ways to say what is compared give one :class:`ChangeSet`: :func:`staged_changes`, :func:`range_changes`,
:func:`named_files`, :func:`tracked_files` and :func:`standard_input`; :func:`hook_changes` is what
pre-commit needs.
"""

from asmevo_gate.changes.hook import hook_changes
from asmevo_gate.changes.model import Change, ChangeSet, Kind, Selection, Side, Skipped, Version
from asmevo_gate.changes.named import named_files, standard_input
from asmevo_gate.changes.patterns import Patterns
from asmevo_gate.changes.revisions import range_changes
from asmevo_gate.changes.staged import staged_changes, tracked_files

__all__ = [
    "Change",
    "ChangeSet",
    "Kind",
    "Patterns",
    "Selection",
    "Side",
    "Skipped",
    "Version",
    "hook_changes",
    "named_files",
    "range_changes",
    "staged_changes",
    "standard_input",
    "tracked_files",
]
