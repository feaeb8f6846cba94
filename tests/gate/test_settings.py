"""Settings: where they are found, what they mean, and what mistakes say."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo_gate.errors import GateError, LimitError, UsageError
from asmevo_gate.gate.settings import Settings, explain_settings, load_settings

YAML = ".asmevo-gate.yaml"
TOML = "pyproject.toml"

FULL = """\
assembly: ["*.s", "*.sp3"]
ignore: third_party/
gpus: [gfx90a, "gfx942:xnack-"]
rocm: "6.1.3"
defines: {TILE: 16}
include: include
fail_on: warning
allow_not_checked: true
baseline: ci/baseline.json
profiles: [short-runs]
constraints: [ci/team.json]
severities:
  wait.vmcnt.raw: warning
  isa.unknown: "off"
reports:
  junit: out/junit.xml
  gitlab-metrics: out/metrics.txt
limits: {max_file_bytes: 1000}
targets:
  - paths: kernels/gfx9/**
    gpus: gfx942
    defines: {WAVES: 0x4}
    wave_size: 64
    variants:
      - {name: small, defines: {TILE: 32}}
      - {name: large, wave_size: 32, gpus: [gfx1100]}
  - paths: ["*.sp3", tests/**]
    gpus: [gfx1030]
"""


def from_files(contents: dict[str, str], start: str = "") -> Settings:
    """Settings of a repository with these files."""
    root = Path("/repository")
    return load_settings(root / start, lambda path: contents[path].encode() if path in contents else None, root)


def mistake(text: str, name: str = YAML) -> UsageError:
    """The error that a settings file gives."""
    with pytest.raises(UsageError) as caught:
        from_files({name: text})
    assert caught.value.file == name
    return caught.value


def test_defaults() -> None:
    found = from_files({})
    assert found.file is None
    assert found.selection.assembly == ("*.s", "*.S", "*.asm", "*.co", "*.hsaco")
    assert (found.fail_on, found.allow_not_checked, found.baseline, found.rocm) == ("error", False, None, None)
    assert found.for_path("a.s").gpus == ()


def test_every_setting() -> None:
    found = from_files({YAML: FULL})
    assert found.selection.assembly == ("*.s", "*.sp3")
    assert found.selection.ignore == ("third_party/",)
    assert found.selection.max_file_bytes == 1000
    assert found.default.gpus == ("gfx90a", "gfx942:xnack-")
    assert found.rocm == "6.1.3"
    assert (found.fail_on, found.allow_not_checked) == ("warning", True)
    assert found.baseline == Path("/repository/ci/baseline.json")
    assert (found.profiles, found.constraints) == (("short-runs",), ("ci/team.json",))
    assert found.severities == {"wait.vmcnt.raw": "warning"}
    assert found.disabled == {"isa.unknown"}
    assert found.reports == {"junit": "out/junit.xml", "gitlab_metrics": "out/metrics.txt"}


def test_first_target_that_matches_holds_and_the_top_level_fills_it_up() -> None:
    found = from_files({YAML: FULL})
    gfx9 = found.for_path("kernels/gfx9/deep/a.sp3")
    assert (gfx9.gpus, gfx9.wave_size, gfx9.include) == (("gfx942",), 64, ("include",))
    assert gfx9.defines == {"TILE": 16, "WAVES": 4}
    small, large = gfx9.variants
    assert (small.name, small.defines, small.gpus) == ("small", {"TILE": 32}, ())
    assert (large.wave_size, large.gpus) == (32, ("gfx1100",))
    assert found.for_path("other/a.sp3").gpus == ("gfx1030",)
    assert found.for_path("other/a.s").gpus == ("gfx90a", "gfx942:xnack-")


def test_toml_says_the_same() -> None:
    toml = """\
[project]
name = "kernels"
[tool.asmevo-gate]
gpus = ["gfx90a"]
rocm = "6.1.3"
severities = {"isa.unknown" = "off"}
[[tool.asmevo-gate.targets]]
paths = "a/**"
gpus = "gfx942"
"""
    found = from_files({TOML: toml})
    assert (found.file, found.rocm, found.disabled) == (TOML, "6.1.3", {"isa.unknown"})
    assert found.for_path("a/b.s").gpus == ("gfx942",)


def test_project_file_without_settings_does_not_count() -> None:
    assert from_files({TOML: "[tool.other]\nname = 'asmevo'\n"}).file is None
    assert from_files({TOML: "not = [valid"}).file is None
    assert from_files({TOML: "[project]\nname='x'\n", YAML: "rocm: '6.1'\n"}).file == YAML


def test_nearest_file_wins_as_a_whole() -> None:
    contents = {YAML: "rocm: '6.1'\nfail_on: never\n", "sub/" + TOML: "[tool.asmevo-gate]\nrocm='7.0'\n"}
    assert from_files(contents).rocm == "6.1"
    near = from_files(contents, "sub/deeper")
    assert (near.file, near.rocm, near.fail_on) == ("sub/pyproject.toml", "7.0", "error")


def test_paths_and_globs_count_from_the_directory_of_the_file() -> None:
    text = """\
assembly: ["*.s", "/top.x", "deep/*.y"]
ignore: [old/]
include: [inc, ../shared]
baseline: base.json
targets: [{paths: "a/*.s", gpus: gfx942}]
gpus: gfx90a
"""
    found = from_files({"sub/" + YAML: text}, "sub")
    assert found.selection.assembly == ("sub/**/*.s", "sub/top.x", "sub/deep/*.y")
    assert found.selection.ignore == ("sub/**/old/",)
    assert found.default.include == ("sub/inc", "shared")
    assert found.baseline == Path("/repository/sub/base.json")
    assert found.for_path("sub/a/k.s").gpus == ("gfx942",)
    assert found.for_path("a/k.s").gpus == ("gfx90a",)


