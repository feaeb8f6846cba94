"""The formats by name. A renderer is imported when it is first used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asmevo_gate.gate.result import Report
    from asmevo_gate.report.context import RenderContext
import msgspec


class Format(msgspec.Struct, frozen=True):
    """A format: its module in this package, the function in it, and what it is for."""

    module: str
    function: str
    reader: str


FORMATS: dict[str, Format] = {
    "terminal": Format("terminal", "render", "people, on a terminal or in a log"),
    "json": Format("json", "render", "programs; schema asmevo-gate/report/1"),
    "html": Format("html", "render", "people, as one self-contained page with pictures"),
    "markdown": Format("markdown", "render", "a merge-request note"),
    "junit": Format("junit", "render", "Jenkins and other readers of JUnit XML"),
    "gitlab_junit": Format("junit", "render_gitlab", "GitLab artifacts:reports:junit, with links to files"),
    "sarif": Format("sarif", "render", "GitHub code scanning, Jenkins Warnings NG, editors"),
    "gitlab_code_quality": Format("gitlab_code_quality", "render", "GitLab artifacts:reports:codequality"),
    "gitlab_metrics": Format("gitlab_metrics", "render", "GitLab artifacts:reports:metrics"),
    "github": Format("github", "render", "GitHub annotations, on standard output of a step"),
    "github_summary": Format("github", "render_summary", "GITHUB_STEP_SUMMARY"),
}


def format_name(text: str) -> str:
    """The name in ``FORMATS`` that ``text`` means (``gitlab-metrics`` is ``gitlab_metrics``).

    Raises ``UsageError`` with the known names.
    """
    name = text.strip().lower().replace("-", "_")
    if name not in FORMATS:
        from asmevo_gate.errors import UsageError

        known = ", ".join(sorted(FORMATS))
        raise UsageError(f"unknown report format {text!r}", f"Use one of: {known}.")
    return name


def renderer(name: str) -> Callable[[Report, RenderContext], str]:
    """The ``render`` function of a format, by its name in ``FORMATS``."""
    entry = FORMATS[name]
    function: Callable[[Report, RenderContext], str] = getattr(
        import_module(f"asmevo_gate.report.{entry.module}"), entry.function
    )
    return function
