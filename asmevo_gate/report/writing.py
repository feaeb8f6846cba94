"""Reports into files: all are made before the first is written, and each appears whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from asmevo_gate.errors import UsageError
from asmevo_gate.file_writing import write_text
from asmevo_gate.report.formats import format_name, renderer

if TYPE_CHECKING:
    from asmevo_gate.gate.result import Report
    from asmevo_gate.report.context import RenderContext


class Output(msgspec.Struct, frozen=True):
    """A report to write: the format's name and the file."""

    format: str
    path: str


def parse_outputs(arguments: Iterable[str]) -> list[Output]:
    """``FORMAT=PATH`` arguments. Raises ``UsageError`` for another form, an unknown format or a file named
    twice."""
    outputs: list[Output] = []
    for argument in arguments:
        name, equals, path = argument.partition("=")
        if not equals or not path:
            raise UsageError(
                f"--output {argument!r} is not of the form FORMAT=PATH",
                "For example: --output junit=asmevo.xml",
            )
        if any(Path(path).resolve() == Path(other.path).resolve() for other in outputs):
            raise UsageError(f"two --output options write to {path}", "Give each format a file of its own.")
        outputs.append(Output(format_name(name), path))
    return outputs


def write_outputs(outputs: Iterable[Output], report: Report, context: RenderContext) -> None:
    """Renders every output, then writes each to its file, a Markdown page after the pictures beside it. Raises
    ``GateError`` when a file cannot be written."""
    rendered = [file for output in outputs for file in _files(output, report, context)]
    for path, text in rendered:
        write_text(path, text)


def _files(output: Output, report: Report, context: RenderContext) -> list[tuple[Path, str]]:
    path = Path(output.path)
    if output.format != "markdown":
        return [(path, renderer(output.format)(report, context))]
    from asmevo_gate.report.arrangement import arranged
    from asmevo_gate.report.picture_files import kernel_drawings, picture_directory, picture_files

    directory = picture_directory(path)
    drawings, _ = kernel_drawings(arranged(report, context.root), context)
    beside = msgspec.structs.replace(context, pictures_at=f"{quote(directory.name)}/")
    page = renderer(output.format)(report, beside)
    return [*((directory / name, svg) for name, svg in picture_files(drawings)), (path, page)]
