"""The check of one file as a message that any process can work on, and what comes back.

Messages are MessagePack of the structs below. A worker has no repository: it gets the bytes of both sides and the files
that they include. What it lacks it asks for (:class:`Needs`), and the task is sent again with these files.
"""

from __future__ import annotations

import hashlib
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from asmevo_gate import errors
from asmevo_gate.changes.model import Change, Kind, Side, Version
from asmevo_gate.constraints.model import ConstraintFile
from asmevo_gate.errors import GateError
from asmevo_gate.gate.change_check import FileResult, Request, SideFiles, check_change
from asmevo_gate.gate.settings import Settings, Severity, TargetSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asmevo_gate.gate.picture import KernelPicture

CANNOT_BE_SENT = (UnicodeEncodeError, OverflowError)
"""Raised for what has no place in a message: a path that is no UTF-8, a number of more than 64 bits. Such a file is
checked where the run is, and nothing of it is cached."""


class Setup(msgspec.Struct, frozen=True):
    """What holds for every file of a run and can change its result. ``fail_on`` and the baseline are not here: they are
    applied to the results."""

    gpus: tuple[str, ...]
    rocm: str | None
    named: bool
    count_known: bool
    defines: tuple[tuple[str, int], ...]
    assemble: bool
    pictures: bool
    constraints: Mapping[str, ConstraintFile]
    severities: Mapping[str, Severity]
    disabled: tuple[str, ...]
    profiles: tuple[str, ...]


class SideFile(msgspec.Struct, frozen=True):
    """A file that another one may include. ``data`` is ``None`` where there is none; ``error`` are the arguments of the
    :class:`GateError` that reading it raised."""

    side: Side
    path: str
    data: bytes | None = None
    error: tuple[str, str] | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of the bytes, or words that are none."""
        if self.error is not None:
            return "cannot be read"
        return "absent" if self.data is None else hashlib.sha256(self.data).hexdigest()


class Task(msgspec.Struct, frozen=True):
    """One changed file."""

    path: str
    old_path: str | None
    kind: Kind
    base: Version | None
    head: Version | None
    settings: TargetSettings
    files: tuple[SideFile, ...] = ()
    seconds: float = 0
    """Limit of time; 0 for none."""


class Done(msgspec.Struct, frozen=True, tag=True):
    """The file is checked."""

    result: FileResult


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The work could not be done: a :class:`GateError` by its class and its arguments."""

    kind: str
    message: str
    repair: str = ""
    file: str | None = None
    line: int | None = None

    def error(self) -> GateError:
        """The error to raise."""
        kind = {"UsageError": errors.UsageError, "LimitError": errors.LimitError}.get(self.kind, GateError)
        return kind(self.message, self.repair, self.file, self.line)


class Needs(msgspec.Struct, frozen=True, tag=True):
    """The file includes another one that was not sent."""

    path: str


class TimedOut(msgspec.Struct, frozen=True, tag=True):
    """The check took longer than its limit."""

    seconds: float


class Lost(msgspec.Struct, frozen=True, tag=True):
    """The worker that had the file ended without an answer, and so did the one that tried it again."""

    reason: str


Outcome = Done | Failed | Needs | TimedOut | Lost


class _NeedsFile(BaseException):
    """Ends a check that asks for a file that was not sent; no handler for errors of the input may stop it."""


class TimeUp(BaseException):
    """Ends a check at its limit of time; no handler for errors of the input may stop it."""


class SentFiles:
    """The files that came with a task."""

    root = Path()

    def __init__(self, files: Iterable[SideFile]) -> None:
        self._files = {(file.side, file.path): file for file in files}

    def read(self, side: Side, path: str) -> bytes | None:
        """The bytes of a file, ``None`` where there is none."""
        file = self._files.get((side, path))
        if file is None:
            raise _NeedsFile(path)
        if file.error is not None:
            raise GateError(*file.error, path)
        return file.data


