"""From a finished run to its merge request: which forge, which token, and what goes there."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from asmevo_gate.errors import GateError, UsageError
from asmevo_gate.forge.comparison import Comparison
from asmevo_gate.forge.job import Job, MergeRequest
from asmevo_gate.forge.model import NAME, Forge, Refs
from asmevo_gate.forge.note import failure_text, note_text
from asmevo_gate.forge.posting import Posted, is_current, post_note, post_suggestions
from asmevo_gate.forge.suggestion import Suggestion

if TYPE_CHECKING:
    from asmevo_gate.gate.result import Report
    from asmevo_gate.report.context import RenderContext

TOKENS = {"gitlab": ("ASMEVO_GATE_TOKEN", "GITLAB_TOKEN"), "github": ("ASMEVO_GATE_TOKEN", "GITHUB_TOKEN")}
Say = Callable[[str], None]
What = Literal["off", "note", "suggestions"]


class Posting(NamedTuple):
    """What the user asked to be posted. ``name`` tells several gates on one merge request apart."""

    what: What
    most: int = 5
    dry_run: bool = False
    name: str = ""


def publish(
    posting: Posting,
    job: Job,
    compared: Comparison,
    here: Path,
    report: Report,
    context: RenderContext,
    suggestions: Sequence[Suggestion],
    old_paths: dict[str, str],
    say: Say,
) -> None:
    """Post the note and, if asked, the suggestions of a run.

    Raises:
        GateError: there is no token, or the forge refuses or cannot be reached.
    """
    forge = _forge(posting, job, compared, say)
    if forge is None or not is_current(forge, compared, say):
        return
    posted = Posted(0, (), len(suggestions), 0)
    if posting.what == "suggestions":
        named = [dataclasses.replace(suggestion, name=posting.name) for suggestion in suggestions]
        posted = post_suggestions(forge, named, posting.most, here, compared, old_paths, say, posting.name)
    post_note(forge, note_text(report, context, posted.on_lines, posted.in_note, posted.left_out, posting.name))


def publish_failure(posting: Posting, job: Job, compared: Comparison, message: str, say: Say) -> None:
    """Post that the gate could not do its work, so that no older verdict stands for this commit.

    Raises:
        GateError: as :func:`publish`.
    """
    forge = _forge(posting, job, compared, say)
    if forge is not None and is_current(forge, compared, say):
        post_note(forge, failure_text(message, compared.head, job.address, posting.name))


def checked_name(name: str) -> str:
    """The name of a gate, if it can be one.

    Raises:
        UsageError: it cannot stand in a comment.
    """
    if name and not NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be the name of a gate", "use letters, digits, '.', '_' and '-'")
    return name


def _forge(posting: Posting, job: Job, compared: Comparison, say: Say) -> Forge | None:
    request = job.request
    if request is None:
        say("nothing is posted: this job is not for a merge request of GitLab or GitHub")
        return None
    if posting.dry_run:
        from asmevo_gate.forge.dry_run import DryRun

        return DryRun(request.kind, Refs(compared.base, compared.base, compared.head), say)
    return open_forge(request, find_token(request, os.environ))


def find_token(request: MergeRequest, environment: Mapping[str, str]) -> str:
    """The token for a forge.

    Raises:
        GateError: no variable has one.
    """
    names = TOKENS[request.kind]
    token = next((environment[name].strip() for name in names if environment.get(name, "").strip()), None)
    if token is None:
        needs = "a project access token with scope api" if request.kind == "gitlab" else "pull-requests: write"
        raise GateError("there is no token to post with", f"set {' or '.join(names)} ({needs})")
    return token


def open_forge(request: MergeRequest, token: str) -> Forge:
    """The forge of a merge request.

    Raises:
        GateError: the extra ``forge`` is not installed, or an address is missing.
    """
    if request.kind == "gitlab":
        from asmevo_gate.forge.gitlab import GitLab

        return GitLab(request, token)
    from asmevo_gate.forge.github import GitHub

    return GitHub(request, token)
