"""The options of ``check`` and ``ci`` that say how a run is executed, and not what it finds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

if TYPE_CHECKING:
    from asmevo_gate.gate.execution import Execution
    from asmevo_gate.gate.result import Shard

_Command = TypeVar("_Command", bound=Callable[..., Any])


class ExecutionOptions(NamedTuple):
    """As given on the command line. ``jobs``: ``None`` is one process a core where that pays; ``time_limit`` is in
    seconds a file, ``None`` for the default."""

    jobs: int | None = None
    executor: str | None = None
    cache: bool = True
    shard: str | None = None
    time_limit: float | None = None

    def shard_of_run(self) -> Shard | None:
        """The part of the files to check.

        Raises:
            UsageError: it has the wrong form.
        """
        if self.shard is None:
            return None
        from asmevo_gate.gate.shards import parse_shard

        return parse_shard(self.shard)

    def execution(self) -> Execution:
        """Who checks the files.

        Raises:
            UsageError: an option or a variable of the environment is wrong.
        """
        from asmevo_gate.cli.progress import Progress
        from asmevo_gate.gate.cache import Cache, cache_directory, cache_limit
        from asmevo_gate.gate.execution import FILE_SECONDS, Execution

        if self.executor:
            from asmevo_gate.gate.cluster import scheduler_address

            scheduler_address(self.executor)
        return Execution(
            jobs=self.jobs,
            cluster=self.executor or "",
            cache=Cache(cache_directory(), warn, cache_limit()) if self.cache else None,
            seconds=FILE_SECONDS if self.time_limit is None else self.time_limit,
            progress=Progress(sys.stderr) if sys.stderr.isatty() else None,
            warn=warn,
        )


def execution_options(command: _Command) -> _Command:
    """Give a command the options of :class:`ExecutionOptions`, under its names."""
    for option in (
        click.option(
            "--time-limit", type=click.FloatRange(0), metavar="SECONDS", help="Time for one file (0: no limit)."
        ),
        click.option(
            "--shard", metavar="N/COUNT", help="Check one part of the files; 'merge' puts the reports together."
        ),
        click.option("--cache/--no-cache", default=True, help="Take results of unchanged files from the cache."),
        click.option("--executor", metavar="dask://HOST:PORT", help="Check on the workers of a Dask cluster."),
        click.option(
            "--jobs", "-j", type=click.IntRange(1, 1024), metavar="N", help="Processes (default: as it pays)."
        ),
    ):
        command = option(command)
    return command


def warn(line: str) -> None:
    """One line about what went wrong beside the result."""
    click.echo(f"asmevo-gate: {line}", err=True)
