"""No metadata document or descriptor block makes its reader crash, hang or multiply the file in memory."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asmevo_gate.errors import LimitError
from asmevo_gate.isa.targets import find_target
from asmevo_gate.program.descriptor import directive_value, parse_descriptors
from asmevo_gate.program.metadata import Metadata, metadata_of_document, parse_metadata
from asmevo_gate.source.parser import parse_source
from tests.fuzz.mutation import VALUES, damaged_text, damaged_value
from tests.program.code_objects import KERNEL

_QUICK = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
_WORDS = ("- ", "? ", ": ", "&a ", "*a", "<<: ", "!!int ", "!!python/object:os.system ", "| ", "> ", "[", "]", "{", "}",
          "1_000", "0o7", "0b1", ".inf", "1e999", "9" * 5000, "-0x" + "f" * 40, "٣", "²", "'", '"', "\\x", "\t", "\n",
          "\n  ", "---", "...", "%YAML 9.9", "#", "null", "~", "yes", "\0", "\x85", "\ud800")  # fmt: skip
_TARGET = find_target("gfx90a")
_DOCUMENT = {
    "amdhsa.version": [1, 2],
    "amdhsa.target": "amdgcn-amd-amdhsa--gfx90a",
    "amdhsa.kernels": [{".name": "k", ".symbol": "k.kd", ".vgpr_count": 4, ".args": [{".offset": 0, ".size": 8}]}],
}


def _read(document: str) -> Metadata | None:
    try:
        return parse_metadata(parse_source("fuzz.s", f".amdgpu_metadata\n{document}\n.end_amdgpu_metadata\n"))
    except LimitError as error:
        assert error.message
        return None


@_QUICK
@given(damaged_text(KERNEL.split(".amdgpu_metadata\n")[1].split(".end")[0], _WORDS))
def test_a_damaged_document_is_read_or_its_problem_said(document: str) -> None:
    _read(document)


@_QUICK
@given(st.text(max_size=200) | st.lists(st.sampled_from(_WORDS), max_size=40).map("".join))
def test_any_document_is_read_or_its_problem_said(document: str) -> None:
    _read(document)


@_QUICK
@given(damaged_value(_DOCUMENT) | VALUES)
def test_any_decoded_document_gives_kernels_or_problems(document: object) -> None:
    found = metadata_of_document(document, {}, None, [])
    assert all(isinstance(kernel.name, str) and isinstance(kernel.values, dict) for kernel in found.kernels)


@_QUICK
@given(damaged_text(KERNEL.split(".p2align 6\n")[1].split(".amdgpu_metadata")[0]))
def test_a_damaged_descriptor_is_read_or_its_problem_said(block: str) -> None:
    try:
        found = parse_descriptors(parse_source("fuzz.s", block), _TARGET)
    except LimitError as error:
        assert error.message
        return
    for descriptor in found.values():
        for name in ("next_free_vgpr", "accum_offset", "wavefront_size32", "reserve_xnack_mask"):
            directive_value(descriptor, name, _TARGET)


@pytest.mark.parametrize(
    "number", ["9" * 5000, "-" + "9" * 5000, "0" + "7" * 5000, "0x" + "f" * 5000, "٣", "1e" + "9" * 50]
)
def test_a_number_that_no_field_holds_is_no_crash(number: str) -> None:
    found = _read(f"amdhsa.kernels:\n  - .name: k\n    .vgpr_count: {number}")
    assert found
    assert found.kernels[0].name == "k"
    assert not isinstance(found.kernels[0].values[".vgpr_count"], int)


def test_a_long_key_does_not_multiply_the_document() -> None:
    document = f"? {'a' * 100_000}\n: [{'1,' * 20_000}]"
    tracemalloc.start()
    try:
        assert _read(document) is None
        assert tracemalloc.get_traced_memory()[1] < 300_000_000
    finally:
        tracemalloc.stop()


def test_the_lines_of_many_kernels_are_sorted_once() -> None:
    lines = {f"amdhsa.kernels[{number}].name": number for number in range(20_000)}
    entries = [{".name": f"k{number}"} for number in range(20_000)]
    started = time.process_time()
    found = metadata_of_document({"amdhsa.kernels": entries}, lines, None, [])
    assert time.process_time() - started < 2
    assert found.kernels[7].lines == {".name": 7}
