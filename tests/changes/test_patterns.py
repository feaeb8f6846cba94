"""File name patterns mean what they mean in git."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo_gate.changes import Patterns

from .conftest import Scratch


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.s", "a.s", True),
        ("*.s", "deep/er/a.s", True),
        ("*.s", "a.S", False),
        ("*.s", "a.s/b", False),
        ("kernels/*.s", "kernels/a.s", True),
        ("kernels/*.s", "kernels/deep/a.s", False),
        ("kernels/*.s", "other/kernels/a.s", False),
        ("kernels/**", "kernels/deep/a.s", True),
        ("kernels/**/a.s", "kernels/a.s", True),
        ("kernels/**/a.s", "kernels/x/y/a.s", True),
        ("**/gfx9/*.s", "gfx9/a.s", True),
        ("**/gfx9/*.s", "x/gfx9/a.s", True),
        ("**/gfx9/*.s", "xgfx9/a.s", False),
        ("third_party/", "third_party/x/a.s", True),
        ("third_party/", "third_party.s", False),
        ("/a.s", "a.s", True),
        ("/a.s", "x/a.s", False),
        ("gfx9[04]*.s", "gfx942.s", True),
        ("gfx9[!04]*.s", "gfx942.s", False),
        ("a?.s", "ab.s", True),
        ("a?.s", "a/.s", False),
        ("a[.s", "a[.s", True),
        ("a+(b).s", "a+(b).s", True),
        ("*.s", "line\nbreak.s", True),
    ],
)
def test_patterns(pattern: str, path: str, expected: bool) -> None:
    assert Patterns([pattern]).matches(path) is expected


def test_no_pattern_matches_nothing() -> None:
    assert not Patterns([]).matches("a.s")


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.text("ab*?[]!/.s-", min_size=1, max_size=8).filter(lambda text: "//" not in text and text != "/"),
        min_size=25,
        max_size=25,
    )
)
def test_any_text_is_a_pattern(texts: list[str]) -> None:
    Patterns(texts).matches("a/b.s")


def test_git_agrees(scratch: Scratch) -> None:
    paths = ["a.s", "k/a.s", "k/d/a.s", "k/d/e/b.S", "third/x.s", "gfx942.s", "gfx90a.s", "ab.s"]
    for path in paths:
        scratch.stage(path, b"")
    for pattern in [
        "*.s",
        "k/*.s",
        "k/**",
        "k/**/*.S",
        "**/d/*",
        "third/",
        "/a.s",
        "gfx9[04]*",
        "gfx9[!0]*",
        "a?.s",
    ]:
        chosen = Patterns([pattern])
        listed = scratch.git("ls-files", "--", *chosen.pathspecs()).split()
        tracked = scratch.git("ls-files").split()
        assert [path for path in tracked if chosen.matches(path)] == listed, pattern
