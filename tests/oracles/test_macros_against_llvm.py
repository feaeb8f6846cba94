"""Own macro programs: our expansion assembles to the same bytes as the program itself."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from asmevo_gate.errors import LimitError
from asmevo_gate.source.assembly import RAW_BLOCKS
from asmevo_gate.source.options import SourceOptions
from asmevo_gate.source.parser import parse_source
from asmevo_gate.source.statement import Kind, Source
from asmevo_gate.source.symbols import predefined_symbols

LLVM_MC = shutil.which("llvm-mc-22")
PROGRAMS = sorted((Path(__file__).parents[1] / "source" / "macro_programs").glob("*.s"))
MODIFIER_NAMES = {"off", "glc", "vmcnt", "offset", "v7"}
"""Symbols of one program that are also names of modifiers or registers, which come first."""

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(LLVM_MC is None, reason="needs llvm-mc-22"),
]


def processor(text: str) -> str:
    match = re.search(r"cpu: (gfx\w+)", text)
    return match[1] if match else "gfx90a"


def expanded_text(source: Source) -> str:
    """Every statement on its own line, without macros and conditionals."""
    lines: list[str] = []
    for statement in source.statements:
        lines.append(statement.text)
        closing = RAW_BLOCKS.get(statement.name.lower())
        if closing:
            lines.append(statement.rest + closing)
    return "\n".join(lines) + "\n"


def sections(text: str, cpu: str, out: Path) -> dict[str, bytes]:
    """Name -> bytes of every section with contents that the program's own text decides."""
    assert LLVM_MC is not None
    command = [LLVM_MC, "-triple=amdgcn-amd-amdhsa", f"-mcpu={cpu}", "-filetype=obj", "-o", str(out), "-"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    elf = ELFFile(io.BytesIO(out.read_bytes()))
    return {
        section.name: section.data()
        for section in elf.iter_sections()
        if section["sh_type"] in ("SHT_PROGBITS", "SHT_NOTE") and section.data_size
    }


def test_there_are_enough_programs() -> None:
    assert len(PROGRAMS) >= 60


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_expansion_equals_llvm(program: Path, tmp_path: Path) -> None:
    with program.open(encoding="utf-8", newline="") as stream:
        text = stream.read()
    cpu = processor(text)
    source = parse_source(program.name, text, SourceOptions(predefined=predefined_symbols(cpu)))
    assert source.problems == ()
    assert sections(expanded_text(source), cpu, tmp_path / "ours.o") == sections(text, cpu, tmp_path / "llvm.o")
    for statement in source.statements:
        if statement.kind is Kind.INSTRUCTION:
            left = set(re.findall(r"[A-Za-z_.][\w.]*", statement.rest)) & (source.symbols.keys() - MODIFIER_NAMES)
            assert not left, statement.text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(".macro m\n m\n.endm\nm\n", id="endless recursion"),
        pytest.param(".macro m a:req\n s_nop \\a\n.endm\nm\n", id="required argument missing"),
        pytest.param(".macro m a\n s_nop \\a\n.endm\nm 1, 2, 3\n", id="too many arguments"),
        pytest.param(".macro m a\n s_nop \\a\n.endm\nm b=1\n", id="unknown argument name"),
        pytest.param(".macro m a, b\n s_nop \\a\n.endm\nm a=1, 2\n", id="positional after keyword"),
        pytest.param(".macro m a\n s_nop \\a\n.endm\nm (1\n", id="unbalanced parenthesis"),
        pytest.param(".macro m\n s_nop 0\n", id="macro without end"),
        pytest.param(".rept 2\n s_nop 0\n", id="repetition without end"),
        pytest.param(".if 1\n s_nop 0\n", id="conditional without end"),
        pytest.param("s_nop 0\n.endif\n", id="end without conditional"),
        pytest.param("s_nop 0\n.else\n", id="else without conditional"),
        pytest.param(".if 0\n.else\n.else\n.endif\n", id="two else"),
        pytest.param("s_nop 0\n.endm\n", id="end without macro"),
        pytest.param("s_nop 0\n.endr\n", id="end without repetition"),
        pytest.param(".exitm\n", id="exit outside a macro"),
        pytest.param(".purgem m\n", id="purge of no macro"),
        pytest.param(".macro m\n.endm\n.macro m\n.endm\n", id="macro twice"),
        pytest.param(".macro m a, a\n.endm\n", id="parameter twice"),
        pytest.param(".macro m a:vararg, b\n.endm\n", id="vararg not last"),
        pytest.param(".macro m a:opt\n.endm\n", id="unknown qualifier"),
        pytest.param(".if nowhere\n.endif\n", id="condition on an unknown symbol"),
        pytest.param(".if 1 +\n.endif\n", id="malformed condition"),
        pytest.param(".if 1/0\n.endif\n", id="division by zero"),
        pytest.param(".if 1 2\n.endif\n", id="two expressions"),
        pytest.param(".rept -1\n.endr\n", id="negative count"),
        pytest.param(".irpc x,\n.endr\n", id="irpc without a word"),
        pytest.param(".irp x\n.endr\n", id="irp without a comma"),
        pytest.param("a: s_nop 0\na: s_nop 1\n", id="label twice"),
        pytest.param("a: s_nop 0\na = 1\n", id="label assigned"),
        pytest.param("a = 1\n.equiv a, 2\n", id="redefinition"),
        pytest.param("x = 08\n", id="octal digit"),
        pytest.param("x = 0x1ffffffffffffffff\n", id="number too large"),
        pytest.param('.error "no"\n', id="error directive"),
        pytest.param(".err\n", id="err directive"),
        pytest.param("s_nop 0 /* never closed\n", id="unterminated comment"),
        pytest.param('.print "never closed\n', id="unterminated string"),
        pytest.param("= 4\n", id="no name"),
        pytest.param(".popsection\n", id="nothing pushed"),
        pytest.param('.include "no/such/file.inc"\n', id="missing include"),
        pytest.param(".altmacro\n.macro m a\n LOCAL l\n.endm\nm 1\n", id="local symbols of GNU as"),
        pytest.param(".amd_kernel_code_t\n.end_amd_kernel_code_t\n", id="old descriptor"),
    ],
)
def test_what_llvm_rejects_is_not_accepted_silently(text: str) -> None:
    assert LLVM_MC is not None
    command = [LLVM_MC, "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-filetype=null", "-"]
    assert subprocess.run(command, input=text.encode(), capture_output=True, timeout=60).returncode != 0
    try:
        source = parse_source("bad.s", text, SourceOptions(root="/nonexistent"))
    except LimitError as error:
        assert "limit" in str(error)
        return
    old = any(statement.name == ".amd_kernel_code_t" for statement in source.statements)
    assert source.problems or old
