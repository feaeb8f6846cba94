"""Reports into files: all are made before the first is written, and each appears whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from asmevo_gate.errors import GateError, UsageError
from asmevo_gate.report.formats import format_name, renderer

if TYPE_CHECKING:
    from asmevo_gate.gate.result import Report
    from asmevo_gate.report.context import RenderContext


class Output(NamedTuple):
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
    """Renders every output, then writes each to its file. Raises ``GateError`` when a file cannot be
    written."""
    rendered = [(output, renderer(output.format)(report, context)) for output in outputs]
    for output, text in rendered:
        write_text(Path(output.path), text)


def write_text(path: Path, text: str) -> None:
    """Writes UTF-8 with Unix line ends, as :func:`write_bytes`."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file through a temporary file beside ``path`` that then takes its name.

    Missing folders are made. A reader sees the old file or the new one, never a part. Raises ``GateError``.
    """
    temporary = path.with_name(f".{path.name[:100]}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(21, "it is a folder", str(path))
        try:
            # Not a NamedTemporaryFile: a CI runner under another user must be able to read the report.
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise GateError(
            f"cannot write the report: {reason}",
            "Check the folder's permissions and free space.",
            file=str(path),
        ) from error
