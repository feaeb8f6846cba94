"""Which messages of an assembler become findings."""

from __future__ import annotations

from asmevo_gate.gate.compile_check import assembly_findings
from asmevo_gate.gate.target_choice import Configuration
from asmevo_gate.isa.targets import find_target
from asmevo_gate.source.parser import parse_source
from asmevo_gate.verify.assembler import AssemblyErrors, AssemblyMessage
from asmevo_gate.verify.discovery import Tool

_TOOL = Tool("llvm-mc", ("llvm-mc",), "22.1.8", frozenset(), "test")
_DESCRIPTOR = """.rodata
.amdhsa_kernel k
  .amdhsa_accum_offset 4
  .amdhsa_next_free_vgpr 4
.end_amdhsa_kernel
"""


def findings(text: str, *messages: tuple[int, str]) -> list[int]:
    """The lines of the findings made from (line, message) pairs."""
    errors = AssemblyErrors(tuple(AssemblyMessage("error", line, 1, words) for line, words in messages), _TOOL)
    way = Configuration(find_target("gfx908"), {}, (), None)
    return [one.line for one in assembly_findings(parse_source("k.s", text), way, errors, ())]


def test_what_follows_from_an_error_in_a_descriptor_is_not_reported_again() -> None:
    unknown = "unknown directive"
    assert findings(_DESCRIPTOR, (3, "directive requires gfx90a+"), (4, unknown), (5, unknown)) == [3]


def test_a_directive_that_no_assembler_knows_is_reported() -> None:
    assert findings(".amdhsa_next_free_vgpr 4\n", (1, "unknown directive")) == [1]
    assert findings("v_bad\n.frobnicate\n", (1, "invalid instruction"), (2, "unknown directive")) == [1, 2]
