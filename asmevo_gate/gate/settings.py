"""The settings of a run: what they are, what holds for a file, and how to print them.

They stand in ``[tool.asmevo-gate]`` of ``pyproject.toml`` or in ``.asmevo-gate.yaml``; the nearest file wins as a
whole. ``settings.schema.json`` describes them for editors.

The classes are named tuples because every run of the hook imports them, also one that finds nothing to check.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from asmevo_gate.changes.model import Selection
from asmevo_gate.changes.patterns import patterns
from asmevo_gate.errors import UsageError
from asmevo_gate.gate.settings_document import Reader, disk_reader, find_document
from asmevo_gate.verify.thresholds import Thresholds

FailOn = Literal["error", "warning", "info", "never"]
# The severities of rules.rule, repeated because importing a rule costs the hook's start more than all
# settings do.
Severity = Literal["error", "warning", "info"]


class Variant(NamedTuple):
    """One more way in which a file is assembled. What it does not set is that of its target."""

    name: str
    gpus: tuple[str, ...] = ()
    defines: Mapping[str, int] = MappingProxyType({})
    wave_size: int | None = None


class TargetSettings(NamedTuple):
    """What holds for some files.

    ``gpus`` are for files that do not name their GPU themselves. ``defines`` are symbols as by
    ``-Wa,-defsym``. ``include`` are directories for ``.include``, from the root of the repository.
    ``wave_size`` is ``None`` where the GPU's default holds. Without ``variants`` a file is checked once for
    each GPU, with them once for each variant.
    """

    paths: tuple[str, ...] = ("**",)
    gpus: tuple[str, ...] = ()
    defines: Mapping[str, int] = MappingProxyType({})
    include: tuple[str, ...] = ()
    wave_size: int | None = None
    variants: tuple[Variant, ...] = ()


class Settings(NamedTuple):
    """All settings. Paths are given from ``root``; ``file`` says where they stand (``None``: defaults only).

    ``severities`` overrides severities by rule id; rules in ``disabled`` are not checked. ``profiles`` are
    house-style profiles to switch on, ``constraints`` further constraint files, ``reports`` files to write
    by format, ``hardware`` what measurements must show.
    """

    root: Path = Path()
    file: str | None = None
    directory: str = ""
    selection: Selection = Selection()
    default: TargetSettings = TargetSettings()
    targets: tuple[TargetSettings, ...] = ()
    rocm: str | None = None
    severities: Mapping[str, Severity] = MappingProxyType({})
    disabled: frozenset[str] = frozenset()
    fail_on: FailOn = "error"
    allow_not_checked: bool = False
    baseline: Path | None = None
    profiles: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    reports: Mapping[str, str] = MappingProxyType({})
    hardware: Thresholds = Thresholds()
    lines: Mapping[tuple[str, ...], int] = MappingProxyType({})
    """The line in ``file`` of each key that is set."""

    def for_path(self, path: str) -> TargetSettings:
        """What holds for a file, given from ``root``: the first of ``targets`` whose ``paths`` match, and
        the top level for what that does not set. Globs count from the directory of the settings file."""
        inside = path.removeprefix(f"{self.directory}/") if self.directory else path
        if self.directory and inside == path:
            return self.default
        matching = (target for target in self.targets if patterns(target.paths).matches(inside))
        return next(matching, self.default)

    def check_names(
        self,
        *,
        rules: Iterable[str] | None = None,
        gpus: Iterable[str] | None = None,
        profiles: Iterable[str] | None = None,
        formats: Iterable[str] | None = None,
    ) -> None:
        """Compare the names in the settings with those that the tool knows.

        It is not done when the settings are read, because the lists of names are not needed before there is
        a file to check.

        Raises:
            UsageError: a name is unknown; with file, line and the nearest known name.
        """
        if rules is not None:
            self._check(((("severities", name), name) for name in (*self.severities, *self.disabled)), rules, "rule")
        if gpus is not None:
            self._check(self._gpus(), gpus, "GPU")
        if profiles is not None:
            self._check(((("profiles",), name) for name in self.profiles), profiles, "profile")
        if formats is not None:
            self._check(((("reports", name), name) for name in self.reports), formats, "report format")

    def _gpus(self) -> Iterable[tuple[tuple[str, ...], str]]:
        for name in self.default.gpus:
            yield ("gpus",), name.partition(":")[0]
        for at, target in enumerate(self.targets):
            for name in (*target.gpus, *(gpu for variant in target.variants for gpu in variant.gpus)):
                yield ("targets", str(at), "gpus"), name.partition(":")[0]

    def _check(self, used: Iterable[tuple[tuple[str, ...], str]], known: Iterable[str], what: str) -> None:
        names = set(known)
        for key, name in used:
            if name not in names:
                raise UsageError(f"unknown {what} '{name}'", suggestion(name, names), self.file, self._line(key))

    def _line(self, key: tuple[str, ...]) -> int | None:
        return next((self.lines[key[:end]] for end in range(len(key), 0, -1) if key[:end] in self.lines), None)


def load_settings(here: Path, read: Reader | None = None, root: Path | None = None) -> Settings:
    """The settings nearest to the directory ``here``, up to the top of its repository.

    ``read`` gives files by their path from ``root``, for example those of a git revision: a merge request
    is judged by the settings of its target branch (``lambda path: changes.read("base", path)``). Without it
    they are read from disk. ``root`` is searched for when it is not given; outside a repository only
    ``here`` itself is looked at.

    Raises:
        UsageError: the settings are wrong; with file, line and what to write instead.
        LimitError: the file is too large.
    """
    root = root or repository_top(here)
    start = here.relative_to(root).as_posix() if here.is_relative_to(root) else ""
    document = find_document("" if start == "." else start, read or disk_reader(root))
    if document is None:
        return Settings(root=root)
    from asmevo_gate.gate.settings_reading import read_settings

    return read_settings(document, root)


def repository_top(here: Path) -> Path:
    """The nearest directory with a ``.git`` at or above ``here``, else ``here``."""
    return next((place for place in (here, *here.parents) if (place / ".git").exists()), here)


def suggestion(name: str, known: Iterable[str]) -> str:
    """What to write instead of an unknown name."""
    from difflib import get_close_matches

    choices = sorted(known)
    near = get_close_matches(name, choices, n=1)
    return f"did you mean '{near[0]}'?" if near else f"known: {', '.join(choices) or 'none'}"


def explain_settings(settings: Settings) -> str:
    """Every setting with its value and where it comes from, one a line, for ``doctor``."""
    default, selection = settings.default, settings.selection
    rows: list[tuple[str, str, tuple[str, ...]]] = [
        ("assembly", _list(selection.assembly), ("assembly",)),
        ("ignore", _list(selection.ignore), ("ignore",)),
        ("gpus", _list(default.gpus) if default.gpus else "from each file, else detected", ("gpus",)),
        ("rocm", settings.rocm or "detected", ("rocm",)),
        ("wave_size", str(default.wave_size or "default of the GPU"), ("wave_size",)),
        ("defines", _pairs(default.defines), ("defines",)),
        ("include", _list(default.include), ("include",)),
        ("fail_on", settings.fail_on, ("fail_on",)),
        ("allow_not_checked", "true" if settings.allow_not_checked else "false", ("allow_not_checked",)),
        ("baseline", settings.baseline.as_posix() if settings.baseline else "none", ("baseline",)),
        ("profiles", _list(settings.profiles), ("profiles",)),
        ("constraints", _list(settings.constraints), ("constraints",)),
        ("reports", _pairs(settings.reports), ("reports",)),
        ("limits.max_file_bytes", f"{selection.max_file_bytes}", ("limits", "max_file_bytes")),
        ("limits.max_total_bytes", f"{selection.max_total_bytes}", ("limits", "max_total_bytes")),
    ]
    rows += [
        (f"hardware.{name}", f"{value:g}", ("hardware", name)) for name, value in settings.hardware._asdict().items()
    ]
    severities: dict[str, str] = {**settings.severities, **dict.fromkeys(settings.disabled, "off")}
    rows += [(f"severities.{rule}", severities[rule], ("severities", rule)) for rule in sorted(severities)]
    for at, target in enumerate(settings.targets):
        rows.append((f"targets[{at}]", _target(target), ("targets", str(at))))
    lines = [f"settings: {settings.file or 'defaults (no settings file found)'}", f"root: {settings.root}"]
    for name, value, key in rows:
        line = settings.lines.get(key)
        lines.append(f"  {name}: {value}  ({f'{settings.file}:{line}' if line else 'default'})")
    return "\n".join(lines) + "\n"


def _target(target: TargetSettings) -> str:
    parts = [f"paths {_list(target.paths)}", f"gpus {_list(target.gpus)}"]
    if target.defines:
        parts.append(f"defines {_pairs(target.defines)}")
    if target.include:
        parts.append(f"include {_list(target.include)}")
    if target.wave_size:
        parts.append(f"wave_size {target.wave_size}")
    if target.variants:
        parts.append(f"variants {_list(variant.name for variant in target.variants)}")
    return "; ".join(parts)


def _list(values: Iterable[str]) -> str:
    return ", ".join(values) or "none"


def _pairs(values: Mapping[str, object]) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items()) or "none"
