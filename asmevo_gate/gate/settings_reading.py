"""A settings document -> :class:`Settings`. Every mistake is an error that says what to write instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import cast

from asmevo_gate.changes.model import Selection
from asmevo_gate.errors import UsageError
from asmevo_gate.gate.settings import FailOn, Settings, Severity, TargetSettings, Variant, suggestion
from asmevo_gate.gate.settings_document import Document, Value
from asmevo_gate.verify.thresholds import Thresholds

_TOP = (
    "assembly", "ignore", "gpus", "rocm", "wave_size", "defines", "include", "targets", "severities",
    "fail_on", "allow_not_checked", "baseline", "profiles", "constraints", "reports", "limits",
    "hardware",
)  # fmt: skip
_TARGET = ("paths", "gpus", "defines", "include", "wave_size", "variants")
_VARIANT = ("name", "gpus", "defines", "wave_size")
_LIMITS = ("max_file_bytes", "max_total_bytes")

_GPU = re.compile(r"gfx[0-9a-f]+(?::[a-z]+[+-])*")
_ROCM = re.compile(r"\d+\.\d+(?:\.\d+)?")
_SYMBOL = re.compile(r"[A-Za-z_.$][\w.$]*")

Key = tuple[str, ...]


def read_settings(document: Document, root: Path) -> Settings:
    """The settings that a document holds.

    Raises:
        UsageError: a key is unknown or a value is not what it must be; with file, line, key and advice.
    """
    return _Reading(document).settings(root)


class _Reading:
    """One document being read; every method takes a value and the key that leads to it."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._lines: dict[Key, int] = {}

    def settings(self, root: Path) -> Settings:
        top = self._mapping(self._document.value, (), _TOP)
        default = self._default_target(top)
        severities, disabled = self._severities(top)
        baseline = self._path(top["baseline"], ("baseline",)) if "baseline" in top else None
        fail_on = (
            self._choice(top["fail_on"], ("fail_on",), "error", "warning", "info", "never")
            if "fail_on" in top
            else "error"
        )
        return Settings(
            root=root,
            file=self._document.file,
            directory=self._document.directory,
            selection=self._selection(top),
            default=default,
            targets=self._targets(top, default),
            rocm=self._rocm(top["rocm"]) if "rocm" in top else None,
            severities=severities,
            disabled=disabled,
            fail_on=cast("FailOn", fail_on),
            allow_not_checked=self._flag(top, "allow_not_checked"),
            baseline=root / baseline if baseline is not None else None,
            profiles=self._texts(top, ("profiles",)),
            constraints=self._paths(top, ("constraints",)),
            reports=self._reports(top),
            hardware=self._hardware(top),
            lines=self._lines,
        )

    # Parts of the document

    def _selection(self, top: Mapping[str, Value]) -> Selection:
        limits = self._mapping(top["limits"], ("limits",), _LIMITS) if "limits" in top else {}
        sizes = {name: self._integer(value, ("limits", name), least=1) for name, value in limits.items()}
        standard = Selection()
        return Selection(
            assembly=self._globs(top, "assembly", standard.assembly, empty_allowed=False),
            ignore=self._globs(top, "ignore", standard.ignore),
            max_file_bytes=sizes.get("max_file_bytes", standard.max_file_bytes),
            max_total_bytes=sizes.get("max_total_bytes", standard.max_total_bytes),
        )

    def _hardware(self, top: Mapping[str, Value]) -> Thresholds:
        entries = self._mapping(top["hardware"], ("hardware",), Thresholds._fields) if "hardware" in top else {}
        return Thresholds()._replace(
            **{name: self._percent(value, ("hardware", name)) for name, value in entries.items()}
        )

    def _percent(self, value: Value, key: Key) -> float:
        number = value.content
        if isinstance(number, bool) or not isinstance(number, int | float) or not -1000 <= number <= 1000:
            raise self._wrong(value, key, "is no number from -1000 to 1000", "percent, for example 5")
        return float(number)

    def _globs(
        self, top: Mapping[str, Value], name: str, standard: tuple[str, ...], *, empty_allowed: bool = True
    ) -> tuple[str, ...]:
        if name not in top:
            return standard
        globs = self._texts(top, (name,), empty_allowed=empty_allowed)
        return tuple(self._from_root(glob) for glob in globs)

    def _default_target(self, top: Mapping[str, Value]) -> TargetSettings:
        return TargetSettings(
            gpus=self._gpus(top, ()),
            defines=self._defines(top, ()),
            include=self._paths(top, ("include",)),
            wave_size=self._wave_size(top, ()),
        )

    def _targets(self, top: Mapping[str, Value], default: TargetSettings) -> tuple[TargetSettings, ...]:
        if "targets" not in top:
            return ()
        items = self._list(top["targets"], ("targets",))
        return tuple(self._target(item, ("targets", str(at)), default) for at, item in enumerate(items))

    def _target(self, value: Value, key: Key, default: TargetSettings) -> TargetSettings:
        entry = self._mapping(value, key, _TARGET)
        if "paths" not in entry:
            raise self._wrong(value, key, "has no 'paths'", 'for example paths: "kernels/**"')
        return TargetSettings(
            paths=self._texts(entry, (*key, "paths"), empty_allowed=False),
            gpus=self._gpus(entry, key) or default.gpus,
            defines={**default.defines, **self._defines(entry, key)},
            include=(*self._paths(entry, (*key, "include")), *default.include),
            wave_size=self._wave_size(entry, key) or default.wave_size,
            variants=self._variants(entry, (*key, "variants")),
        )

    def _variants(self, entry: Mapping[str, Value], key: Key) -> tuple[Variant, ...]:
        found: dict[str, Variant] = {}
        for at, value in enumerate(self._list(entry["variants"], key) if "variants" in entry else ()):
            here = (*key, str(at))
            variant = self._mapping(value, here, _VARIANT)
            if "name" not in variant:
                raise self._wrong(value, here, "has no 'name'", "give each variant a name for the reports")
            name = self._text(variant["name"], (*here, "name"))
            if name in found:
                raise self._wrong(value, here, f"has the name '{name}' of another variant", "rename it")
            found[name] = Variant(
                name, self._gpus(variant, here), self._defines(variant, here), self._wave_size(variant, here)
            )
        return tuple(found.values())

    def _severities(self, top: Mapping[str, Value]) -> tuple[dict[str, Severity], frozenset[str]]:
        chosen = self._mapping(top["severities"], ("severities",)) if "severities" in top else {}
        read = {
            rule: self._choice(value, ("severities", rule), "error", "warning", "info", "off")
            for rule, value in chosen.items()
        }
        severities = {rule: cast("Severity", value) for rule, value in read.items() if value != "off"}
        return severities, frozenset(rule for rule, value in read.items() if value == "off")

    def _reports(self, top: Mapping[str, Value]) -> dict[str, str]:
        chosen = self._mapping(top["reports"], ("reports",)) if "reports" in top else {}
        return {name.replace("-", "_"): self._path(value, ("reports", name)) for name, value in chosen.items()}

    def _gpus(self, entry: Mapping[str, Value], key: Key) -> tuple[str, ...]:
        names = self._texts(entry, (*key, "gpus"))
        for name in names:
            if not _GPU.fullmatch(name):
                advice = "write it as gfx942 or gfx90a:xnack-"
                raise self._wrong(entry["gpus"], (*key, "gpus"), f"'{name}' is no GPU", advice)
        return names

    def _defines(self, entry: Mapping[str, Value], key: Key) -> dict[str, int]:
        if "defines" not in entry:
            return {}
        here = (*key, "defines")
        found: dict[str, int] = {}
        for name, value in self._mapping(entry["defines"], here).items():
            if not _SYMBOL.fullmatch(name):
                advice = "use letters, digits, _ . and $"
                raise self._wrong(value, (*here, name), "is no assembler symbol", advice)
            found[name] = self._integer(value, (*here, name))
        return found

    def _wave_size(self, entry: Mapping[str, Value], key: Key) -> int | None:
        if "wave_size" not in entry:
            return None
        size = self._integer(entry["wave_size"], (*key, "wave_size"))
        if size not in (32, 64):
            advice = "a wavefront has 32 or 64 lanes"
            raise self._wrong(entry["wave_size"], (*key, "wave_size"), f"is {size}", advice)
        return size

    def _rocm(self, value: Value) -> str:
        if isinstance(value.content, (int, float)) and not isinstance(value.content, bool):
            advice = f'put it in quotes: "{value.text}"'
            raise self._wrong(value, ("rocm",), f"is {_kind(value)}, not a version", advice)
        version = self._text(value, ("rocm",))
        if not _ROCM.fullmatch(version):
            raise self._wrong(value, ("rocm",), f"'{version}' is no ROCm version", 'for example "6.1.3"')
        return version

    # Values of one kind

    def _mapping(self, value: Value, key: Key, known: tuple[str, ...] | None = None) -> dict[str, Value]:
        if not isinstance(value.content, dict):
            raise self._wrong(value, key, f"is {_kind(value)}, not a table of keys and values", "")
        for name, inner in value.content.items():
            here = (*key, name)
            if inner.line is not None:
                self._lines[here] = inner.line
            if known is not None and name not in known:
                raise UsageError(
                    f"unknown key '{_dotted(here)}'", suggestion(name, known), self._document.file, inner.line
                )
        if key and value.line is not None:
            self._lines.setdefault(key, value.line)
        return value.content

    def _list(self, value: Value, key: Key) -> list[Value]:
        if not isinstance(value.content, list):
            raise self._wrong(value, key, f"is {_kind(value)}, not a list", "")
        return value.content

    def _texts(self, entry: Mapping[str, Value], key: Key, *, empty_allowed: bool = True) -> tuple[str, ...]:
        """A list of texts; a single text stands for a list of one."""
        if key[-1] not in entry:
            return ()
        value = entry[key[-1]]
        items = value.content if isinstance(value.content, list) else [value]
        if not items and not empty_allowed:
            raise self._wrong(value, key, "is empty", "name at least one")
        return tuple(self._text(item, key) for item in items)

    def _paths(self, entry: Mapping[str, Value], key: Key) -> tuple[str, ...]:
        if key[-1] not in entry:
            return ()
        value = entry[key[-1]]
        items = value.content if isinstance(value.content, list) else [value]
        return tuple(self._path(item, key) for item in items)

    def _text(self, value: Value, key: Key) -> str:
        if not isinstance(value.content, str):
            advice = f'put it in quotes: "{value.text}"' if value.text else ""
            raise self._wrong(value, key, f"is {_kind(value)}, not text", advice)
        if not value.content.strip() or "\0" in value.content:
            raise self._wrong(value, key, "is empty", "leave the key out, or give it a value")
        return value.content

    def _path(self, value: Value, key: Key) -> str:
        """A path from the root. It must stay in the repository: settings come with a change that is under
        test."""
        text = self._text(value, key)
        path = PurePosixPath(text.replace("\\", "/"))
        parts: list[str] = []
        for part in (*PurePosixPath(self._document.directory).parts, *path.parts):
            if part != "..":
                parts.append(part)
            elif not parts:
                raise self._wrong(value, key, f"'{text}' leads out of the repository", "use a path inside it")
            else:
                parts.pop()
        if path.is_absolute() or re.match(r"[A-Za-z]:", text):
            raise self._wrong(value, key, f"'{text}' is an absolute path", "use a path inside the repository")
        return "/".join(parts) or "."

    def _integer(self, value: Value, key: Key, least: int | None = None) -> int:
        if isinstance(value.content, bool) or not isinstance(value.content, int):
            raise self._wrong(value, key, f"is {_kind(value)}, not an integer", "for example 16 or 0x10")
        if least is not None and value.content < least:
            raise self._wrong(value, key, f"is {value.content}", f"it must be at least {least}")
        return value.content

    def _flag(self, top: Mapping[str, Value], name: str) -> bool:
        value = top.get(name)
        if value is None:
            return False
        if not isinstance(value.content, bool):
            raise self._wrong(value, (name,), f"is {_kind(value)}, not true or false", "")
        return value.content

    def _choice(self, value: Value, key: Key, *allowed: str) -> str:
        if isinstance(value.content, bool) and value.text in allowed:
            advice = f'put it in quotes: "{value.text}"'
            raise self._wrong(value, key, f"is read as {_kind(value)} here, not as text", advice)
        text = self._text(value, key)
        if text not in allowed:
            what = f"is '{text}', not one of {', '.join(allowed)}"
            raise self._wrong(value, key, what, suggestion(text, allowed))
        return text

    def _from_root(self, glob: str) -> str:
        """A glob of this document as one that counts from the root."""
        directory = self._document.directory
        if not directory:
            return glob
        return f"{directory}/{glob.lstrip('/')}" if "/" in glob.rstrip("/") else f"{directory}/**/{glob}"

    def _wrong(self, value: Value, key: Key, what: str, advice: str) -> UsageError:
        name = _dotted(key)
        message = f"{name} {what}" if name else f"the settings: this {what}"
        return UsageError(message, advice, self._document.file, value.line)


def _dotted(key: Key) -> str:
    text = ""
    for part in key:
        text += f"[{part}]" if part.isdigit() else f".{part}" if text else part
    return text


def _kind(value: Value) -> str:
    content = value.content
    if content is None:
        return "empty"
    if isinstance(content, bool):
        return f"the boolean {'true' if content else 'false'}"
    if isinstance(content, (int, float)):
        return f"the number {content}"
    if isinstance(content, list):
        return "a list"
    return "a table" if isinstance(content, dict) else "text"
