"""Each format of each sample, byte for byte."""

from __future__ import annotations

import pytest

from tests.report.golden_files import FOLDER, golden_texts

TEXTS = golden_texts()


@pytest.mark.parametrize("name", TEXTS)
def test_a_format_gives_the_golden_text(name: str) -> None:
    assert TEXTS[name] == (FOLDER / name).read_text(encoding="utf-8")


def test_no_golden_file_is_left_over() -> None:
    assert sorted(TEXTS) == sorted(path.name for path in FOLDER.iterdir())
