"""Which section statements go into: ``.text``, ``.section``, ``.pushsection``, ``.popsection``, ``.previous``."""

from __future__ import annotations

_NAMED = {".text", ".data", ".bss", ".rodata", ".tdata", ".tbss"}
DIRECTIVES = frozenset(_NAMED | {".section", ".pushsection", ".popsection", ".previous", ".hsatext"})
"""Directives that change the current section, in lower case."""

DATA_DIRECTIVES = frozenset(
    {
        ".long", ".quad", ".byte", ".short", ".word", ".int", ".hword", ".value", ".2byte", ".4byte", ".8byte",
        ".octa", ".float", ".single", ".double", ".ascii", ".asciz", ".string", ".fill", ".zero", ".space", ".skip",
        ".incbin", ".org", ".dc", ".dc.b", ".dc.w", ".dc.l", ".dcb", ".dcb.b", ".dcb.w", ".dcb.l", ".ds", ".ds.b",
        ".ds.w", ".ds.l", ".sleb128", ".uleb128",
    }
)  # fmt: skip
"""Directives that put bytes into the current section, in lower case."""


class SectionStack:
    """The current section, the one before it, and the sections pushed; the name only, without flags."""

    def __init__(self) -> None:
        self.current = ".text"
        self._previous = ".text"
        self._pushed: list[tuple[str, str]] = []
        self._executable: dict[str, bool] = {".hsatext": True}

    @property
    def is_code(self) -> bool:
        """True when the current section holds machine code: flag ``x``, or a name that ELF gives to code."""
        name = self.current
        return self._executable.get(name, name == ".text" or name.startswith((".text.", ".init", ".fini")))

    def apply(self, directive: str, rest: str) -> bool:
        """Follow a directive of :data:`DIRECTIVES`. False when it has nothing to go back to, or no section name."""
        if directive == ".popsection":
            if not self._pushed:
                return False
            self.current, self._previous = self._pushed.pop()
        elif directive == ".previous":
            self.current, self._previous = self._previous, self.current
        elif directive in (".section", ".pushsection"):
            if directive == ".pushsection":
                self._pushed.append((self.current, self._previous))
            name, _, flags = rest.partition(",")
            name = name.strip().strip('"')
            if not name:
                return False
            flags = flags.strip()
            if flags.startswith('"'):
                self._executable[name] = "x" in flags[1:].partition('"')[0]
            self._enter(name)
        else:
            self._enter(directive)
        return True

    def _enter(self, name: str) -> None:
        self._previous, self.current = self.current, name
