"""Files checked by a pool of processes. One that is killed takes no file with it: what it had is tried again."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import active_children, get_context, parent_process

import msgspec

from asmevo_gate.gate.change_check import SideFiles
from asmevo_gate.gate.execution import Answer, Pending
from asmevo_gate.gate.file_task import (
    CANNOT_BE_SENT,
    Lost,
    Needs,
    Outcome,
    Setup,
    both_sides,
    decode_outcome,
    encode,
    work,
)
from asmevo_gate.gate.shards import size_of

_AHEAD = 2
"""Tasks that are sent for each process, so that none waits and few are in memory."""


def in_processes(pending: list[Pending], setup: Setup, files: SideFiles, processes: int) -> Iterator[Answer]:
    """Check files in so many processes, the largest first; answers come in any order.

    When a process ends without an answer, the files that were under way are tried once more, one at a
    time.
    """
    left = {one.at: one for one in pending}
    try:
        for answer in _in_pools(pending, encode(setup), files, processes):
            del left[answer.pending.at]
            yield answer
    except OSError:  # no more processes, or no semaphores for them: the run goes on without
        for one in left.values():
            yield Answer(one, None)


def _in_pools(pending: list[Pending], setup: bytes, files: SideFiles, processes: int) -> Iterator[Answer]:
    queue = deque(sorted(pending, key=lambda one: -size_of(one.change)))
    while queue:
        suspects: list[Pending] = []
        with process_pool(min(processes, len(queue))) as pool:
            yield from _workers(pool, setup, processes * _AHEAD).answers(queue, files, suspects)
        yield from tried_again(suspects, setup, files)


def tried_again(suspects: list[Pending], setup: bytes, files: SideFiles) -> Iterator[Answer]:
    """One file at a time, so that the one whose process is lost again is the one to blame: it is :class:`Lost`."""
    queue = deque(suspects)
    while queue:
        again: list[Pending] = []
        with process_pool(1) as pool:
            yield from _workers(pool, setup, 1).answers(queue, files, again)
        for lost in again:
            yield Answer(lost, Lost("the process that checked it was killed, twice (out of memory?)"))


def _workers(pool: ProcessPoolExecutor, setup: bytes, ahead: int) -> Workers:
    def submit(task: bytes) -> Future[bytes]:
        with _without_interrupts():
            return pool.submit(work, setup, task)

    return Workers(submit, ahead, (BrokenProcessPool,))


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ctrl-C waits until the body ends, and processes that are started in it never get one: it is for the parent, which
    ends its workers."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _own(data: bytes) -> tuple[Outcome, bool]:
    return decode_outcome(data), True


@dataclass(frozen=True)
class Workers:
    """Others that check files. ``submit`` sends one task, at most ``ahead`` at a time; an exception of ``losses`` says
    that a worker ended without an answer; ``read`` gives the outcome of an answer, and whether it may be cached."""

    submit: Callable[[bytes], Future[bytes]]
    ahead: int
    losses: tuple[type[BaseException], ...]
    read: Callable[[bytes], tuple[Outcome, bool]] = _own

    def answers(self, queue: deque[Pending], files: SideFiles, suspects: list[Pending]) -> Iterator[Answer]:
        """The answers as they come, until the queue is empty or a worker is lost. Then ``suspects`` gets the files that
        were under way and have no answer, and the queue keeps the rest."""
        running: dict[Future[bytes], Pending] = {}
        lost = False
        while running or (queue and not lost):
            while queue and not lost and len(running) < self.ahead:
                one = queue.popleft()
                try:
                    running[self.submit(encode(one.task))] = one
                except CANNOT_BE_SENT:
                    yield Answer(one, None)
                except self.losses:
                    queue.appendleft(one)
                    lost = True
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                one = running.pop(future)
                try:
                    outcome, cacheable = self.read(future.result())
                except CANNOT_BE_SENT:
                    yield Answer(one, None)
                except self.losses:
                    suspects.append(one)
                    lost = True
                else:
                    if isinstance(outcome, Needs):
                        queue.appendleft(with_files(one, outcome.path, files))
                    else:
                        yield Answer(one, outcome, one.task.files, cacheable)


def with_files(one: Pending, path: str, files: SideFiles) -> Pending:
    """The task with one more file that it includes."""
    more = (*one.task.files, *both_sides(files, path))
    return Pending(one.at, one.change, msgspec.structs.replace(one.task, files=more))


@contextmanager
def process_pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of fresh interpreters, ended at once when the body is left by an exception."""
    others = set(active_children())
    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_start_worker)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(active_children()) - others:
            process.kill()
        raise
    pool.shutdown(wait=True)


def _start_worker() -> None:
    """A worker does not hear Ctrl-C, and ends when its parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent.join,), daemon=True).start()


def _end_after(join: Callable[[], None]) -> None:
    join()
    os._exit(1)
