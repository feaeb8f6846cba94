"""GitLab's merge request notes and discussions, as its REST API documentation describes them."""

from __future__ import annotations

import hashlib
import re
from itertools import count
from pathlib import Path
from typing import Any

from .fake_server import Answer, Diff, FakeServer, Request, apply_block, git

TOKEN = "glpat-secret-of-the-test"
OWN, OTHER = 7, 8


class FakeGitLab(FakeServer):
    """Project 42, merge request 5 of ``branch`` into ``target`` of a repository."""

    def __init__(self, repository: Path, target: str = "main", branch: str = "faster") -> None:
        super().__init__()
        self.repository = repository
        self.target, self.branch = target, branch
        self.notes: list[dict[str, Any]] = []
        self.discussions: list[dict[str, Any]] = []
        self.refuse_ranges = False
        self.head: str | None = None
        self._ids = count(100)

    @property
    def diff(self) -> Diff:
        return Diff(self.repository, self.target, self.head or self.branch)

    def add_note(self, body: str, author: int = OWN) -> dict[str, Any]:
        """A note that is there already."""
        note = {"id": next(self._ids), "body": body, "author": {"id": author}, "system": False, "resolvable": False}
        self.notes.append(note)
        return note

    def handle(self, request: Request) -> Answer:
        if request.headers.get("private-token") != TOKEN:
            raise Answer(401, {"message": "401 Unauthorized"})
        if request.path == "/api/v4/user":
            return Answer(200, {"id": OWN, "username": "project_42_bot"})
        match = re.fullmatch(r"/api/v4/projects/(?:42|group%2Fproject)/merge_requests/5(/.*)?", request.path)
        if match is None:
            raise Answer(404, {"message": "404 Project Not Found"})
        return self._merge_request(request, match[1] or "")

    def _merge_request(self, request: Request, rest: str) -> Answer:
        method = request.method
        if (method, rest) == ("GET", ""):
            diff = self.diff
            refs = {"base_sha": diff.base, "start_sha": git(self.repository, "rev-parse", self.target)}
            return Answer(200, {"iid": 5, "diff_refs": {**refs, "head_sha": diff.head}})
        if (method, rest) == ("GET", "/notes"):
            return self._page(request, self.notes)
        if (method, rest) == ("GET", "/discussions"):
            return self._page(request, self.discussions)
        if (method, rest) == ("POST", "/notes"):
            return Answer(201, self.add_note(request.content["body"]))
        if method == "PUT" and (match := re.fullmatch(r"/notes/(\d+)", rest)):
            note = self._find(self.notes, int(match[1]))
            if note["author"]["id"] != OWN:
                raise Answer(403, {"message": "403 Forbidden"})
            note["body"] = request.content["body"]
            return Answer(200, note)
        if (method, rest) == ("POST", "/discussions"):
            return self._discuss(request.content)
        if method == "PUT" and (match := re.fullmatch(r"/discussions/(\w+)", rest)):
            discussion = self._find(self.discussions, match[1])
            for note in discussion["notes"]:
                note["resolved"] = request.content["resolved"]
            return Answer(200, discussion)
        self.faults.append(f"{method} {rest}")
        raise Answer(404, {"error": "404 Not Found"})

    @staticmethod
    def _find(entries: list[dict[str, Any]], identifier: object) -> dict[str, Any]:
        for entry in entries:
            if entry["id"] == identifier:
                return entry
        raise Answer(404, {"message": "404 Not found"})

    def _page(self, request: Request, entries: list[dict[str, Any]]) -> Answer:
        """Offset pagination: 20 entries a page, at most 100, and the address of the next one."""
        size = min(int(request.query.get("per_page", 20)), 100)
        page = int(request.query.get("page", 1))
        more = page * size < len(entries)
        headers = {"X-Page": str(page), "X-Per-Page": str(size), "X-Next-Page": str(page + 1) if more else ""}
        if more:
            # The host of this address is not the one that was asked: a client that follows it loses its token.
            address = f"http://elsewhere.invalid{request.path}?page={page + 1}&per_page={size}"
            headers["Link"] = f'<{address}>; rel="next"'
        return Answer(200, entries[(page - 1) * size : page * size], headers)

    def _discuss(self, content: dict[str, Any]) -> Answer:
        problem = self._problem(content["position"])
        if problem is not None:
            raise Answer(400, {"message": f"400 Bad request - Note {{:line_code=>{problem}}}"})
        note = {
            "id": next(self._ids),
            "body": content["body"],
            "author": {"id": OWN},
            "system": False,
            "resolvable": True,
            "resolved": False,
            "position": content["position"],
        }
        self.discussions.append({"id": f"d{note['id']}", "notes": [note]})
        return Answer(201, self.discussions[-1])

    def _problem(self, position: dict[str, Any]) -> str | None:
        """Why GitLab refuses a position; what the documentation forbids outright is also a fault."""
        diff = self.diff
        for key in ("base_sha", "start_sha", "head_sha", "position_type", "new_path", "old_path"):
            if not position.get(key):
                self.faults.append(f"position without {key}")
        if position["position_type"] != "text":
            self.faults.append("position_type is not text")
        if (position["base_sha"], position["head_sha"]) != (diff.base, diff.head):
            return '["must be a valid line code"]'
        rows = diff.lines(position["new_path"])
        if self._row(rows, position.get("old_line"), position.get("new_line")) is None:
            return '["can\'t be blank", "must be a valid line code"]'
        if "line_range" in position:
            if self.refuse_ranges:
                return '["can\'t be blank"]'
            digest = hashlib.sha1(position["new_path"].encode()).hexdigest()
            known = {f"{digest}_{row.old}_{row.new}": row for row in rows}
            for end in (position["line_range"]["start"], position["line_range"]["end"]):
                row = known.get(end["line_code"])
                if row is None or (row.kind == "+") != (end.get("type") == "new"):
                    self.faults.append(f"line_range: {end}")
                    return '["can\'t be blank"]'
        return None

    @staticmethod
    def _row(rows: list[Any], old: int | None, new: int | None) -> Any:
        """An added line has a new number alone, an unchanged one both."""
        for row in rows:
            if row.kind == "+" and row.new == new and old is None:
                return row
            if row.kind == " " and row.new == new and row.old == old:
                return row
        return None

    def open_suggestions(self) -> list[dict[str, Any]]:
        """Unresolved discussions with a block to apply."""
        return [one for one in self.discussions if not one["notes"][0]["resolved"]]

    def apply(self, discussion: dict[str, Any]) -> None:
        """What the button "Apply suggestion" does."""
        note = discussion["notes"][0]
        match = re.search(r"^(`{3,})suggestion:-(\d+)\+(\d+)\n(.*?)^\1$", note["body"], re.MULTILINE | re.DOTALL)
        assert match is not None, note["body"]
        at = note["position"]["new_line"]
        lines = match[4].splitlines()
        apply_block(
            self.repository, self.branch, note["position"]["new_path"], at - int(match[2]), at + int(match[3]), lines
        )
