"""Files checked by the workers of a Dask cluster (``dask://HOST:PORT``), for whole libraries of kernels.

The scheduler and its workers are started by Dask's own launchers (``dask scheduler``, dask-jobqueue for Slurm, the
Kubernetes operator). Workers need the same asmevo-gate and the same LLVM tools. Only trust a scheduler as you trust the
machines behind it: Dask runs what its clients send.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeoutError
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from asmevo_gate.errors import GateError, UsageError
from asmevo_gate.gate.change_check import SideFiles
from asmevo_gate.gate.environment import code_version, tools_version
from asmevo_gate.gate.execution import Answer, Pending, usable_cores
from asmevo_gate.gate.file_task import Failed, Outcome, Setup, decode_outcome, encode, work
from asmevo_gate.gate.process_pool import Workers, in_processes, tried_again
from asmevo_gate.gate.shards import size_of

if TYPE_CHECKING:
    from distributed import Client

CONNECT_SECONDS = 20
_AHEAD = 4
"""Tasks that are sent for each thread of the cluster."""
_ADDRESS = re.compile(r"dask://(?P<place>(?:\[[0-9a-fA-F:]+\]|[\w.-]+):\d{1,5})/?", re.ASCII)
_MOST_LOSSES = 3


def scheduler_address(text: str) -> str:
    """Dask's address of the scheduler that ``dask://HOST:PORT`` names.

    Raises:
        UsageError: it has another form.
    """
    match = _ADDRESS.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"'{text}' names no executor", "write --executor dask://HOST:PORT")
    return f"tcp://{match['place']}"


def in_cluster(
    pending: list[Pending], setup: Setup, files: SideFiles, address: str, warn: Callable[[str], None]
) -> Iterator[Answer]:
    """Check files on a cluster, the largest first; answers come in any order.

    Dask gives the files of a lost worker to another one. What is under way when it gives up, or when the scheduler is
    lost, is checked by a process here.

    Raises:
        UsageError: the address is none, or Dask is not installed.
        GateError: the scheduler does not answer.
    """
    message = encode(setup)
    queue = deque(sorted(pending, key=lambda one: -size_of(one.change)))
    suspects: list[Pending] = []
    client = _client(scheduler_address(address))
    try:
        losses = _losses()
        threads = max(1, sum(client.nthreads().values()))
        executor = client.get_executor(pure=False)
        submit = partial(executor.submit, work_for, code_version(), tools_version(), message)
        read = _Reader(warn)
        for _ in range(_MOST_LOSSES):
            if queue:
                yield from Workers(submit, threads * _AHEAD, losses, read).answers(queue, files, suspects)
    except ModuleNotFoundError as error:
        raise GateError(
            f"the workers of the cluster cannot import '{error.name}'", "install asmevo-gate on them, as here"
        ) from error
    finally:
        client.close(timeout=5)
    if suspects or queue:
        warn(f"the cluster lost {len(suspects) + len(queue)} files; they are checked here")
    yield from tried_again(suspects, message, files)
    yield from in_processes(list(queue), setup, files, usable_cores())


class _Answered(msgspec.Struct, frozen=True):
    """What a worker of a cluster sends back."""

    outcome: bytes
    same_tools: bool


class _Reader:
    """Reads answers of a cluster; one made with other tools is not kept in the cache, and that is said once."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn: Callable[[str], None] | None = warn

    def __call__(self, data: bytes) -> tuple[Outcome, bool]:
        answered = msgspec.msgpack.decode(data, type=_Answered)
        if not answered.same_tools and self._warn is not None:
            self._warn("workers of the cluster have other LLVM tools than this machine; their results are not cached")
            self._warn = None
        return decode_outcome(answered.outcome), answered.same_tools


def work_for(code: str, tools: str, setup: bytes, task: bytes) -> bytes:
    """The function that workers of a cluster run: :func:`work`, if they have the same gate as the one that asks."""
    if code_version() != code:
        reason = "a worker of the cluster has another version of asmevo-gate, of its data, or of Python"
        outcome = encode(Failed("GateError", reason, "install the same on the workers as here"))
    else:
        outcome = work(setup, task)
    return msgspec.msgpack.encode(_Answered(outcome, tools_version() == tools))


def _client(address: str) -> Client:
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError(
            "--executor dask://... needs the package 'distributed'", "pip install 'asmevo-gate[cluster]'"
        ) from error
    try:
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, FutureTimeoutError, TimeoutError) as error:
        raise GateError(
            f"the scheduler {address} does not answer within {CONNECT_SECONDS} s", "check the address, or use --jobs"
        ) from error


def _losses() -> tuple[type[BaseException], ...]:
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError
    from distributed.comm import CommClosedError

    return (KilledWorker, CommClosedError, CancelledError, FutureCancelledError, RuntimeError)