def test_two_files_in_one_directory_are_an_error() -> None:
    with pytest.raises(UsageError, match=r"settings here and in pyproject\.toml"):
        from_files({YAML: "", TOML: "[tool.asmevo-gate]\n"})


@pytest.mark.parametrize("name", [".asmevo-gate.yml", "asmevo-gate.yaml"])
def test_misspelt_file_is_an_error(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        from_files({name: "rocm: '6.1'"})
    assert YAML in caught.value.repair


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}\n"])
def test_empty_file_means_defaults_and_ends_the_search(text: str) -> None:
    found = from_files({"sub/" + YAML: text, YAML: "rocm: '6.1'"}, "sub")
    assert (found.file, found.rocm) == ("sub/" + YAML, None)


@pytest.mark.parametrize(
    ("text", "line", "message", "repair"),
    [
        ("fail_onn: error\n", 1, "unknown key 'fail_onn'", "did you mean 'fail_on'?"),
        ("rocm: '6.1'\nxyzzy: 1\n", 2, "unknown key 'xyzzy'", "known: allow_not_checked"),
        ("targets:\n- paths: a\n  gpu: gfx942\n", 3, "unknown key 'targets[0].gpu'", "did you mean 'gpus'?"),
        ("limits:\n  max_file_byte: 1\n", 2, "unknown key 'limits.max_file_byte'", "did you mean"),
        ("fail_on: eror\n", 1, "fail_on is 'eror', not one of error, warning", "did you mean 'error'?"),
        ("rocm: 6.10\n", 1, "rocm is the number 6.1, not a version", 'put it in quotes: "6.10"'),
        ("rocm: 7\n", 1, "rocm is the number 7", 'put it in quotes: "7"'),
        ("rocm: new\n", 1, "'new' is no ROCm version", "6.1.3"),
        ("severities:\n  isa.unknown: off\n", 2, "read as the boolean false", 'put it in quotes: "off"'),
        ("gpus: [942]\n", 1, "gpus is the number 942, not text", 'put it in quotes: "942"'),
        ("gpus: [gfx942, navi31]\n", 1, "'navi31' is no GPU", "gfx942"),
        ("gpus: yes\n", 1, "gpus is the boolean true, not text", 'put it in quotes: "yes"'),
        ("gpus:\n", 1, "gpus is empty, not text", ""),
        ("defines: {TILE: '16'}\n", 1, "defines.TILE is text, not an integer", "16"),
        ("defines: {TILE: yes}\n", 1, "defines.TILE is the boolean true, not an integer", "16"),
        ("defines: {16: 1}\n", 1, "the key 16 is not text", '"16"'),
        ("defines: {a-b: 1}\n", 1, "defines.a-b is no assembler symbol", "letters"),
        ("wave_size: 48\n", 1, "wave_size is 48", "32 or 64"),
        ("allow_not_checked: 1\n", 1, "allow_not_checked is the number 1, not true or false", ""),
        ("assembly: []\n", 1, "assembly is empty", ""),
        ("ignore: ['']\n", 1, "ignore is empty", ""),
        ("targets: {paths: a}\n", 1, "targets is a table, not a list", ""),
        ("targets: [{gpus: gfx942}]\n", 1, "targets[0] has no 'paths'", "paths:"),
        ("targets:\n- paths: a\n  variants: [{defines: {A: 1}}]\n", 3, "variants[0] has no 'name'", "name"),
        ("targets:\n- {paths: a, variants: [{name: x}, {name: x}]}\n", 2, "the name 'x' of another variant", ""),
        ("baseline: /etc/passwd\n", 1, "absolute path", "inside the repository"),
        ("baseline: C:\\x\n", 1, "absolute path", "inside the repository"),
        ("reports:\n  json: ../out.json\n", 2, "leads out of the repository", "inside"),
        ("include: [a/../../b]\n", 1, "leads out of the repository", "inside"),
        ("limits: {max_file_bytes: 0}\n", 1, "is 0", "at least 1"),
        ("- a\n", 1, "a list, not a table of keys and values", ""),
        ("text\n", 1, "is text, not a table", ""),
        ("rocm: '6.1'\nrocm: '6.2'\n", 2, "'rocm' is set twice", "keep one"),
        ("rocm: '6.1'\n  bad: [\n", 2, "not valid YAML", ""),
        ("a: !!python/object/apply:os.system [touch stolen]\n", 1, "unknown key 'a'", ""),
        ("rocm: !!python/name:os.system x\n", 1, "not valid YAML", ""),
        ("--- {}\n--- {}\n", 2, "not valid YAML", ""),
        ("<<: {rocm: '6.1'}\n", 1, "merge keys (<<)", "write the keys out"),
    ],
)
def test_mistakes_say_where_what_and_what_instead(text: str, line: int, message: str, repair: str) -> None:
    error = mistake(text)
    assert message in error.message
    assert repair in error.repair
    assert error.line == line


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[tool.asmevo-gate]\nrocm = '6.1'\nfail_onn = 'error'\n", 3, "unknown key 'fail_onn'"),
        ("[tool.asmevo-gate]\nrocm = 6.10\n", 2, "rocm is the number 6.1"),
        ("[tool.asmevo-gate.severities]\n'isa.unknown' = false\n", 2, "isa.unknown is the boolean false"),
        (
            "[tool.asmevo-gate]\n[[tool.asmevo-gate.targets]]\npaths='a'\n[[tool.asmevo-gate.targets]]\ngpus='gfx942'\n",
            4,
            "targets[1] has no 'paths'",
        ),
        ("[tool.asmevo-gate]\ntargets = [\n  {paths = 'a', gpu = 'x'},\n]\n", 2, "unknown key 'targets[0].gpu'"),
        ("[tool.asmevo-gate]\nrocm = \n", 2, "not valid TOML"),
        ("[tool]\nasmevo-gate = 3\n", 2, "is the number 3, not a table"),
    ],
)
def test_mistakes_in_toml_have_their_line(text: str, line: int, message: str) -> None:
    error = mistake(text, TOML)
    assert message in error.message
    assert error.line == line


