"""An HTTP server on 127.0.0.1 that stands in for a forge, and the diff that it shows."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit


class Request(NamedTuple):
    """What a client sent."""

    method: str
    path: str
    query: dict[str, str]
    content: Any
    headers: dict[str, str]


class Answer(Exception):
    """Ends the handling of a request with a status and an answer."""

    def __init__(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        super().__init__(status)
        self.status = status
        self.content = content
        self.headers = headers or {}


class FakeServer:
    """Answers with ``handle``; what is in ``failures`` is answered first. ``requests`` has everything that came."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.failures: list[tuple[str, Answer]] = []
        self.faults: list[str] = []
        """Requests that break the documentation; a test ends with none of them."""
        handler = type("Handler", (_Handler,), {"fake": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def handle(self, request: Request) -> Answer:
        raise NotImplementedError

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def fail_next(self, what: str, status: int, content: Any, **headers: str) -> None:
        """Answer the next request whose ``METHOD path`` matches with a failure."""
        self.failures.append((what, Answer(status, content, headers)))

    def sent(self, method: str, path: str = "") -> list[Request]:
        """The requests of one method whose path matches."""
        return [one for one in self.requests if one.method == method and re.search(path, one.path)]


class _Handler(BaseHTTPRequestHandler):
    fake: FakeServer

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        content = json.loads(body) if body else None
        request = Request(self.command, parts.path, dict(parse_qsl(parts.query)), content, headers)
        self.fake.requests.append(request)
        try:
            for number, (what, failure) in enumerate(self.fake.failures):
                if re.search(what, f"{request.method} {request.path}"):
                    del self.fake.failures[number]
                    raise failure
            answer = self.fake.handle(request)
        except Answer as early:
            answer = early
        data = json.dumps(answer.content).encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in answer.headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


class ShownLine(NamedTuple):
    """A line of a diff as a forge counts it: positions on both sides, and whether it is within three lines of a
    change."""

    old: int
    new: int
    kind: str
    shown: bool


class Diff:
    """The diff of a branch against its merge base, from a full-context diff (not by the code under test)."""

    def __init__(self, repository: Path, base: str, head: str) -> None:
        self.repository = repository
        self.base = git(repository, "merge-base", base, head)
        self.head = git(repository, "rev-parse", head)

    def lines(self, path: str) -> list[ShownLine]:
        """Every line of a changed file; empty for a file that the diff does not have."""
        full = git(self.repository, "diff", "-U1000000", self.base, self.head, "--", path)
        rows: list[tuple[int, int, str]] = []
        old = new = 0
        for line in full.split("\n"):
            if match := re.match(r"@@ -(\d+)(?:,\d+)? \+(\d+)", line):
                old, new = int(match[1]), int(match[2])
            elif old or new:
                kind = line[:1]
                if kind in ("+", "-", " "):
                    rows.append((old, new, kind))
                    old += kind != "+"
                    new += kind != "-"
        changed = [number for number, row in enumerate(rows) if row[2] != " "]
        return [ShownLine(*row, any(abs(at - number) <= 3 for at in changed)) for number, row in enumerate(rows)]


def git(repository: Path, *arguments: str) -> str:
    """Run git in a repository, which must succeed."""
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *arguments], cwd=repository, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n")


def apply_block(repository: Path, branch: str, path: str, first: int, last: int, lines: list[str]) -> None:
    """Commit a suggestion to a branch, as the button of a forge does. The branch is checked out."""
    assert git(repository, "branch", "--show-current") == branch
    file = repository / path
    text = file.read_text().split("\n")
    text[first - 1 : last] = lines
    file.write_text("\n".join(text))
    git(repository, "commit", "--quiet", "--all", "--message", "Apply suggestion")
