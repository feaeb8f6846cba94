"""``asmevo-gate rewrite``: changed kernels in, proved rewrites out: as a diff, in place, as patches or on a branch."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asmevo_gate.cli.model_options import asking_options, choice_options, model_proposer, running
from asmevo_gate.errors import GateError, UsageError
from asmevo_gate.file_writing import write_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asmevo_gate.changes.model import ChangeSet, Selection
    from asmevo_gate.changes.patch_series import Patch, Series
    from asmevo_gate.gate.result import Report, Rewrite, Unknown
    from asmevo_gate.gate.rewriting import FileRewrite
    from asmevo_gate.gate.run import Request


@click.command("rewrite")
@click.argument("paths", nargs=-1)
@click.option("--diff", "as_diff", is_flag=True, help="Print one unified diff and nothing else.")
@click.option("--write", is_flag=True, help="Write the rewritten files in place.")
@click.option("--patch", "patch_file", metavar="FILE", help="Write one unified diff to a file.")
@click.option("--format-patch", "patch_directory", metavar="DIR", help="Write one mail patch for each rewrite.")
@click.option("--branch", metavar="NAME", help="Commit the rewrites on a branch on top of HEAD, one commit each.")
@click.option("--gpu", "gpus", multiple=True, metavar="GPU", help="Rewrite for this GPU whatever the file says.")
@click.option("--rocm", metavar="VERSION", help="ROCm version whose constraint files hold.")
@click.option("-D", "--define", "defines", multiple=True, metavar="NAME=VALUE", help="Define an assembler symbol.")
@click.option("--no-mac-merge", is_flag=True, help="Keep a multiplication and an addition two instructions.")
@click.option("--waves", type=click.IntRange(1, 64), help="Waves on each SIMD to judge the cost for.")
@click.option("--seconds", type=click.FloatRange(0), default=300.0, show_default=True, help="Time for each file.")
@click.option(
    "--assemble/--no-assemble", default=True, show_default=True, help="Also assemble, when an assembler is at hand."
)
@click.option("--format", "format_", default="text", show_default=True, help="text, or a report format such as json.")
@click.option("--verbose", "-v", is_flag=True, help="Also list every rejected proposal.")
@choice_options
@asking_options
def command(
    paths: tuple[str, ...],
    as_diff: bool,
    write: bool,
    patch_file: str | None,
    patch_directory: str | None,
    branch: str | None,
    gpus: tuple[str, ...],
    rocm: str | None,
    defines: tuple[str, ...],
    no_mac_merge: bool,
    waves: int | None,
    seconds: float,
    assemble: bool,
    format_: str,
    verbose: bool,
    **asked: Any,
) -> int:
    """Improve kernels where it is proved safe: the staged changes (without arguments) or files.

    Without --write, --patch, --format-patch or --branch nothing is changed; the rewrites are shown as a diff.
    """
    from asmevo_gate.cli.checking import definition
    from asmevo_gate.gate.project_files import read_project_files
    from asmevo_gate.gate.rewriting import rewrite_changes
    from asmevo_gate.gate.run import Request
    from asmevo_gate.gate.settings import load_settings
    from asmevo_gate.rewrite.proposal import RewriteOptions
    from asmevo_gate.rewrite.proposers import deterministic_proposers

    here = Path.cwd()
    settings = load_settings(here)
    hook = os.environ.get("PRE_COMMIT") == "1"  # pre-commit sets this for every hook
    request = Request(
        gpus=gpus,
        rocm=rocm or settings.rocm,
        named=bool(paths) and not hook,
        defines=tuple(definition(text) for text in defines),
        assemble=assemble,
        constraints=read_project_files(settings, None, None).constraints,
    )
    options = RewriteOptions(mac_merge=not no_mac_merge, waves=waves, seconds=seconds)
    model = model_proposer(asked, "asmevo-gate")
    with _changes(paths, here, settings.selection) as changes:
        with running(model) as added:
            proposers = (*deterministic_proposers(options), *added)
            files, skipped = rewrite_changes(changes, settings, request, options, proposers)
        root = Path(changes.root)
        if write:
            _write(files, root)
        if patch_file is not None:
            write_bytes(Path(patch_file), "".join(one.patch for one in files).encode("utf-8"))
        if patch_directory is not None or branch is not None:
            _commit(files, here, patch_directory, branch)
        if format_ == "text":
            _show(files, skipped, as_diff, write, verbose)
        else:
            _render(report_of(files, skipped, request), changes, format_, verbose)
    return 0


def _changes(paths: tuple[str, ...], here: Path, selection: Selection) -> ChangeSet:
    from asmevo_gate.changes import named_files, staged_changes

    if "-" in paths:
        raise UsageError("standard input cannot be rewritten", "name files; asm-evo-skill writes to another file")
    return named_files(paths, here, selection) if paths else staged_changes(here, selection)


def _write(files: tuple[FileRewrite, ...], root: Path) -> None:
    for one in files:
        if one.after == one.before:
            continue
        path = root / one.path
        try:
            if path.is_symlink() or path.read_bytes() != one.before.encode("utf-8"):
                raise GateError(
                    "the file in the work tree is not the one that was rewritten",
                    "stage its changes or put them aside, or name the file",
                    one.path,
                )
        except OSError as error:
            raise GateError(f"cannot read: {error.strerror}", "check the file's permissions", one.path) from error
        write_bytes(path, one.after.encode("utf-8"))


def _commit(files: tuple[FileRewrite, ...], here: Path, directory: str | None, branch: str | None) -> None:
    from asmevo_gate.changes.patch_series import commit_patches, set_branch
    from asmevo_gate.gate.rewriting import patches_of

    patches: list[Patch] = [patch for one in files for patch in patches_of(one)]
    if not patches:
        click.echo("no rewrite was accepted: no patch, no branch", err=True)
        return
    series = commit_patches(here, "HEAD", patches)
    if series.left_out:
        raise GateError(
            f"{len(series.left_out)} rewrites do not apply on top of HEAD",
            "commit the changes of these files first; patches and branches start at HEAD",
        )
    if directory is not None:
        _write_mails(series, Path(directory))
    if branch is not None:
        set_branch(here, series.tip, branch)
        click.echo(f"{len(series.files)} commits on branch {branch}", err=True)


def _write_mails(series: Series, directory: Path) -> None:
    for number, mail in enumerate(series.files, 1):
        subject = re.search(r"^Subject: (?:\[PATCH[^\]]*\] )?(.*)$", mail, re.M)
        words = re.sub(r"[^A-Za-z0-9.]+", "-", subject[1] if subject else "rewrite").strip("-.")[:52]
        write_bytes(directory / f"{number:04}-{words}.patch", mail.encode("utf-8", "surrogateescape"))


def _show(
    files: tuple[FileRewrite, ...], skipped: tuple[Unknown, ...], as_diff: bool, write: bool, verbose: bool
) -> None:
    for one in files:
        if not write and one.patch:
            click.echo(one.patch, nl=False)
    if as_diff:
        return
    for one in files:
        for line in _lines(one, write, verbose):
            click.echo(line)
    if verbose:
        for left_out in skipped:
            click.echo(f"{left_out.file}: skipped: {left_out.reason}")


def _lines(one: FileRewrite, write: bool, verbose: bool) -> Iterator[str]:
    accepted = [rewrite for rewrite in one.rewrites if rewrite.state == "accepted"]
    rejected = [rewrite for rewrite in one.rewrites if rewrite.state == "rejected"]
    for rewrite in accepted:
        yield f"{one.path}: {rewrite.kernel}: {rewrite.region}: accepted ({rewrite.class_}): {rewrite.reason}"
        yield f"    {rewrite.proof}; {_numbers(rewrite)}"
    for rewrite in rejected if verbose else ():
        yield f"{one.path}: {rewrite.kernel}: {rewrite.region}: rejected ({rewrite.class_}): {rewrite.reason}"
    for advice in one.advice:
        yield f"{one.path}: {advice}"
    regions = f" of {one.runs[0].regions} regions" if one.runs else ""
    written = ", written" if write and accepted else ""
    yield f"{one.path}: {len(accepted)}{regions} rewritten, {len(rejected)} proposals rejected{written}"


def _numbers(rewrite: Rewrite) -> str:
    found = rewrite.metrics
    return (
        f"cycles {found['cycles_before']:g} -> {found['cycles_after']:g} ({found['gain_percent']:g} % fewer), "
        f"instructions {found['instructions_before']:g} -> {found['instructions_after']:g}, "
        f"live VGPRs {found['vgprs_live_before']:g} -> {found['vgprs_live_after']:g}"
    )


def report_of(files: tuple[FileRewrite, ...], skipped: tuple[Unknown, ...], request: Request) -> Report:
    """The rewrites as a report; what is not rewritten does not decide a verdict."""
    import shlex
    import sys

    from asmevo_gate import __version__
    from asmevo_gate.gate.data_version import data_version
    from asmevo_gate.gate.result import Coverage, Report, Tool

    functions = [function for one in files if one.runs for function in one.runs[0].program.functions]
    instructions = [instruction for function in functions for instruction in function.instructions]
    return Report(
        tool=Tool("asmevo-gate", __version__, data_version()),
        verdict="pass",
        execution="complete",
        coverage=Coverage(len(instructions), sum(1 for one in instructions if one.decoded is not None)),
        rewrites=tuple(rewrite for one in files for rewrite in one.rewrites),
        skipped=skipped,
        command=request.command or shlex.join(["asmevo-gate", *sys.argv[1:]]),
    )


def _render(report: Report, changes: ChangeSet, format_: str, verbose: bool) -> None:
    from asmevo_gate.cli.checking import render_context
    from asmevo_gate.report.formats import format_name, renderer

    click.echo(renderer(format_name(format_))(report, render_context(report, changes, None, verbose)), nl=False)