class RecordedFiles:
    """Files of a change set, and which of them were asked for."""

    def __init__(self, files: SideFiles) -> None:
        self._files = files
        self.root = files.root
        self.asked: dict[tuple[Side, str], SideFile] = {}

    def read(self, side: Side, path: str) -> bytes | None:
        """The bytes of a file, ``None`` where there is none."""
        try:
            data = self._files.read(side, path)
        except GateError as error:
            self.asked[side, path] = SideFile(side, path, None, (error.message, error.repair))
            raise
        self.asked[side, path] = SideFile(side, path, data)
        return data


def make_setup(settings: Settings, request: Request) -> Setup:
    """What holds for every file of a run."""
    return Setup(
        request.gpus, request.rocm, request.named, request.count_known, request.defines, request.assemble,
        request.draw is not None, dict(request.constraints), dict(settings.severities),
        tuple(sorted(settings.disabled)), settings.profiles,
    )  # fmt: skip


def make_task(change: Change, settings: Settings, seconds: float) -> Task:
    """The task of one changed file."""
    target = settings.for_path(change.path)
    return Task(change.path, change.old_path, change.kind, change.base, change.head, target, seconds=seconds)


def both_sides(files: SideFiles, path: str) -> tuple[SideFile, SideFile]:
    """A file that a task needs, at both sides: what head includes base mostly includes too."""
    return side_file(files, "base", path), side_file(files, "head", path)


def side_file(files: SideFiles, side: Side, path: str) -> SideFile:
    """A file of a change set at one side."""
    try:
        return SideFile(side, path, files.read(side, path))
    except GateError as error:
        return SideFile(side, path, None, (error.message, error.repair))


def encode(message: Setup | Task | Outcome) -> bytes:
    """A message as bytes; the same for equal messages.

    Raises:
        UnicodeEncodeError, OverflowError: it holds something that cannot be sent.
    """
    return msgspec.msgpack.encode(message, enc_hook=_plain, order="deterministic")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(f"{type(value).__name__} is no part of a message")


def decode_outcome(data: bytes) -> Outcome:
    """An outcome from its bytes.

    Raises:
        msgspec.DecodeError: they are none.
    """
    return msgspec.msgpack.decode(data, type=Outcome)


@lru_cache(maxsize=4)
def _setup(data: bytes) -> Setup:
    return msgspec.msgpack.decode(data, type=Setup)


def work(setup: bytes, task: bytes) -> bytes:
    """The function that workers run: messages in, an outcome out.

    Raises:
        UnicodeEncodeError, OverflowError: the outcome cannot be sent.
    """
    return encode(run_task(_setup(setup), msgspec.msgpack.decode(task, type=Task)))


def run_task(setup: Setup, task: Task) -> Outcome:
    """Check the file of a task with the files that came with it."""
    settings = Settings(
        default=task.settings, severities=setup.severities, disabled=frozenset(setup.disabled), profiles=setup.profiles
    )
    request = Request(
        gpus=setup.gpus, rocm=setup.rocm, named=setup.named, count_known=setup.count_known, defines=setup.defines,
        assemble=setup.assemble, draw=_no_drawing if setup.pictures else None, constraints=setup.constraints,
    )  # fmt: skip
    change = Change(task.path, task.old_path, task.kind, task.base, task.head)
    return attempt(lambda: check_change(change, SentFiles(task.files), settings, request), task.seconds)


def _no_drawing(picture: KernelPicture) -> None:
    """Pictures go into the result."""


def attempt(check: Callable[[], FileResult], seconds: float) -> Outcome:
    """Run a check within its time."""
    try:
        with time_limit(seconds):
            return Done(check())
    except _NeedsFile as needs:
        return Needs(str(needs))
    except TimeUp:
        return TimedOut(seconds)
    except GateError as error:
        return Failed(type(error).__name__, error.message, error.repair, error.file, error.line)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`TimeUp` in the body after so many seconds (0: never).

    It rests on the interval timer of POSIX, so it holds in the main thread of a process only, and not on Windows.
    """
    if not seconds or not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _time_up)
    ends, (outer, _) = time.monotonic() + seconds, signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, max(outer - (time.monotonic() - ends + seconds), 0.001) if outer else 0)
        signal.signal(signal.SIGALRM, before)


def _time_up(number: int, frame: FrameType | None) -> NoReturn:
    raise TimeUp
