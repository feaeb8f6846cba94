"""No settings file makes the reader crash or hang: it is read, or refused with the file and what to do."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asmevo_gate.errors import GateError, LimitError, UsageError
from asmevo_gate.gate.settings import Settings, explain_settings, load_settings
from tests.fuzz.mutation import damaged_bytes, damaged_text

_QUICK = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
_YAML = """\
assembly: ["*.s", "kernels/**"]
gpus: [gfx942, "gfx90a:xnack-"]
rocm: "6.1.3"
defines: {DEBUG: 1, SIZE: 0x10}
include: include
targets:
  - paths: kernels/**
    gpus: gfx1100
    wave_size: 32
    variants:
      - {name: big, defines: {TILE: 128}}
severities: {perf.spill: "off"}
fail_on: warning
baseline: known.json
reports: {sarif: out.sarif}
limits: {max_file_bytes: 1000}
hardware: {busy_up: 1.5}
"""
_TOML = """\
[tool.asmevo-gate]
assembly = ["*.s"]
gpus = ["gfx942"]
rocm = "6.1.3"
fail_on = "warning"
defines = { DEBUG = 1 }
[[tool.asmevo-gate.targets]]
paths = "kernels/**"
wave_size = 32
[tool.asmevo-gate.severities]
"perf.spill" = "off"
"""
_WORDS = (
    "- ",
    "? ",
    ": ",
    "&a ",
    "*a",
    "<<: *a",
    "!!int ",
    "!!float ",
    "!!bool ",
    "!!timestamp ",
    "!!binary ",
    "!!set ",
    "!!python/name:os.system ",
    "!x ",
    "| ",
    "> ",
    "[",
    "]",
    "{",
    "}",
    "1_000",
    "1:2:3",
    "2001-99-99",
    ".inf",
    ".nan",
    "9" * 5000,
    "0b",
    "''",
    '"',
    "\t",
    "\n",
    "\n  ",
    "---\n",
    "...\n",
    "%YAML 9.9\n",
    "#",
    "~",
    "yes",
    "\0",
    "\x85",
    "[[",
    "]]",
    "=",
    ".",
    '"""',
    "1979-05-27T07:32:00Z",
    "nan",
    "inf",
    "../..",
    "/",
    "C:",
)


def _load(name: str, content: bytes) -> Settings | None:
    try:
        found = load_settings(Path("/nowhere"), lambda path: content if path == name else None, Path("/nowhere"))
        assert explain_settings(found)
        return found
    except GateError as error:
        assert error.message
        assert error.file == name
        return None


@_QUICK
@given(damaged_text(_YAML, _WORDS))
def test_damaged_yaml_is_read_or_refused(text: str) -> None:
    _load(".asmevo-gate.yaml", text.encode("utf-8", "surrogatepass"))


@_QUICK
@given(damaged_text(_TOML, _WORDS))
def test_damaged_toml_is_read_or_refused(text: str) -> None:
    _load("pyproject.toml", text.encode("utf-8", "surrogatepass"))


@_QUICK
@given(st.data(), st.sampled_from(((".asmevo-gate.yaml", _YAML), ("pyproject.toml", _TOML))))
def test_damaged_bytes_are_read_or_refused(data: st.DataObject, file: tuple[str, str]) -> None:
    _load(file[0], data.draw(damaged_bytes(file[1].encode()) | st.binary(max_size=100)))


@pytest.mark.parametrize(
    "value",
    ['!!int ""', '!!float ""', "!!bool maybe", "!!timestamp now", "!!int 0b", "!!null x", "!!binary é", "!!int 1:x",
     "!!float " + "1:" * 400 + "1", "2001-99-99", "0001-01-01T00:00:00+23:59", "9" * 5000, "!!int [1]", "!!str {a: b}",
     "!!set {a}", "!!omap [a: 1]", "&a [*a]", "!!python/object/apply:os.system [x]"],
)  # fmt: skip
def test_a_value_that_does_not_fit_its_tag_is_refused(value: str) -> None:
    for key in ("fail_on", "wave_size", "hardware"):
        assert _load(".asmevo-gate.yaml", f"{key}: {value}\n".encode()) is None


@pytest.mark.parametrize("piece", ["- ", "[", "{a: ", "? ", "a: &a\n - *a\n", "!!x "])
def test_deep_yaml_is_refused(piece: str) -> None:
    assert _load(".asmevo-gate.yaml", (piece * (400_000 // len(piece))).encode()) is None


@pytest.mark.parametrize(
    "text",
    [
        "asmevo = " + "[" * 100_000,
        "asmevo = " + "{a = " * 50_000,
        "a" + ".a" * 100_000 + " = 'asmevo'",
        "# asmevo\n[a" + ".a" * 60_000 + "]\n" + "".join(f"k{n} = 1\n" for n in range(20_000)),
        "# asmevo\n" + "[a" * 100_000,
        "# asmevo\n" + "a " * 100_000,
    ],
    ids=["lists", "tables", "dotted key", "dotted table", "headers", "words"],
)
def test_deep_toml_is_refused_at_once(text: str) -> None:
    started = time.process_time()
    with pytest.raises((UsageError, LimitError)):
        load_settings(
            Path("/nowhere"), lambda path: text.encode() if path == "pyproject.toml" else None, Path("/nowhere")
        )
    assert time.process_time() - started < 3