def test_not_utf8_is_an_error() -> None:
    with pytest.raises(UsageError, match="not valid UTF-8") as caught:
        load_settings(Path("/r"), {YAML: b"rocm: '6.1'\n# \xff\n"}.get, Path("/r"))
    assert caught.value.line == 2


def test_byte_order_mark_is_allowed() -> None:
    assert load_settings(Path("/r"), {YAML: b"\xef\xbb\xbfrocm: '6.1'\n"}.get, Path("/r")).rocm == "6.1"


@pytest.mark.parametrize(
    "text",
    [
        "x: " + "a" * (1 << 20),
        "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 10)}]\n" for n in range(8)),
        "a: " + "[" * 100 + "]" * 100,
        "a: &a [*a]",
    ],
    ids=["long", "aliases", "deep", "recursive"],
)
def test_hostile_files_meet_a_limit(text: str) -> None:
    with pytest.raises(LimitError, match="limited"):
        from_files({YAML: text})


@pytest.mark.parametrize(
    ("text", "check", "line"),
    [
        ("gpus: gfx942\nseverities:\n  wait.vmcnt.rwa: 'off'\n", {"rules": ["wait.vmcnt.raw"]}, 3),
        ("targets:\n- paths: a\n  gpus: gfx943\n", {"gpus": ["gfx942"]}, 3),
        ("gpus: gfx943:xnack-\n", {"gpus": ["gfx942"]}, 1),
        ("profiles: [short-run]\n", {"profiles": ["short-runs"]}, 1),
        ("reports:\n  juint: a.xml\n", {"formats": ["junit"]}, 2),
    ],
)
def test_names_are_compared_with_those_that_exist(text: str, check: dict[str, list[str]], line: int) -> None:
    found = from_files({YAML: text})
    with pytest.raises(UsageError, match="unknown") as caught:
        found.check_names(**check)  # type: ignore[arg-type]
    assert caught.value.line == line
    assert f"did you mean '{next(iter(check.values()))[0]}'?" == caught.value.repair
    from_files({YAML: FULL}).check_names(
        rules=["wait.vmcnt.raw", "isa.unknown"],
        gpus=["gfx90a", "gfx942", "gfx1100", "gfx1030"],
        profiles=["short-runs"],
        formats=["junit", "gitlab_metrics"],
    )


