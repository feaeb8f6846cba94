"""The CMake module, with CMake itself: what is built, and what makes it build again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.end_to_end.test_skill import EXAMPLE, write

MODULE = Path(__file__).parents[2] / "ci-templates" / "cmake"
PROJECT = """\
cmake_minimum_required(VERSION 3.16)
project(kernels NONE)
list(APPEND CMAKE_MODULE_PATH "{module}")
find_package(AsmEvoSkill REQUIRED)
asm_evo_skill_rewrite(optimised SOURCE kernel.s GPU gfx90a ROCM 6.1.3 CONSTRAINTS team.json OPTIONS --verbose)
add_custom_target(kernels ALL DEPENDS ${{optimised}})
"""
TEAM = {"schema": "asmevo-gate/constraints/1", "name": "team"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A CMake project with one kernel, configured."""
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    if shutil.which("ninja") is None and shutil.which("make") is None:
        pytest.skip("neither ninja nor make is installed")
    tools = tmp_path / "tools"
    tools.mkdir()
    program = tools / "asm-evo-skill"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m asmevo_gate.cli.skill "$@"\n')
    program.chmod(0o755)
    source = tmp_path / "source"
    source.mkdir()
    (source / "CMakeLists.txt").write_text(PROJECT.format(module=MODULE.as_posix()))
    (source / "team.json").write_text(json.dumps(TEAM))
    write(source / "kernel.s", EXAMPLE)
    done = cmake(tmp_path, "-S", str(source), "-B", str(tmp_path / "build"), f"-DASM_EVO_SKILL_ROOT={tools}")
    assert done.returncode == 0, done.stdout
    assert "Found AsmEvoSkill" in done.stdout
    return tmp_path


def cmake(where: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    if shutil.which("ninja"):
        environment["CMAKE_GENERATOR"] = "Ninja"
    return subprocess.run(
        ["cmake", *arguments],
        cwd=where,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )


def build(project: Path) -> str:
    done = cmake(project, "--build", str(project / "build"))
    assert done.returncode == 0, done.stdout
    return done.stdout


def touch_later(path: Path, text: str) -> None:
    """Write a file so that every file system sees it is newer."""
    path.write_text(text)
    later = time.time() + 2
    os.utime(path, (later, later))


def test_builds_once_and_again_when_the_constraint_file_or_the_source_changes(project: Path) -> None:
    assert "[INFO] output written" in build(project)
    output = project / "build" / "kernel_opt.s"
    assert "v_add_f32 v8, v6, s2" in output.read_text()
    assert "[INFO]" not in build(project), "nothing changed"
    touch_later(project / "source" / "team.json", json.dumps(TEAM, indent=1))
    assert "[INFO] output written" in build(project)
    kernel = project / "source" / "kernel.s"
    touch_later(kernel, kernel.read_text().replace("offset:512", "offset:768"))
    assert "[INFO] output written" in build(project)
    assert "offset:768" in output.read_text()


def test_a_kernel_that_cannot_be_read_stops_the_build(project: Path) -> None:
    touch_later(project / "source" / "team.json", "{}")
    done = cmake(project, "--build", str(project / "build"))
    assert done.returncode != 0
    assert "team.json" in done.stdout
    assert not (project / "build" / "kernel_opt.s").exists()
