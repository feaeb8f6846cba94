"""GitHub's issue comments and pull request review comments, as its REST API documentation describes them."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path
from typing import Any

from .fake_server import Answer, Diff, FakeServer, Request, apply_block, git

TOKEN = "ghs_secretOfTheTest"
BOT = "github-actions[bot]"


class FakeGitHub(FakeServer):
    """Pull request 9 of ``branch`` into ``target`` of ``owner/name``. The token is that of a workflow."""

    def __init__(self, repository: Path, target: str = "main", branch: str = "faster", prefix: str = "") -> None:
        super().__init__()
        self.repository = repository
        self.target, self.branch = target, branch
        self.prefix = prefix
        """In front of every path: ``/api/v3`` on a GitHub server of one's own."""
        self.comments: list[dict[str, Any]] = []
        self.review_comments: list[dict[str, Any]] = []
        self._ids = count(1000)

    @property
    def diff(self) -> Diff:
        return Diff(self.repository, self.target, self.branch)

    def add_comment(self, body: str, login: str = BOT) -> dict[str, Any]:
        """A comment that is there already."""
        self.comments.append({"id": next(self._ids), "body": body, "user": {"login": login, "type": "User"}})
        return self.comments[-1]

    def handle(self, request: Request) -> Answer:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            raise Answer(401, {"message": "Bad credentials"})
        if request.headers.get("accept") != "application/vnd.github+json":
            self.faults.append("Accept is not as the documentation recommends")
        if not request.path.startswith(self.prefix):
            raise Answer(404, {"message": "Not Found"})
        path = request.path.removeprefix(self.prefix)
        if path == "/user":
            raise Answer(403, {"message": "Resource not accessible by integration"})
        if not path.startswith("/repos/owner/name/"):
            raise Answer(404, {"message": "Not Found"})
        return self._repository(request, path.removeprefix("/repos/owner/name"))

    def _repository(self, request: Request, rest: str) -> Answer:
        method = request.method
        if (method, rest) == ("GET", "/pulls/9"):
            target = git(self.repository, "rev-parse", self.target)
            return Answer(200, {"number": 9, "base": {"sha": target}, "head": {"sha": self.diff.head}})
        if method == "GET" and (match := re.fullmatch(r"/compare/([0-9a-f]{40})\.\.\.([0-9a-f]{40})", rest)):
            base = git(self.repository, "merge-base", match[1], match[2])
            return Answer(200, {"merge_base_commit": {"sha": base}, "files": []})
        if (method, rest) == ("GET", "/issues/9/comments"):
            return self._page(request, self.comments)
        if (method, rest) == ("GET", "/pulls/9/comments"):
            return self._page(request, self.review_comments)
        if (method, rest) == ("POST", "/issues/9/comments"):
            if len(request.content["body"]) > 65536:
                raise Answer(422, {"message": "body is too long (maximum is 65536 characters)"})
            return Answer(201, self.add_comment(request.content["body"]))
        if method == "PATCH" and (match := re.fullmatch(r"/issues/comments/(\d+)", rest)):
            return self._edit(self.comments, int(match[1]), request.content)
        if method == "PATCH" and (match := re.fullmatch(r"/pulls/comments/(\d+)", rest)):
            return self._edit(self.review_comments, int(match[1]), request.content)
        if (method, rest) == ("POST", "/pulls/9/comments"):
            return self._review(request.content)
        self.faults.append(f"{method} {rest}")
        raise Answer(404, {"message": "Not Found"})

    @staticmethod
    def _edit(entries: list[dict[str, Any]], identifier: int, content: dict[str, Any]) -> Answer:
        for entry in entries:
            if entry["id"] == identifier:
                entry["body"] = content["body"]
                return Answer(200, entry)
        raise Answer(404, {"message": "Not Found"})

    @staticmethod
    def _page(request: Request, entries: list[dict[str, Any]]) -> Answer:
        size = min(int(request.query.get("per_page", 30)), 100)
        page = int(request.query.get("page", 1))
        return Answer(200, entries[(page - 1) * size : page * size])

    def _review(self, content: dict[str, Any]) -> Answer:
        for key in ("body", "commit_id", "path", "line", "side"):
            if key not in content:
                self.faults.append(f"review comment without {key}")
        shown = [row.new for row in self.diff.lines(content["path"]) if row.kind != "-" and row.shown]
        first, last = content.get("start_line", content["line"]), content["line"]
        if "start_line" in content and not (first < last and content.get("start_side") == "RIGHT"):
            self.faults.append("start_line must be before line, on the same side")
        within = content["commit_id"] == self.diff.head and first in shown and last in shown
        if content["side"] != "RIGHT" or not within:
            errors = ["pull_request_review_thread.line must be part of the diff"]
            raise Answer(422, {"message": "Validation Failed", "errors": errors})
        comment = {**content, "id": next(self._ids), "user": {"login": BOT, "type": "Bot"}}
        self.review_comments.append(comment)
        return Answer(201, comment)

    def apply(self, comment: dict[str, Any]) -> None:
        """What the button "Commit suggestion" does."""
        match = re.search(r"^(`{3,})suggestion\n(.*?)^\1$", comment["body"], re.MULTILINE | re.DOTALL)
        assert match is not None, comment["body"]
        lines = match[2].splitlines()
        first = comment.get("start_line", comment["line"])
        apply_block(self.repository, self.branch, comment["path"], first, comment["line"], lines)
