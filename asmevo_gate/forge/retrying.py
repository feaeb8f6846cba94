"""Requests that are tried again, within limits, and never in a way that could post something twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from asmevo_gate.forge.model import ForgeError

Result = TypeVar("Result")
WAITS = (1.0, 2.0, 4.0)
"""Seconds before the second, third and fourth try."""
LONGEST_WAIT = 30.0
"""A forge that asks for a longer pause (``Retry-After``) is not waited for."""


class RequestFailed(ForgeError):
    """A request that failed. ``status`` is that of HTTP, 0 when there was no answer; ``retry_after`` in seconds."""

    def __init__(self, message: str, status: int, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


def with_retries(
    request: Callable[[], Result], *, repeatable: bool, sleep: Callable[[float], None] = time.sleep
) -> Result:
    """What ``request`` gives. A refused one (429) was not done and may be repeated; after any other failure of the
    forge or of the network only a ``repeatable`` one is (one that reads, or writes the same again).

    Raises:
        RequestFailed: the last try failed as well, or the failure is not one that passes.
    """
    for wait in WAITS:
        try:
            return request()
        except RequestFailed as error:
            passing = error.status == 429 or (repeatable and (error.status == 0 or error.status >= 500))
            pause = wait if error.retry_after is None else error.retry_after
            if not passing or pause > LONGEST_WAIT:
                raise
            sleep(pause)
    return request()


def without_secret(text: str, secret: str) -> str:
    """``text`` with the token hidden."""
    return text.replace(secret, "[hidden]") if secret else text
