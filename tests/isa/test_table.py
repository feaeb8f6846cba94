"""The committed instruction table is whole: what ``make_table.py --check`` compares in full, cheaply."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter
from importlib.resources import files
from typing import Any

import pytest

from asmevo_gate.isa.instruction import OP_BITS
from asmevo_gate.isa.table import Table, load_table
from asmevo_gate.isa.targets import target_names


@pytest.fixture(scope="module")
def table() -> Table:
    return load_table()


def test_the_recorded_version_is_the_hash_of_the_content() -> None:
    packed = files("asmevo_gate.isa").joinpath("data/instructions.json.z").read_bytes()
    document: dict[str, Any] = json.loads(zlib.decompress(packed))
    recorded, document["version"] = document["version"], ""
    content = json.dumps(document, separators=(",", ":"), sort_keys=True).encode()
    assert recorded == hashlib.sha256(content).hexdigest()[:16]


def test_the_table_is_of_this_schema_and_llvm_and_for_every_target(table: Table) -> None:
    assert table.schema == "asmevo-gate/instructions/4"
    assert table.llvm.startswith("22.")
    assert tuple(table.targets) == target_names()


def test_every_row_is_complete(table: Table) -> None:
    everywhere = (1 << len(table.targets)) - 1
    for base, rows in table.mnemonics.items():
        for row in rows:
            assert 0 < row.mask <= everywhere, base
            assert len(table.slots[row.slots]) == len(row.roles), base
            assert set(row.roles.upper()) <= set("-DUBEKO"), base
            assert row.variant in ("", "e32", "e64", "dpp", "e64_dpp", "bare_dpp", "sdwa", "vopd"), base
            assert row.implicit < len(table.implicit) and row.modifiers < len(table.modifiers), base
            assert row.attributes < len(table.attributes), base


def test_no_form_is_there_twice_on_one_target(table: Table) -> None:
    for base, rows in table.mnemonics.items():
        forms = Counter(
            (row.variant, row.features, len(row.roles), number)
            for row in rows
            for number in range(len(table.targets))
            if row.mask >> number & 1
        )
        assert max(forms.values()) == 1, base


def test_class_bits_have_names(table: Table) -> None:
    known = sum(OP_BITS.values())
    assert not [classes for classes, _, _ in table.attributes if classes & ~known]
    assert all(size in (0, 4, 8, 12, 16) for _, size, _ in table.attributes)
