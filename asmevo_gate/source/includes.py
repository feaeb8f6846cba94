"""Finding and reading included files, never outside the repository."""

from __future__ import annotations

import posixpath
from pathlib import Path

from asmevo_gate.errors import LimitError
from asmevo_gate.source.options import SourceOptions


class IncludeRefusedError(Exception):
    """The file is not read; the message says why."""


class IncludeReader:
    """Reads the files that ``.include`` names and counts their characters."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._characters = 0

    def read(self, name: str, including: str) -> tuple[str, str]:
        """Path (relative to the root) and text of the included file.

        Searched in the directory of the including file, in the include paths, and in the root.

        Raises:
            IncludeRefusedError: there is no such file, or it is outside the repository.
            LimitError: the included files together pass ``text_characters``.
        """
        if self._options.root is None and self._options.read is None:
            raise IncludeRefusedError("the repository root is not known, so no file is included")
        if not name or "\0" in name:
            raise IncludeRefusedError("the name of the included file is empty or holds a NUL character")
        outside = False
        directories = [posixpath.dirname(including), *self._options.include_paths, ""]
        if name.startswith("/"):
            outside, directories = True, []
        for directory in directories:
            path = posixpath.normpath(posixpath.join(directory, name))
            if path.startswith(("../", "/")) or path == "..":
                outside = True
                continue
            text = self._text(path)
            if text is not None:
                self._characters += len(text)
                limit = self._options.limits.text_characters
                if self._characters > limit:
                    raise LimitError(
                        f"included files have more than {limit} characters together (limit text_characters)", file=path
                    )
                return path, text
        if outside:
            raise IncludeRefusedError(f"'{name}' is outside the repository")
        raise IncludeRefusedError(f"there is no file '{name}' in the include paths")

    def _text(self, path: str) -> str | None:
        if self._options.read is not None:
            return self._options.read(path)
        assert self._options.root is not None
        root = Path(self._options.root).resolve()
        try:
            file = (root / path).resolve()
        except (OSError, RuntimeError) as error:
            raise IncludeRefusedError(f"'{path}' cannot be followed: {error}") from error
        if not file.is_relative_to(root):
            raise IncludeRefusedError(f"'{path}' leads outside the repository through a symbolic link")
        if not file.is_file():
            return None
        limit = self._options.limits.text_characters
        if file.stat().st_size > 4 * limit:
            raise LimitError(f"the included file has more than {limit} characters (limit text_characters)", file=path)
        try:
            with file.open(encoding="utf-8", newline="") as stream:
                text = stream.read(limit + 1)
        except UnicodeDecodeError as error:
            raise IncludeRefusedError(f"'{path}' is not UTF-8 text") from error
        except OSError as error:
            raise IncludeRefusedError(f"'{path}' cannot be read: {error.strerror}") from error
        return text
