"""A pull request on GitHub, through its REST API ("Pull request review comments", "Issue comments")."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException, HTTPMessage
from typing import IO, Any
from urllib.parse import quote, urlsplit

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

TIMEOUT_SECONDS = 30
PAGE = 100
_MOST_PAGES = 50
_MOST_BYTES = 16 << 20
SETTLED = "<!-- asmevo-gate:settled -->"
"""First line of a suggestion that is dealt with: the REST API cannot resolve a conversation."""
_PROJECT = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


class GitHub:
    """One pull request. ``token`` may write pull requests and issues.

    Raises:
        GateError: the address or the name of the repository is not one.
    """

    def __init__(self, request: MergeRequest, token: str) -> None:
        if urlsplit(request.server).scheme not in ("http", "https"):
            raise GateError(f"{request.server!r} is not the address of the GitHub API", "set GITHUB_API_URL")
        if not _PROJECT.fullmatch(request.project):
            raise GateError(f"{request.project!r} is not the name of a GitHub repository", "set GITHUB_REPOSITORY")
        self._server = request.server.rstrip("/")
        self._project = f"/repos/{quote(request.project)}"
        self._number = request.number
        self._token = token
        self._opener = urllib.request.build_opener(_NoRedirects)
        self._own: str | None = None

    def refs(self) -> Refs:
        pull = self._ask("GET", f"{self._project}/pulls/{self._number}")
        try:
            base, head = quote(pull["base"]["sha"]), quote(pull["head"]["sha"])
            # The diff of a pull request begins at the merge base.
            between = self._ask("GET", f"{self._project}/compare/{base}...{head}?per_page=1")
            return Refs(between["merge_base_commit"]["sha"], base, head)
        except (KeyError, TypeError) as error:
            raise ForgeError("GitHub gave no pull request") from error

    def notes(self) -> list[Note]:
        found = self._pages(f"{self._project}/issues/{self._number}/comments")
        return [
            Note(str(note["id"]), note["body"])
            for note in found
            if str(note.get("body")).startswith(MARKER) and self._is_own(note)
        ]

    def create_note(self, body: str) -> None:
        self._ask("POST", f"{self._project}/issues/{self._number}/comments", {"body": body})

    def update_note(self, note: Note, body: str) -> None:
        self._ask("PATCH", f"{self._project}/issues/comments/{int(note.id)}", {"body": body})

    def threads(self) -> list[Thread]:
        threads = []
        for comment in self._pages(f"{self._project}/pulls/{self._number}/comments"):
            body = str(comment.get("body"))
            mark = suggestion_mark(body)
            if mark is not None and self._is_own(comment):
                threads.append(Thread(str(comment["id"]), mark, not body.startswith(SETTLED), body))
        return threads

    def attempts(self, suggestion: Suggestion, place: Place, refs: Refs) -> Iterator[Attempt]:
        return attempts(suggestion, place, refs)

    def suggest(self, attempt: Attempt) -> None:
        content = {"body": attempt.body, **attempt.position}
        try:
            self._ask("POST", f"{self._project}/pulls/{self._number}/comments", content)
        except RequestFailed as error:
            if error.status == 422:
                raise PositionRefused(error.message) from error
            raise

    def resolve(self, thread: Thread, reason: str) -> None:
        body = f"{SETTLED}\n**{reason}**\n\n<details><summary>The suggestion was</summary>\n\n{thread.body}\n</details>"
        # The mark stays last, so that the comment is known in later runs.
        self._ask("PATCH", f"{self._project}/pulls/comments/{int(thread.id)}", {"body": f"{body}\n\n{thread.mark}\n"})

    def _is_own(self, comment: dict[str, Any]) -> bool:
        """Whether the token's own user wrote it. The token of a workflow cannot ask who it is; then what the bot of
        the workflows wrote is its own."""
        if self._own is None:
            try:
                self._own = str(self._ask("GET", "/user")["login"])
            except RequestFailed as error:
                if error.status not in (401, 403, 404):
                    raise
                self._own = "github-actions[bot]"
        user = comment.get("user") or {}
        return user.get("login") == self._own

    def _pages(self, path: str) -> list[dict[str, Any]]:
        """Every entry of a list. Pages are counted, not followed: an address in an answer gets no token."""
        found: list[dict[str, Any]] = []
        for page in range(1, _MOST_PAGES + 1):
            entries = self._ask("GET", f"{path}?per_page={PAGE}&page={page}")
            if not isinstance(entries, list):
                raise ForgeError("GitHub gave no list of comments")
            found += [entry for entry in entries if isinstance(entry, dict)]
            if len(entries) < PAGE:
                break
        return found

    def _ask(self, method: str, path: str, content: dict[str, Any] | None = None) -> Any:
        return with_retries(lambda: self._once(method, path, content), repeatable=method != "POST")

    def _once(self, method: str, path: str, content: dict[str, Any] | None) -> Any:
        request = urllib.request.Request(
            f"{self._server}{path}",
            method=method,
            data=None if content is None else json.dumps(content).encode("ascii"),
            headers={
                "Accept": "application/vnd.github+json",
                "Content-Type": "application/json",
                "X-GitHub-Api-Version": "2022-11-28",
                "User-Agent": "asmevo-gate",
            },
        )
        request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            with self._opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
                data = answer.read(_MOST_BYTES + 1)
        except urllib.error.HTTPError as error:
            with error:
                raise self._failed(error.code, error.read(4096), error.headers.get("Retry-After")) from None
        except (urllib.error.URLError, OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or type(error).__name__
            raise RequestFailed(f"GitHub cannot be reached: {self._shown(str(reason))}", 0) from None
        try:
            return json.loads(data)
        except ValueError as error:
            raise ForgeError("GitHub gave an answer that is no JSON") from error

    def _failed(self, status: int, body: bytes, retry_after: str | None) -> RequestFailed:
        try:
            answer = json.loads(body)
            said = f"{answer.get('message', '')} {answer.get('errors', '')}".strip()
        except (ValueError, AttributeError):
            said = body.decode("utf-8", "replace")
        pause = float(retry_after) if retry_after and retry_after.isdigit() else None
        limited = status == 403 and pause is not None  # GitHub's secondary rate limit
        return RequestFailed(f"GitHub: {status}: {self._shown(said)}", 429 if limited else status, pause)

    def _shown(self, text: str) -> str:
        return without_secret(clipped(one_line(text), 300), self._token)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer like any other failure: nothing is sent to another address."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        return None


def attempts(suggestion: Suggestion, place: Place, refs: Refs) -> Iterator[Attempt]:
    """The lines of the block, which must all be in the diff: GitHub replaces what the comment stands at."""
    if suggestion.replacement is None or not (place.first.shown and place.last.shown):
        return
    position: dict[str, Any] = {
        "commit_id": refs.head,
        "path": place.new_path,
        "line": place.last.new,
        "side": "RIGHT",
    }
    if suggestion.first < suggestion.last:
        position |= {"start_line": place.first.new, "start_side": "RIGHT"}
    yield Attempt(suggestion_body(suggestion, "suggestion"), position)
