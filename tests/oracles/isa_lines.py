"""Lines for the comparison of the instruction table with LLVM, and the comparison itself.

``isa_lines.txt.xz`` is written by ``tools/isa_table/make_table.py``: sample lines of every form, each with the mask of
its targets. ``rare_spellings.txt`` holds our own lines in spellings that no printer produces.
"""

from __future__ import annotations

import lzma
import random
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from asmevo_gate.isa.targets import find_target, target_names

HERE = Path(__file__).parent
sys.path.append(str(HERE.parents[1] / "tools/isa_table"))

if TYPE_CHECKING:
    from agreement import KnownException, Verdict
    from descriptions import Descriptions


class Llvm(NamedTuple):
    """The built extractor program and LLVM's descriptions."""

    program: Path
    descriptions: Descriptions


@cache
def llvm() -> Llvm:
    """Build the extractor (once per machine and user) and read the descriptions.

    Raises:
        llvm_program.MissingTool: no C++ compiler or no LLVM 22 development files.
    """
    from descriptions import Descriptions
    from llvm_program import build, describe

    program = build(Path(tempfile.gettempdir()) / "asmevo-isa-table")
    return Llvm(program, Descriptions(describe(program)))


@cache
def sample_lines() -> dict[str, tuple[str, ...]]:
    """Target -> lines that LLVM accepts on it, at least one of every form."""
    lines: dict[str, list[str]] = {target: [] for target in target_names()}
    content = lzma.decompress((HERE / "isa_lines.txt.xz").read_bytes()).decode()
    for row in content.splitlines():
        mask, _, text = row.partition(" ")
        for number, target in enumerate(target_names()):
            if int(mask, 16) >> number & 1:
                lines[target].append(text)
    return {target: tuple(texts) for target, texts in lines.items()}


def rare_spellings() -> Iterator[tuple[str, str]]:
    """(target, line) of our own list."""
    for row in (HERE / "rare_spellings.txt").read_text().splitlines():
        if row and not row.startswith(";"):
            target, _, text = row.partition(" ")
            yield target, text


def varied(target: str, texts: Iterable[str], seed: int) -> list[str]:
    """The lines on other registers, drawn with a seed."""
    from agreement import with_other_registers

    source = random.Random(f"{target} {seed}")
    return [with_other_registers(text, source) for text in texts]


_TAKE_MODIFIERS = ("v_", "buffer_", "tbuffer_", "flat_", "global_", "scratch_", "ds_", "s_load_", "s_buffer_load_")


def with_modifiers(target: str, texts: Iterable[str], seed: int) -> list[str]:
    """The vector and memory instructions among the lines, each with one more modifier of a right or wrong value."""
    from agreement import with_modifier

    source = random.Random(f"{target} modifiers {seed}")
    return [with_modifier(text, source) for text in texts if text.startswith(_TAKE_MODIFIERS)]


def compare(target: str, wave_size: int, lines: Iterable[str]) -> list[Verdict]:
    """The verdicts of the comparison for one target and wave size."""
    from agreement import Comparison

    tools = llvm()
    return Comparison(tools.program, tools.descriptions, target, wave_size).run(lines)


def known_exceptions() -> tuple[KnownException, ...]:
    """What is known to differ, with the reasons."""
    from agreement import known_exceptions

    return known_exceptions()


_COMMENT = re.compile(r";.*|//.*|/\*.*?\*/")


def instruction_lines(assembly: str) -> Iterator[str]:
    """The instruction lines of compiler output, without labels, directives and comments."""
    for line in assembly.splitlines():
        text = _COMMENT.sub("", line).strip()
        if text and line[:1] == "\t" and not text.startswith((".", "- ")) and not text.endswith(":"):
            yield re.sub(r"\s+", " ", text)


def other_wave_sizes(target: str) -> tuple[int, ...]:
    """The wave sizes of a target beside its default."""
    return find_target(target).wave_sizes[1:]
