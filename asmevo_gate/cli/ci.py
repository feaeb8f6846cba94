"""``asmevo-gate ci``: a CI job in, reports, notes and a verdict out."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import click
import msgspec

from asmevo_gate.cli.execution_options import ExecutionOptions, execution_options
from asmevo_gate.errors import GateError, UsageError

if TYPE_CHECKING:
    from asmevo_gate.changes.model import Change, ChangeSet
    from asmevo_gate.changes.patch_series import Series
    from asmevo_gate.cli.checking import Checked, Options
    from asmevo_gate.forge.comparison import Comparison
    from asmevo_gate.forge.job import Job
    from asmevo_gate.forge.publication import Posting, What
    from asmevo_gate.forge.suggestion import Suggestion
    from asmevo_gate.gate.result import Report
    from asmevo_gate.gate.settings import Settings
    from asmevo_gate.report.context import RenderContext


@click.command("ci")
@click.option("--base", metavar="REV", help="Compare with the merge base of REV and head (default: as the job says).")
@click.option("--head", metavar="REV", help="The commit to check (default: what is checked out).")
@click.option(
    "--reports",
    default="asmevo-reports",
    show_default=True,
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory for the reports in every format.",
)
@click.option("--gpu", "gpus", multiple=True, metavar="GPU", help="Check for this GPU whatever the file says.")
@click.option("--rocm", metavar="VERSION", help="ROCm version whose constraint files hold.")
@click.option("-D", "--define", "defines", multiple=True, metavar="NAME=VALUE", help="Define an assembler symbol.")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "info", "never"]),
    help="Least severity that fails the gate.",
)
@click.option("--baseline", metavar="FILE", help="Known findings that do not fail the gate (path from the root).")
@click.option("--allow-not-checked", is_flag=True, help="Exit 0 also when part of the code could not be modelled.")
@click.option("--assemble/--no-assemble", default=True, help="Also assemble each file, where an assembler is at hand.")
@execution_options
@click.option("--rewrite", is_flag=True, help="Also look for rewrites of the changed files that are proved equal.")
@click.option(
    "--trust-head-config",
    is_flag=True,
    help="Read settings, baseline and constraint files from head, not from the target branch.",
)
@click.option(
    "--post",
    type=click.Choice(["off", "note", "suggestions"]),
    default="off",
    show_default=True,
    help="What to post on the merge request.",
)
@click.option("--max-suggestions", type=click.IntRange(0, 50), default=5, show_default=True, metavar="N")
@click.option("--name", default="", metavar="NAME", help="Tell this gate from others on the same merge request.")
@click.option(
    "--pictures-at",
    metavar="ADDRESS",
    help="Web address at which readers find the directory of --reports: notes then show pictures (else text).",
)
@click.option("--suggestion-branch", metavar="NAME", help="Push the suggestions as commits to this branch (asmevo/*).")
@click.option("--dry-run", is_flag=True, help="Print what would be posted and pushed; nothing is.")
@click.option("--strict-posting", is_flag=True, help="Exit 2 when posting fails (else it is only reported).")
@click.option("--verbose", "-v", is_flag=True, help="Show the numbers also when the gate passes.")
def command(
    base: str | None,
    head: str | None,
    reports: Path,
    gpus: tuple[str, ...],
    rocm: str | None,
    defines: tuple[str, ...],
    fail_on: str | None,
    baseline: str | None,
    allow_not_checked: bool,
    assemble: bool,
    jobs: int | None,
    executor: str | None,
    cache: bool,
    shard: str | None,
    time_limit: float | None,
    rewrite: bool,
    trust_head_config: bool,
    post: str,
    max_suggestions: int,
    name: str,
    pictures_at: str | None,
    suggestion_branch: str | None,
    dry_run: bool,
    strict_posting: bool,
    verbose: bool,
) -> int:
    """Check the change of a CI job (GitLab, GitHub, Jenkins): write all reports, post on the merge request, decide."""
    from asmevo_gate.cli.checking import Options
    from asmevo_gate.forge.comparison import checked_commit, find_comparison
    from asmevo_gate.forge.publication import Posting, checked_name, publish, publish_failure
    from asmevo_gate.gate.verdict import exit_code
    from asmevo_gate.report.directory import clear_directory, pictures_address

    if shard and (post != "off" or suggestion_branch):
        raise UsageError("a part of a run posts nothing", "leave --post off, and merge the reports of all parts")
    here = Path.cwd()
    at = pictures_address(pictures_at) if pictures_at else ""
    clear_directory(reports)
    job = _job(base)
    compared = checked_commit(here, head, _say)
    options = Options(
        gpus, rocm, defines, fail_on, baseline, assemble,
        ExecutionOptions(jobs, executor, cache, shard, time_limit),
    )  # fmt: skip
    posting = Posting(cast("What", post), max_suggestions, dry_run, checked_name(name))
    try:
        compared = find_comparison(here, job, base, head, _say)
        run = _check(here, job, compared, options, trust_head_config, rewrite, max_suggestions, verbose)
        run = run._replace(context=msgspec.structs.replace(run.context, pictures_at=at))
        _write_reports(run, job, compared, here, reports)
    except Exception as error:
        message = str(error) if isinstance(error, GateError) else f"internal error: {type(error).__name__}"
        _posted(job, posting, lambda job: publish_failure(posting, job, compared, message, _say))
        raise
    report = run.checked.report
    code = exit_code(report.verdict, report.execution, allow_not_checked or run.settings.allow_not_checked)
    if suggestion_branch and run.series.files:
        _push(here, run, suggestion_branch, dry_run)
    said = _posted(
        job,
        posting,
        lambda job: publish(posting, job, compared, here, report, run.context, run.suggestions, run.old_paths, _say),
    )
    return 2 if strict_posting and not said else code


def _job(base: str | None) -> Job | None:
    """The CI job. A base that the user names does for a job that has none."""
    from asmevo_gate.forge.job import detect_job

    try:
        return detect_job(os.environ)
    except UsageError:
        if base is None:
            raise
        return None


class _Run(NamedTuple):
    """A finished check and what is made of it."""

    checked: Checked
    settings: Settings
    context: RenderContext
    suggestions: list[Suggestion]
    series: Series
    old_paths: dict[str, str]


def _check(
    here: Path,
    job: Job | None,
    compared: Comparison,
    options: Options,
    trust_head: bool,
    rewrite: bool,
    most: int,
    verbose: bool,
) -> _Run:
    from asmevo_gate.changes import range_changes
    from asmevo_gate.changes.revision_files import RevisionFiles
    from asmevo_gate.cli.checking import Pictures, render_context, run_check
    from asmevo_gate.forge.suggestion import suggestions_of
    from asmevo_gate.gate.repairs import tried_repairs
    from asmevo_gate.gate.settings import load_settings

    with RevisionFiles(here, compared.head if trust_head else compared.settings) as files:
        settings = load_settings(here, files.read, files.root)
        with range_changes(here, compared.base, compared.head, settings.selection, merge_base=False) as changes:
            command = shlex.join(["asmevo-gate", "check", "--base", compared.base, "--head", compared.head])
            pictures = Pictures(wanted=True)
            checked = run_check(changes, settings, options, read=files.read, command=command, pictures=pictures)
            if rewrite:
                checked = checked._replace(report=_rewritten(checked, changes, settings))
            report, request, named = checked
            repairs = tried_repairs(report, changes, settings, request, named.baseline, most)
            texts = {change.path: text for change in changes.changes if (text := _text(change)) is not None}
            suggestions, problems = suggestions_of(report, repairs, texts)
            for problem in problems:
                _say(problem)
            context = render_context(report, changes, request.fail_on, verbose, pictures.drawn)
            address = job.address if job else ""
            old_paths = {change.path: change.old_path for change in changes.changes if change.old_path}
    series = _series(here, job, compared, suggestions)
    return _Run(
        checked, settings, msgspec.structs.replace(context, full_report=address), suggestions, series, old_paths
    )


def _rewritten(checked: Checked, changes: ChangeSet, settings: Settings) -> Report:
    """The report with the rewrites of the changed files."""
    import msgspec

    from asmevo_gate.gate.rewriting import rewrite_changes
    from asmevo_gate.rewrite.proposal import RewriteOptions
    from asmevo_gate.rewrite.proposers import deterministic_proposers

    wanted = RewriteOptions()
    files, _ = rewrite_changes(changes, settings, checked.request, wanted, deterministic_proposers(wanted))
    rewrites = tuple(one for file in files for one in file.rewrites)
    return msgspec.structs.replace(checked.report, rewrites=rewrites)


def _text(change: Change) -> str | None:
    try:
        return change.head.data.decode("utf-8") if change.head else None
    except UnicodeDecodeError:
        return None


def _series(here: Path, job: Job | None, compared: Comparison, suggestions: list[Suggestion]) -> Series:
    """The suggestions as commits on the last commit of the merge request."""
    from asmevo_gate.changes.deepening import History
    from asmevo_gate.changes.patch_series import commit_patches

    tip = job.request.head if job and job.request else None
    if tip is None or not History(here).has(tip):
        tip = compared.head
    series = commit_patches(here, tip, [suggestion.commit() for suggestion in suggestions])
    for title in series.left_out:
        _say(f"no patch: it does not apply on top of the others: {title}")
    return series


def _write_reports(run: _Run, job: Job | None, compared: Comparison, here: Path, directory: Path) -> None:
    from asmevo_gate.cli.checking import settings_outputs
    from asmevo_gate.report.directory import directory_outputs, refuse_links, write_patches
    from asmevo_gate.report.formats import renderer
    from asmevo_gate.report.picture_files import picture_directory
    from asmevo_gate.report.writing import write_outputs

    report, context = run.checked.report, run.context
    outputs = directory_outputs(directory)
    besides = settings_outputs(run.settings)
    for output in besides:
        refuse_links(Path(output.path), run.settings.root)
        refuse_links(picture_directory(Path(output.path)), run.settings.root)
    write_outputs([*outputs, *besides], report, context)
    write_patches(directory, run.series.files)
    click.echo(renderer("terminal")(report, context), nl=False)
    if job is not None and job.system == "github":
        click.echo(renderer("github")(report, context), nl=False)
        if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
            _append(Path(summary), renderer("github_summary")(report, context))


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise GateError(f"the step summary cannot be written: {error.strerror}", file=str(path)) from error


def _push(here: Path, run: _Run, branch: str, dry_run: bool) -> None:
    from asmevo_gate.changes.patch_series import push_branch

    commits = f"{len(run.series.files)} commits with suggestions"
    if dry_run:
        _say(f"would push {commits} to {branch}")
        return
    try:
        push_branch(here, run.series.tip, branch)
    except UsageError:
        raise
    except GateError as error:
        _say(str(error))
    else:
        _say(f"pushed {commits} to {branch}")


def _posted(job: Job | None, posting: Posting, post: Callable[[Job], None]) -> bool:
    """Whether what was to be posted is posted. A failure is reported and decides nothing here."""
    if posting.what == "off":
        return True
    if job is None:
        _say("nothing is posted: this is no CI job")
        return False
    try:
        post(job)
    except GateError as error:
        _say(f"posting failed: {error}")
        return False
    except Exception as error:
        if os.environ.get("ASMEVO_DEBUG"):
            raise
        _say(f"posting failed: internal error: {type(error).__name__} (ASMEVO_DEBUG=1 shows where)")
        return False
    return True


def _say(line: str) -> None:
    """One remark beside the report, on standard error. A log of GitHub obeys lines that begin with ``::``."""
    from asmevo_gate.report.text import visible

    first, *rest = line.rstrip("\n").split("\n")
    click.echo(f"asmevo-gate: {visible(first)}", err=True)
    for part in rest:
        click.echo(f"  | {visible(part)}", err=True)
