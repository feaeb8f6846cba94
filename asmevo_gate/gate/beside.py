"""A function that runs in a thread beside the caller: for what is mostly the work of another process.

One thread needs no pool: :mod:`concurrent.futures` and what it imports would cost each start of the command 4 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def beside(work: Callable[[], T], wanted: bool = True) -> Iterator[Callable[[], T | None]]:
    """Run a function while the body runs, where that is ``wanted``. What the body gets waits for it and gives its
    result (``None``: not wanted) or raises its exception. Leaving the body waits for it too."""
    results: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as failure:  # noqa: BLE001 (it is the caller's, whatever it is)
            failures.append(failure)

    def result() -> T | None:
        if not wanted:
            return None
        thread.join()
        if failures:
            raise failures[0]
        return results[0]

    thread = Thread(target=run)
    if wanted:
        thread.start()
    try:
        yield result
    finally:
        if wanted:
            thread.join()