def test_explanation_says_where_each_value_comes_from() -> None:
    text = explain_settings(from_files({YAML: FULL}))
    assert "  rocm: 6.1.3  (.asmevo-gate.yaml:4)" in text
    assert "  wave_size: default of the GPU  (default)" in text
    assert "  severities.isa.unknown: off  (.asmevo-gate.yaml:14)" in text
    assert "  targets[0]: paths kernels/gfx9/**; gpus gfx942;" in text
    assert "variants small, large  (.asmevo-gate.yaml:20)" in text
    assert "defaults (no settings file found)" in explain_settings(from_files({}))


# On disk


def test_search_ends_at_the_top_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / YAML).write_text("rocm: '5.0'\n")
    inner = tmp_path / "repository" / "sub"
    inner.mkdir(parents=True)
    assert load_settings(inner).file is None
    (tmp_path / "repository" / ".git").write_text("gitdir: elsewhere\n")
    assert load_settings(inner).file is None
    (tmp_path / "repository" / YAML).write_text("rocm: '6.1'\n")
    found = load_settings(inner)
    assert (found.rocm, found.root, found.file) == ("6.1", tmp_path / "repository", YAML)


def test_settings_of_a_revision_are_read_through_git(tmp_path: Path) -> None:
    from asmevo_gate.changes import range_changes

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "--initial-branch=main")
    (tmp_path / YAML).write_text("fail_on: warning\n")
    git("add", ".")
    git("commit", "-m", "target branch")
    git("checkout", "-b", "change")
    (tmp_path / YAML).write_text("fail_on: never\n")
    git("commit", "-a", "-m", "switch the gate off")
    with range_changes(tmp_path, "main") as changes:
        assert load_settings(tmp_path, lambda path: changes.read("base", path)).fail_on == "warning"
        assert load_settings(tmp_path, lambda path: changes.read("head", path)).fail_on == "never"
    assert load_settings(tmp_path).fail_on == "never"


def test_unreadable_settings_are_an_error(tmp_path: Path) -> None:
    (tmp_path / YAML).mkdir()
    with pytest.raises(GateError, match="cannot be read"):
        load_settings(tmp_path)


def test_reading_without_settings_imports_no_parser(tmp_path: Path) -> None:
    (tmp_path / TOML).write_text("[project]\nname = 'kernels'\n")
    code = (
        "import sys; from pathlib import Path; from asmevo_gate.gate.settings import load_settings\n"
        f"load_settings(Path({str(tmp_path)!r}))\n"
        "print([name for name in ('yaml', 'tomllib', 'tomli', 'msgspec', 'git', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# The published schema


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """The schema that the package ships."""
    loaded: dict[str, Any] = json.loads(files("asmevo_gate.gate").joinpath("settings.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(loaded)
    return loaded


def test_schema_accepts_every_setting(schema: dict[str, Any]) -> None:
    jsonschema.validate(yaml.safe_load(FULL), schema)


def test_schema_has_the_defaults(schema: dict[str, Any]) -> None:
    properties = schema["properties"]
    found = Settings()
    for name in ("assembly", "ignore"):
        assert tuple(properties[name]["default"]) == getattr(found.selection, name)
    assert properties["fail_on"]["default"] == found.fail_on
    for name, limit in properties["limits"]["properties"].items():
        assert limit["default"] == getattr(found.selection, name)


_SCALARS = st.sampled_from(
    ["error", "off", "6.1", "gfx942", "a/b", "", "/x", 0, 1, 64, 2.5, True, False, None, "*.s", "A", "gfx942 "]
)
_KEYS = st.sampled_from(
    [
        *("assembly", "ignore", "gpus", "rocm", "wave_size", "defines", "include", "targets", "severities"),
        *("fail_on", "allow_not_checked", "baseline", "profiles", "constraints", "reports", "limits"),
        *("paths", "variants", "name", "max_file_bytes", "max_total_bytes", "A", "other"),
    ]
)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_KEYS, inner, max_size=3), max_leaves=6
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(_KEYS, _VALUES, max_size=3))
def test_schema_and_reading_agree(document: dict[str, Any]) -> None:
    shipped = json.loads(files("asmevo_gate.gate").joinpath("settings.schema.json").read_text())
    valid = jsonschema.Draft202012Validator(shipped).is_valid(document)
    assert _accepted(lambda: from_files({YAML: yaml.safe_dump(document)})) == valid


def _accepted(read: Callable[[], object]) -> bool:
    try:
        read()
    except UsageError:
        return False
    return True


def test_documented_example_is_valid(schema: dict[str, Any]) -> None:
    page = Path(__file__).parents[2] / "docs" / "settings.md"
    example = page.read_text().split("```yaml\n")[1].split("```")[0]
    jsonschema.validate(yaml.safe_load(example), schema)
    found = from_files({YAML: example})
    assert {key[0] for key in found.lines} == set(schema["properties"]) - {"wave_size"}
