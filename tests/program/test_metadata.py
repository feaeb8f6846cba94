"""``.amdgpu_metadata`` blocks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo_gate.errors import LimitError
from asmevo_gate.program.metadata import MAX_DEPTH, Metadata, parse_metadata
from asmevo_gate.source.parser import parse_source

DOCUMENT = """---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - .name: n
    .symbol: n.kd
    .vgpr_count: 0x18
    .uses_dynamic_stack: false
    .args:
      - { .name: y, .size: 8, .offset: 0, .value_kind: global_buffer }
      - .name: "1e3"
        .offset: 010
        .type_name: off
    .note: yes
    .ratio: 1.5
...
"""


def metadata(document: str) -> Metadata:
    found = parse_metadata(parse_source("k.s", f"\n.amdgpu_metadata\n{document}.end_amdgpu_metadata\n"))
    assert found is not None
    return found


def test_no_block_is_no_metadata() -> None:
    assert parse_metadata(parse_source("k.s", "s_endpgm\n")) is None


def test_scalars_are_resolved_as_llvm_does_and_names_stay_text() -> None:
    found = metadata(DOCUMENT)
    assert found.version == (1, 2)
    assert found.target == "amdgcn-amd-amdhsa--gfx942"
    (kernel,) = found.kernels
    assert kernel.name == "n"
    assert kernel.values[".vgpr_count"] == 24
    assert kernel.values[".uses_dynamic_stack"] is False
    assert kernel.values[".note"] == "yes"
    assert kernel.values[".ratio"] == 1.5
    first, second = kernel.values[".args"]
    assert first == {".name": "y", ".size": 8, ".offset": 0, ".value_kind": "global_buffer"}
    assert second == {".name": "1e3", ".offset": 8, ".type_name": "off"}


def test_every_key_knows_its_line() -> None:
    (kernel,) = metadata(DOCUMENT).kernels
    lines = ("\n.amdgpu_metadata\n" + DOCUMENT).splitlines()
    assert kernel.lines[".vgpr_count"] == lines.index("    .vgpr_count: 0x18") + 1
    assert kernel.lines[".args[1].offset"] == lines.index("        .offset: 010") + 1
    assert kernel.lines[".args"] == lines.index("    .args:") + 1


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("amdhsa.kernels: [", "line 4"),
        ("a: &x [1]\nb: *x\n", "aliases"),
        ("a: 1\na: 2\n", "twice"),
        ("- 1\n", "no map"),
        ("amdhsa.kernels:\n  - .vgpr_count: 3\n", ".name"),
        ("amdhsa.kernels: 3\n", "no list"),
        ("amdhsa.version: [one]\n", "version"),
        ("? [1]\n: 2\n", "key"),
        ("a: 'open\n", "YAML"),
    ],
)
def test_a_malformed_document_is_a_problem_not_an_exception(document: str, words: str) -> None:
    found = metadata(document)
    assert words in " ".join(found.problems)
    assert not found.kernels


def test_a_second_block_is_a_problem() -> None:
    block = ".amdgpu_metadata\namdhsa.kernels: []\n.end_amdgpu_metadata\n"
    found = parse_metadata(parse_source("k.s", block * 2))
    assert found is not None
    assert "second" in found.problems[0]


def test_deep_documents_hit_a_limit() -> None:
    with pytest.raises(LimitError, match="levels"):
        metadata("a: " + "[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2) + "\n")
    assert metadata("a: " + "[" * 50_000 + "\n").problems


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab.:-[]{},&*!|>'\"#? \n\t01é\x00", max_size=200))
def test_no_text_is_more_than_a_problem(text: str) -> None:
    found = metadata(text.replace(".end", "") + "\n")
    assert found.opening is not None
    for kernel in found.kernels:
        assert kernel.name
