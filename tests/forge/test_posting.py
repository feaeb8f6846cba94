"""One note and a few suggestions, the same on both forges; each server checks what it gets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asmevo_gate.forge.comparison import Comparison
from asmevo_gate.forge.github import SETTLED, GitHub
from asmevo_gate.forge.gitlab import GitLab
from asmevo_gate.forge.note import failure_text, note_name
from asmevo_gate.forge.posting import Posted, is_current, post_note, post_suggestions
from asmevo_gate.forge.suggestion import Suggestion
from asmevo_gate.report.markdown import MARKER

from . import fake_gitlab
from .conftest import PATH, suggest
from .fake_github import FakeGitHub
from .fake_gitlab import FakeGitLab
from .fake_server import git


def compared(root: Path) -> Comparison:
    return Comparison(git(root, "merge-base", "main", "HEAD"), git(root, "rev-parse", "HEAD"), "main", ())


def post(forge: GitLab | GitHub, root: Path, *suggestions: Suggestion, most: int = 5) -> Posted:
    said: list[str] = []
    return post_suggestions(forge, suggestions, most, root, compared(root), {}, said.append)


# GitLab


def test_gitlab_added_line(on_gitlab: GitLab, gitlab_server: FakeGitLab, repository: Path) -> None:
    posted = post(on_gitlab, repository, suggest(repository, 21, 21, "  s_nop 0", "  s_sleep 2"))
    assert posted == Posted(1, (), 0, 0)
    (discussion,) = gitlab_server.discussions
    position = discussion["notes"][0]["position"]
    assert (position["new_line"], "old_line" in position, "line_range" in position) == (21, False, False)
    gitlab_server.apply(discussion)
    assert "  s_sleep 1\n  s_nop 0\n  s_sleep 2\n" in (repository / PATH).read_text()


def test_gitlab_unchanged_line_has_both_numbers(on_gitlab: GitLab, gitlab_server: FakeGitLab, repository: Path) -> None:
    post(on_gitlab, repository, suggest(repository, 23, 23, "  s_nop 5"), suggest(repository, 40, 40, "x", key="b"))
    shown, unfolded = (one["notes"][0]["position"] for one in gitlab_server.discussions)
    assert (shown["old_line"], shown["new_line"]) == (22, 23)
    assert (unfolded["old_line"], unfolded["new_line"]) == (39, 40)


def test_gitlab_several_lines(on_gitlab: GitLab, gitlab_server: FakeGitLab, repository: Path) -> None:
    post(on_gitlab, repository, suggest(repository, 19, 21, "  s_nop 1"))
    (discussion,) = gitlab_server.discussions
    assert "```suggestion:-2+0\n" in discussion["notes"][0]["body"]
    ends = discussion["notes"][0]["position"]["line_range"]
    assert ends["start"]["line_code"].endswith("_19_19") and "type" not in ends["start"]
    assert ends["end"]["line_code"].endswith("_21_21") and ends["end"]["type"] == "new"
    gitlab_server.apply(discussion)
    lines = (repository / PATH).read_text().split("\n")
    assert lines[17:20] == ["  s_nop 2 ; 18", "  s_nop 1", "  s_nop 5 ; 21"]


def test_gitlab_takes_the_last_line_where_it_refuses_the_range(
    on_gitlab: GitLab, gitlab_server: FakeGitLab, repository: Path
) -> None:
    gitlab_server.refuse_ranges = True
    assert post(on_gitlab, repository, suggest(repository, 20, 21, "  s_nop 1")).on_lines == 1
    (discussion,) = gitlab_server.discussions
    assert "line_range" not in discussion["notes"][0]["position"]
    gitlab_server.apply(discussion)
    assert (repository / PATH).read_text().count("s_sleep") == 0


def test_gitlab_resolves_what_is_dealt_with(on_gitlab: GitLab, gitlab_server: FakeGitLab, repository: Path) -> None:
    first, second = suggest(repository, 20, 20, "a"), suggest(repository, 21, 21, "b", key="b")
    assert post(on_gitlab, repository, first, second).on_lines == 2
    assert post(on_gitlab, repository, second) == Posted(1, (), 0, 1)
    assert [one["notes"][0]["resolved"] for one in gitlab_server.discussions] == [True, False]
    assert post(on_gitlab, repository, second) == Posted(1, (), 0, 0)
    assert len(gitlab_server.sent("POST", "discussions")) == 2


def test_gitlab_what_somebody_resolved_is_not_posted_again(
    on_gitlab: GitLab, gitlab_server: FakeGitLab, repository: Path
) -> None:
    suggestion = suggest(repository, 20, 20, "a")
    post(on_gitlab, repository, suggestion)
    gitlab_server.discussions[0]["notes"][0]["resolved"] = True
    assert post(on_gitlab, repository, suggestion) == Posted(0, (), 0, 0)
    assert len(gitlab_server.discussions) == 1


def test_gitlab_leaves_the_discussions_of_others_alone(
    on_gitlab: GitLab, gitlab_server: FakeGitLab, repository: Path
) -> None:
    post(on_gitlab, repository, suggest(repository, 20, 20, "a"))
    gitlab_server.discussions[0]["notes"][0]["author"] = {"id": fake_gitlab.OTHER}
    assert post(on_gitlab, repository).resolved == 0


def test_gitlab_one_note_is_edited_in_place(on_gitlab: GitLab, gitlab_server: FakeGitLab) -> None:
    for number in range(130):  # two pages
        gitlab_server.add_note(f"comment {number}", fake_gitlab.OTHER)
    forged = gitlab_server.add_note(f"{MARKER}\npass, says somebody else", fake_gitlab.OTHER)
    gitlab_server.add_note(f"my text quotes\n{MARKER}")
    for text in ("one", "two", "two"):
        post_note(on_gitlab, f"{MARKER}\n{text}")
    own = [note["body"] for note in gitlab_server.notes if note["body"].startswith(MARKER) and note is not forged]
    assert own == [f"{MARKER}\ntwo"]
    assert (len(gitlab_server.sent("POST")), len(gitlab_server.sent("PUT"))) == (1, 1)


# GitHub


def test_github_lines_of_the_diff(on_github: GitHub, github_server: FakeGitHub, repository: Path) -> None:
    assert post(on_github, repository, suggest(repository, 20, 21, "  s_nop 1", key="b")).on_lines == 1
    (comment,) = github_server.review_comments
    assert (comment["start_line"], comment["line"], comment["start_side"]) == (20, 21, "RIGHT")
    github_server.apply(comment)
    assert (repository / PATH).read_text().count("s_sleep") == 0


def test_github_lines_outside_of_the_diff_go_into_the_note(
    on_github: GitHub, github_server: FakeGitHub, repository: Path
) -> None:
    suggestion = suggest(repository, 40, 40, "  s_nop 1")
    assert post(on_github, repository, suggestion).in_note == (suggestion,)
    assert github_server.sent("POST") == []


def test_github_a_refused_line_goes_into_the_note(
    on_github: GitHub, github_server: FakeGitHub, repository: Path
) -> None:
    github_server.fail_next("POST .*/pulls/9/comments", 422, {"message": "Validation Failed"})
    suggestion = suggest(repository, 20, 20, "  s_nop 1")
    assert post(on_github, repository, suggestion).in_note == (suggestion,)


def test_github_marks_what_is_dealt_with(on_github: GitHub, github_server: FakeGitHub, repository: Path) -> None:
    suggestion = suggest(repository, 20, 20, "a")
    post(on_github, repository, suggestion)
    assert post(on_github, repository).resolved == 1
    assert github_server.review_comments[0]["body"].startswith(SETTLED)
    assert post(on_github, repository).resolved == 0
    assert post(on_github, repository, suggestion) == Posted(0, (), 0, 0)


def test_github_one_note_is_edited_in_place(on_github: GitHub, github_server: FakeGitHub) -> None:
    for number in range(250):
        github_server.add_comment(f"comment {number}", "somebody")
    forged = github_server.add_comment(f"{MARKER}\npass, says somebody else", "somebody")
    for text in ("one", "two"):
        post_note(on_github, f"{MARKER}\n{text}")
    own = [one["body"] for one in github_server.comments if one["body"].startswith(MARKER) and one is not forged]
    assert own == [f"{MARKER}\ntwo"]
    assert forged["body"].endswith("somebody else")


# Both


def test_no_more_than_so_many_at_a_time(on_gitlab: GitLab, gitlab_server: FakeGitLab, repository: Path) -> None:
    many = [suggest(repository, line, line, "x", key=f"{line:02x}") for line in range(18, 26)]
    posted = post(on_gitlab, repository, *many, most=3)
    assert (posted.on_lines, posted.left_out, len(gitlab_server.discussions)) == (3, 5, 3)
    again = post(on_gitlab, repository, *many[2:], most=3)
    assert (again.on_lines, again.resolved, again.left_out) == (3, 2, 3)
    assert len(gitlab_server.open_suggestions()) == 3


def test_a_file_that_was_checked_in_another_state_gets_no_comment(
    on_gitlab: GitLab, gitlab_server: FakeGitLab, repository: Path
) -> None:
    gitlab_server.head = git(repository, "rev-parse", "HEAD")
    (repository / PATH).write_text("; another\n" + (repository / PATH).read_text())
    git(repository, "commit", "--quiet", "--all", "--message", "merged result")
    suggestion = suggest(repository, 21, 21, "  s_nop 1")
    assert post(on_gitlab, repository, suggestion).in_note == (suggestion,)


def test_an_older_commit_is_not_reported_over_a_newer_one(
    on_gitlab: GitLab, gitlab_server: FakeGitLab, repository: Path
) -> None:
    checked = compared(repository)
    said: list[str] = []
    assert is_current(on_gitlab, checked, said.append)
    git(repository, "commit", "--quiet", "--allow-empty", "--message", "newer")
    assert not is_current(on_gitlab, checked, said.append)
    assert "nothing is posted" in said[0]
    merged = checked._replace(head="f" * 40, parents=(checked.base, git(repository, "rev-parse", "faster")))
    assert is_current(on_gitlab, merged, said.append)


@pytest.mark.parametrize("path", [PATH, "kernels/missing.s"])
def test_a_path_that_is_not_in_the_diff(on_github: GitHub, repository: Path, path: str) -> None:
    suggestion = suggest(repository, 20, 20, "a")
    moved = Suggestion(**{**suggestion.__dict__, "path": path})
    assert post(on_github, repository, moved).on_lines == (1 if path == PATH else 0)


@pytest.mark.parametrize("forge", ["on_gitlab", "on_github"])
def test_gates_of_two_names_leave_each_other_alone(
    forge: str, request: pytest.FixtureRequest, gitlab_server: FakeGitLab, github_server: FakeGitHub, repository: Path
) -> None:
    client = request.getfixturevalue(forge)
    for name in ("", "gfx90a", "gfx1100"):
        suggestion = replace(suggest(repository, 20, 20, "a"), name=name)
        said: list[str] = []
        post_suggestions(client, [suggestion], 5, repository, compared(repository), {}, said.append, name)
        post_note(client, failure_text(f"by {name}", "c" * 40, "", name))
    post_note(client, failure_text("again", "c" * 40, "", "gfx90a"))
    notes = gitlab_server.notes if forge == "on_gitlab" else github_server.comments
    assert [note_name(note["body"]) for note in notes] == ["", "gfx90a", "gfx1100"]
    assert "again" in notes[1]["body"] and "## asmevo-gate gfx90a: not done" in notes[1]["body"]
    resolved = post_suggestions(client, [], 5, repository, compared(repository), {}, said.append, "gfx90a").resolved
    assert resolved == 1
    assert [thread.open for thread in client.threads()] == [True, False, True]
