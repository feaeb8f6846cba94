"""The command ``asmevo-gate``: finds the subcommand and turns errors into one message and exit code 2.

Each subcommand is one module of :mod:`asmevo_gate.cli`, imported only when it is asked for: the hook pays for what
it uses.
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import sys
from importlib import import_module

import click

from asmevo_gate import __version__
from asmevo_gate.errors import GateError

_COMMANDS = {
    "check": "Check kernels: staged changes, a range, files, or standard input.",
    "ci": "Check the change of a CI job, write all reports, post on the merge request.",
    "merge": "Put the reports of several jobs together and decide.",
    "rewrite": "Improve kernels where it is proved safe.",
    "verify": "Prove or refute that a changed kernel computes the same.",
    "bench-model": "Measure language models as proposers of rewrites.",
    "hardware": "Judge measurements of two versions by rocprof or rocprofv3.",
    "cost": "Estimate the cycles of every block and loop.",
    "rules": "List the rules.",
    "explain": "Explain a rule, or what the gate knows about a line.",
    "graph": "Check, show or export the constraint graph.",
    "baseline": "Write or inspect the list of known findings.",
    "doctor": "Show what the gate finds on this machine and which settings hold.",
}


class _LazyGroup(click.Group):
    """A group whose commands are imported when they are used; the list of names needs no import."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = import_module(f"asmevo_gate.cli.{cmd_name.replace('-', '_')}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="asmevo-gate")
def cli() -> None:
    """Gatekeeper for AMD GPU assembly: checks changed .s files against what their GPU demands.

    Exit code: 0 the gate passes, 1 it fails, 2 it could not do its work.
    """


def main() -> None:
    """Entry point of the console script. Its process ends without taking a large program apart object by object."""
    code = run(sys.argv[1:])
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:  # closed by the caller (>&-)
                stream.flush()
        except (OSError, ValueError):  # nobody reads any more: there is nowhere left to say so
            code = code or 2
    os._exit(code)


_COLLECT_AFTER = 1_000_000
"""New container objects between two runs of the garbage collector. A check makes millions that live until its end."""


def collect_garbage_seldom() -> None:
    """Let the objects of a check live without being looked at again and again."""
    gc.set_threshold(_COLLECT_AFTER, 50, 50)


_CANNOT_WRITE = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO))
"""Errors of a full or broken device. Those that name no file are standard output's."""


def run(arguments: list[str]) -> int:
    """Run the command line and give its exit code."""
    collect_garbage_seldom()
    try:
        result = cli.main(arguments, prog_name="asmevo-gate", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except GateError as error:
        click.echo(f"asmevo-gate: {error}", err=True)
    except click.exceptions.Exit as exit_request:
        return exit_request.exit_code
    except click.ClickException as error:
        error.show()
    except (KeyboardInterrupt, click.Abort):
        click.echo("asmevo-gate: interrupted; nothing was decided", err=True)
    except BrokenPipeError:
        sys.stderr.close()
    except Exception as error:
        if os.environ.get("ASMEVO_DEBUG"):
            raise
        if isinstance(error, OSError) and error.filename is None and error.errno in _CANNOT_WRITE:
            click.echo(f"asmevo-gate: the output cannot be written: {error.strerror}", err=True)
            return 2
        click.echo(
            f"asmevo-gate: internal error: {type(error).__name__}: {error}\n"
            "  this is a fault of the gate; run with ASMEVO_DEBUG=1 for the traceback, and report it",
            err=True,
        )
    return 2


if __name__ == "__main__":
    main()
