"""The wheel holds every package and every data file, and works without the checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(done.stderr)
    (made,) = folder.glob("*.whl")
    return made


@pytest.mark.slow
def test_the_wheel_holds_all_packages_and_data(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    code = {path.relative_to(ROOT).as_posix() for path in (ROOT / "asmevo_gate").rglob("*.py")}
    data = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "asmevo_gate").rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    for room in ("constraints", "microarch"):
        kinds = ("*.json", "*.yaml", "*.onnx")
        files = [path for kind in kinds for path in (ROOT / room).rglob(kind)]
        data |= {f"asmevo_gate/data/{path.relative_to(ROOT).as_posix()}" for path in files}
    assert sorted((code | data) - inside) == []


@pytest.mark.slow
def test_the_wheel_works_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    kernel = (ROOT / "examples" / "change" / "block_sum.s").read_text()
    (tmp_path / "block_sum.s").write_text(kernel)
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from asmevo_gate.cli.main import main; main()"
    command = [sys.executable, "-c", code, str(site), "check", "--no-assemble", "block_sum.s"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "wait.lgkmcnt.raw" in done.stdout
    code = f"import sys; sys.path.insert(0, {str(site)!r}); import asmevo_gate; print(asmevo_gate.__file__)"
    where = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert str(site) in where.stdout
