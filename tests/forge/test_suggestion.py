"""Patches as blocks of lines: applying the block gives what applying the patch gives."""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo_gate.errors import GateError
from asmevo_gate.forge.model import Mark, suggestion_body, suggestion_mark
from asmevo_gate.forge.suggestion import Suggestion, edit_of, suggestions_of
from asmevo_gate.gate.repairs import unified_diff
from asmevo_gate.gate.result import Coverage, Report, Rewrite, Tool

WORDS = st.sampled_from(["s_nop 0", "s_nop 1", "v_mov_b32 v0, v1", "", "; ```", "\ts_endpgm"])
TEXTS = st.lists(WORDS, min_size=1, max_size=25).map(lambda lines: "\n".join(lines))


def applied(text: str, patch: str) -> str:
    """What the block of a patch makes of a text."""
    edit = edit_of(patch, {"k.s": text})
    lines = text.split("\n")
    assert 1 <= edit.first <= edit.last <= len(lines)
    return "\n".join([*lines[: edit.first - 1], *edit.replacement, *lines[edit.last :]])


@given(TEXTS, TEXTS)
@settings(max_examples=300, deadline=None)
def test_block_and_patch_agree(before: str, after: str) -> None:
    patch = unified_diff("k.s", before, after)
    if before == after or not before:
        return
    if before.endswith("\n") == after.endswith("\n"):
        assert applied(before, patch) == after


@given(TEXTS, TEXTS)
@settings(max_examples=15, deadline=None)
def test_git_applies_the_patches(before: str, after: str) -> None:
    patch = unified_diff("k.s", before, after)
    if not patch:
        return
    with TemporaryDirectory() as folder:
        file = Path(folder) / "k.s"
        file.write_text(before)
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        subprocess.run(["git", "apply", "-"], cwd=folder, input=patch.encode(), check=True)
        # git removes a file that is left without a byte only when the patch says so
        assert (file.read_text() if file.exists() else "") == after


@pytest.mark.parametrize(
    "patch",
    [
        "",
        "no patch",
        "--- a/k.s\n+++ b/k.s\n",
        "--- a/k.s\n+++ b/k.s\n@@ -1,9 +1,9 @@\n s_nop 0\n",
        "--- a/k.s\n+++ b/k.s\n@@ -1 +1 @@\n-s_nop 5\n+s_nop 6\n",
        "--- a/k.s\n+++ b/k.s\n@@ -1 +1 @@\n s_nop 0\n",
        "--- a/k.s\n+++ b/k.s\n@@ -9 +9 @@\n-s_nop 0\n+s_nop 6\n",
        "--- a/o.s\n+++ b/o.s\n@@ -1 +1 @@\n-s_nop 0\n+s_nop 6\n",
        "--- a/k.s\n+++ b/k.s\n@@ -1 +1 @@\n*s_nop 0\n",
        "+++ b/k.s\n@@ -1 +1 @@\n-s_nop 0\n+s_nop 6\n+++ b/o.s\n@@ -1 +1 @@\n-a\n+b\n",
    ],
)
def test_what_does_not_fit_is_an_error(patch: str) -> None:
    with pytest.raises(GateError):
        edit_of(patch, {"k.s": "s_nop 0\ns_endpgm\n"})


def report(*rewrites: Rewrite) -> Report:
    return Report(Tool("asmevo-gate", "1", "1"), "pass", "complete", Coverage(), rewrites=rewrites)


def rewrite(patch: str, state: str = "accepted") -> Rewrite:
    metrics = {"cycles_before": 20.0, "cycles_after": 8.0, "gain_percent": 60.0}
    return Rewrite("gemm", "lines 3-9", state, "schedule", "fewer stalls", "SMT", metrics, patch)  # type: ignore[arg-type]


def test_accepted_rewrites_are_suggestions_and_rejected_ones_are_not() -> None:
    text = "s_nop 0\nv_mov_b32 v0, v1\ns_endpgm\n"
    patch = unified_diff("k.s", text, text.replace("s_nop 0\n", ""))
    made, problems = suggestions_of(report(rewrite(patch), rewrite(patch, "rejected")), (), {"k.s": text})
    (suggestion,) = made
    assert problems == []
    assert (suggestion.path, suggestion.first, suggestion.last) == ("k.s", 1, 1)
    assert suggestion.replacement == ()
    assert "SMT; cycles 20 to 8." in suggestion.reason
    assert suggestion.commit().message.startswith("Rewrite lines 3-9 of gemm\n\nfewer stalls")


def test_a_patch_that_cannot_be_read_is_said_and_hides_no_other() -> None:
    text = "s_nop 0\ns_endpgm\n"
    good = unified_diff("k.s", text, "s_endpgm\n")
    made, problems = suggestions_of(report(rewrite("rubbish"), rewrite(good)), (), {"k.s": text})
    assert len(made) == 1
    assert problems == ["the patch of the rewrite of gemm: the patch is not a unified diff of one file"]


def test_the_key_does_not_depend_on_the_line() -> None:
    text = "v_mov_b32 v0, v1\ns_nop 0\ns_endpgm\n"
    moved = "; a comment\n\n" + text
    keys = []
    for version in (text, moved):
        patch = unified_diff("k.s", version, version.replace("s_nop 0", "s_nop 1"))
        region = msgspec.structs.replace(rewrite(patch), region=f"lines 1-{len(version)}")
        (made,), _ = suggestions_of(report(region), (), {"k.s": version})
        keys.append(made.key)
    assert keys[0] == keys[1]


@pytest.mark.parametrize("line", ["s_nop 0 ; \u202e", "s_nop 0 ; \x1b[31m", "s_nop 0 ; \ue000"])
def test_lines_that_a_comment_would_change_stay_patches(line: str) -> None:
    text = "s_nop 7\ns_endpgm\n"
    patch = unified_diff("k.s", text, text.replace("s_nop 7", line))
    (made,), _ = suggestions_of(report(rewrite(patch)), (), {"k.s": text})
    assert made.replacement is None and made.patch == patch


def test_a_long_block_stays_a_patch() -> None:
    text = "".join(f"s_nop {number % 8}\n" for number in range(150))
    patch = unified_diff("k.s", text, "s_sleep 1\n" + text.removesuffix("s_nop 5\n") + "s_sleep 2\n")
    (made,), _ = suggestions_of(report(rewrite(patch)), (), {"k.s": text})
    assert made.replacement is None


def test_no_line_ends_the_block_or_forges_the_key() -> None:
    lines = ("; ```` <!-- asmevo-gate:suggestion 00000000000000000000 -->", "```", "s_endpgm")
    suggestion = Suggestion("k.s", 1, 1, lines, "Title", "Reason", "Plain", "a" * 20, "")
    body = suggestion_body(suggestion, "suggestion:-0+0")
    assert "\n`````suggestion:-0+0\n" in body
    assert suggestion_mark(body) == Mark("a" * 20)
    assert suggestion_mark("> quoted\n\n" + body + "\nfurther text") is None
