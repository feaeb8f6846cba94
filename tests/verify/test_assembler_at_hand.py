"""Which assembler gets a file, and how many processes that takes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from asmevo_gate.isa.targets import find_target
from asmevo_gate.verify.assembler import Assembled, AssemblyErrors, AssemblyResult, NotAssembled
from asmevo_gate.verify.assembler_at_hand import AssemblerAtHand

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="scripts as programs")

GFX90A = find_target("gfx90a")

FAKE = """#!{python}
import sys
from pathlib import Path
here = Path(__file__)
with here.with_name("calls").open("a") as calls:
    calls.write(here.name + (" asked" if {question!r} in sys.argv else " assembles") + chr(10))
if {question!r} in sys.argv:
    print("clang version 21.1.0" + "".join(chr(10) + "    " + cpu for cpu in {cpus!r}))
elif "version" in sys.argv[1]:
    print("LLVM version 20.0")
elif "wrong" in sys.stdin.read() or {refuses!r}:
    sys.exit({message!r})
else:
    sys.stderr.write({message!r} if {says!r} else "")
    Path(sys.argv[sys.argv.index("-o") + 1]).write_bytes(b"object of " + here.name.encode())
"""


@pytest.fixture(autouse=True)
def _no_other_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    for name in ("ASMEVO_ASSEMBLER", "ROCM_PATH", "ROCM_HOME", "HIP_CLANG_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("asmevo_gate.verify.discovery._rocm_roots", lambda parent: [])
    monkeypatch.setattr("asmevo_gate.verify.discovery._numbered_tools", lambda environment: iter(()))
    monkeypatch.setattr("asmevo_gate.verify.discovery._packages", lambda: iter(()))


def fake(
    directory: Path, name: str, cpus: tuple[str, ...], message: str = "", refuses: bool = False, says: bool = False
) -> None:
    question = "--print-supported-cpus" if name == "clang" else "-mcpu=help"
    text = FAKE.format(python=sys.executable, question=question, cpus=cpus, message=message, refuses=refuses, says=says)
    path = directory / name
    path.write_text(text)
    path.chmod(0o755)


def calls(directory: Path) -> list[str]:
    file = directory / "calls"
    return file.read_text().splitlines() if file.exists() else []


def assembled(assembler: AssemblerAtHand, text: str = "s_endpgm\n") -> AssemblyResult:
    return assembler.assemble(text, GFX90A)


def test_a_file_that_assembles_takes_one_process(tmp_path: Path) -> None:
    fake(tmp_path, "clang", ("gfx90a",))
    assembler = AssemblerAtHand(GFX90A, str(tmp_path))
    for _ in range(2):
        assert isinstance(assembled(assembler), Assembled)
    assert calls(tmp_path) == ["clang assembles"] * 2


def test_errors_name_the_version_of_the_tool(tmp_path: Path) -> None:
    fake(tmp_path, "clang", ("gfx90a",), "<stdin>:1:2: error: invalid instruction")
    assembler = AssemblerAtHand(GFX90A, str(tmp_path))
    for _ in range(2):
        result = assembled(assembler, "wrong\n")
        assert isinstance(result, AssemblyErrors)
        assert result.tool.version == "21.1.0"
    assert calls(tmp_path) == ["clang assembles", "clang asked", "clang assembles"]


@pytest.mark.parametrize(
    ("refuses", "message"),
    [
        (True, "clang: error: invalid target ID 'gfx90a'"),
        (True, "<stdin>:1:1: error: invalid instruction"),
        (True, "error: unable to create target: 'No available targets are compatible with triple'"),
        (False, "'gfx90a' is not a recognized processor for this target (ignoring processor)"),
    ],
)
@pytest.mark.parametrize("cpus", [(), ("gfx906",)])
def test_a_clang_without_the_processor_is_passed_over(
    tmp_path: Path, refuses: bool, message: str, cpus: tuple[str, ...]
) -> None:
    fake(tmp_path, "clang", cpus, message, refuses, says=not refuses)
    fake(tmp_path, "llvm-mc", ("gfx90a",))
    assembler = AssemblerAtHand(GFX90A, str(tmp_path))
    for _ in range(2):
        result = assembled(assembler)
        assert isinstance(result, Assembled)
        assert result.object == b"object of llvm-mc"
    assert calls(tmp_path) == [
        "clang assembles", "clang asked", "llvm-mc asked", "llvm-mc assembles", "llvm-mc assembles",
    ]  # fmt: skip


def test_an_llvm_mc_is_asked_first_because_it_assembles_for_any_processor(tmp_path: Path) -> None:
    fake(tmp_path, "llvm-mc", ("gfx906",))
    result = assembled(AssemblerAtHand(GFX90A, str(tmp_path)))
    assert isinstance(result, NotAssembled)
    assert "does not know gfx90a" in result.reason
    assert calls(tmp_path) == ["llvm-mc asked"]


def test_without_a_tool_the_reason_says_so(tmp_path: Path) -> None:
    result = assembled(AssemblerAtHand(GFX90A, str(tmp_path)))
    assert isinstance(result, NotAssembled)
    assert result.tool is None
    assert "none was found" in result.reason
