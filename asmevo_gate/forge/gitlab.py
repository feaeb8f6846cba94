"""A merge request on GitLab, through python-gitlab.

Positions: "Discussions API", section "Create a new thread in the merge request diff"; suggestions: "Suggest changes".
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from asmevo_gate.changes.line_diff import DiffLine
from asmevo_gate.errors import GateError
from asmevo_gate.forge.job import MergeRequest
from asmevo_gate.forge.model import (
    Attempt,
    ForgeError,
    Note,
    Place,
    PositionRefused,
    Refs,
    Thread,
    suggestion_body,
    suggestion_mark,
)
from asmevo_gate.forge.retrying import RequestFailed, with_retries, without_secret
from asmevo_gate.forge.suggestion import Suggestion
from asmevo_gate.report.markdown import MARKER
from asmevo_gate.report.text import clipped, one_line

Result = TypeVar("Result")
TIMEOUT_SECONDS = 30
_MOST = 5000
"""GitLab's own limit of comments on a merge request."""
_EMPTY: dict[str, Any] = {"body": ""}
# python-gitlab would wait as long as the server says, and repeat what may have been done.
_ONCE: dict[str, Any] = {"obey_rate_limit": False, "retry_transient_errors": False, "max_retries": 0}


class GitLab:
    """One merge request. ``token`` has the scope ``api``.

    Raises:
        GateError: python-gitlab is not installed, or the address of the server is unknown.
    """

    def __init__(self, request: MergeRequest, token: str) -> None:
        try:
            import gitlab
            import requests
        except ImportError as error:
            raise GateError("python-gitlab is not installed", "pip install 'asmevo-gate[forge]'") from error
        if not request.server:
            raise GateError("the address of the GitLab server is not known", "set CI_SERVER_URL")
        session = requests.Session()
        session.max_redirects = 0  # a redirect to another host would take the token along
        self._errors = (gitlab.exceptions.GitlabError, requests.RequestException)
        self._redirects = (gitlab.exceptions.RedirectError, requests.TooManyRedirects)
        self._token = token
        self._server = gitlab.Gitlab(
            request.server,
            private_token=token,
            ssl_verify=request.ca_file or True,
            timeout=TIMEOUT_SECONDS,
            session=session,
            keep_base_url=True,
        )
        project = self._server.projects.get(request.project, lazy=True)
        self._request: Any = project.mergerequests.get(request.number, lazy=True)
        self._get_request: Callable[[], Any] = lambda: project.mergerequests.get(request.number, **_ONCE)
        self._own: int | None = None

    def refs(self) -> Refs:
        refs = self._done(self._get_request).attributes.get("diff_refs") or {}
        try:
            return Refs(refs["base_sha"], refs["start_sha"], refs["head_sha"])
        except KeyError as error:
            raise ForgeError("GitLab has not prepared the diff of the merge request yet") from error

    def notes(self) -> list[Note]:
        found = self._list(self._request.notes, sort="asc", order_by="created_at")
        return [
            Note(str(note.id), note.body)
            for note in found
            if note.body.startswith(MARKER) and note.author["id"] == self._user() and not note.system
        ]

    def create_note(self, body: str) -> None:
        self._done(lambda: self._request.notes.create({"body": body}, **_ONCE), repeatable=False)

    def update_note(self, note: Note, body: str) -> None:
        self._done(lambda: self._request.notes.update(int(note.id), {"body": body}, **_ONCE))

    def threads(self) -> list[Thread]:
        threads = []
        for discussion in self._list(self._request.discussions):
            first = next(iter(discussion.attributes["notes"]), _EMPTY)
            mark = suggestion_mark(first["body"])
            if mark is not None and first["author"]["id"] == self._user():
                threads.append(Thread(discussion.id, mark, first.get("resolved") is False, first["body"]))
        return threads

    def attempts(self, suggestion: Suggestion, place: Place, refs: Refs) -> Iterator[Attempt]:
        return attempts(suggestion, place, refs)

    def suggest(self, attempt: Attempt) -> None:
        content = {"body": attempt.body, "position": dict(attempt.position)}
        try:
            self._done(lambda: self._request.discussions.create(content, **_ONCE), repeatable=False)
        except RequestFailed as error:
            if error.status == 400:
                raise PositionRefused(error.message) from error
            raise

    def resolve(self, thread: Thread, reason: str) -> None:
        self._done(lambda: self._request.discussions.update(thread.id, {"resolved": True}, **_ONCE))

    def _user(self) -> int:
        """The id of the token's own user: what others write is never taken for the gate's."""
        if self._own is None:
            self._own = int(self._done(lambda: self._server.http_get("/user", **_ONCE))["id"])  # type: ignore[index]
        return self._own

    def _list(self, manager: Any, **order: str) -> list[Any]:
        def read() -> list[Any]:
            found = []
            for entry in manager.list(iterator=True, per_page=100, **order, **_ONCE):
                found.append(entry)
                if len(found) >= _MOST:
                    break
            return found

        return self._done(read)

    def _done(self, call: Callable[[], Result], *, repeatable: bool = True) -> Result:
        def once() -> Result:
            try:
                return call()
            except self._redirects:
                raise RequestFailed(
                    "GitLab: the server sends to another address; set CI_SERVER_URL to it", 302
                ) from None
            except self._errors as error:
                status = int(getattr(error, "response_code", None) or 0)
                said = getattr(error, "error_message", None) or type(error).__name__
                text = without_secret(clipped(one_line(_text(said)), 300), self._token)
                raise RequestFailed(f"GitLab: {f'{status}: ' if status else ''}{text}", status) from None

        return with_retries(once, repeatable=repeatable)


def _text(said: object) -> str:
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)


def attempts(suggestion: Suggestion, place: Place, refs: Refs) -> Iterator[Attempt]:
    """A range of lines first, then the last line alone: the block itself says how many lines above it are replaced."""
    if suggestion.replacement is None:
        return
    body = suggestion_body(suggestion, f"suggestion:-{suggestion.last - suggestion.first}+0")
    single: dict[str, Any] = {
        "base_sha": refs.base,
        "start_sha": refs.start,
        "head_sha": refs.head,
        "position_type": "text",
        "old_path": place.old_path,
        "new_path": place.new_path,
        "new_line": place.last.new,
    }
    if not place.last.added:  # an unchanged line needs both numbers
        single["old_line"] = place.last.old
    if suggestion.first < suggestion.last:
        ends = {"start": _end(place.new_path, place.first), "end": _end(place.new_path, place.last)}
        yield Attempt(body, {**single, "line_range": ends})
    yield Attempt(body, single)


def _end(path: str, line: DiffLine) -> dict[str, Any]:
    """One end of a range. Its code is that of Gitlab::Git.diff_line_code: digest of the path, old and new position."""
    digest = hashlib.sha1(path.encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()
    end: dict[str, Any] = {"line_code": f"{digest}_{line.old}_{line.new}", "new_line": line.new}
    if line.added:
        return {**end, "type": "new"}
    return {**end, "old_line": line.old}
