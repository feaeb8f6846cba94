"""Files that are written whole or not at all: whatever goes to disk goes through here."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from asmevo_gate.errors import GateError


def write_text(path: Path, text: str) -> None:
    """Writes UTF-8 with Unix line ends, as :func:`write_bytes`; what is no Unicode is written as an escape."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file as :func:`replace_file`, and makes the folders that are missing.

    Raises:
        GateError: the file cannot be written; what was there before is still there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content)
    except OSError as error:
        raise GateError(
            f"cannot write {path}: {error.strerror or error}",
            "Check the folder's permissions and free space.",
            file=str(path),
        ) from error


def replace_file(path: Path, content: bytes, durable: bool = True) -> None:
    """Writes a file through a temporary file beside it that then takes its name.

    A reader sees the old file or the new one, never a part. A file that is replaced keeps its permissions. A symbolic
    link is replaced, not followed: a change under check may have brought it. A pipe or a device (``/dev/stdout``) is
    written to. Without ``durable`` a power failure may leave a torn file: for what carries its own checksum.

    Raises:
        OSError: the file cannot be written; what was there before is still there.
    """
    if path.is_dir():
        raise IsADirectoryError(21, "it is a folder", str(path))
    if _is_stream(path):
        with path.open("ab") as stream:
            stream.write(content)
        return
    temporary = path.with_name(f".{path.name[:100]}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        # Not a NamedTemporaryFile: a CI runner under another user must be able to read the file.
        with temporary.open("xb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        if path.is_file() and not path.is_symlink():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _is_stream(path: Path) -> bool:
    """Whether the name stands for an open stream or device, which no other file can take the place of."""
    if path.is_absolute() and path.parts[1] in ("dev", "proc"):
        return True
    return path.exists() and not path.is_symlink() and not path.is_file()
