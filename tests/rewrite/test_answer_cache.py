"""The cache of answers: by content, whole or not at all, bounded."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from asmevo_gate.rewrite.answer_cache import MOST_ENTRY_BYTES, AnswerCache, answer_key
from asmevo_gate.rewrite.model_messages import Answer, TooLong

ANSWER = Answer("delete 1\ndone", 100, 6, True, 0.5)


def quiet(line: str) -> None:
    raise AssertionError(line)


def test_what_was_kept_is_found_again(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "new" / "answers", quiet)
    one, other = answer_key("model", "question", 1), answer_key("model", "question", 2)
    assert cache.get(one) is None
    cache.put(one, ANSWER)
    cache.put(other, TooLong(5000, 3712))
    again = AnswerCache(tmp_path / "new" / "answers", quiet)
    assert again.get(one) == ANSWER and again.get(other) == TooLong(5000, 3712)
    assert again.hits == 2


def test_every_part_of_a_question_counts_and_parts_do_not_run_together() -> None:
    keys = {
        answer_key(*parts) for parts in (("a", "b"), ("ab",), ("ab", ""), ("b", "a"), ("a", "b", 1), ("a", "b", 1.5))
    }
    assert len(keys) == 6


def test_what_cannot_be_read_is_no_answer(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path, quiet)
    key = answer_key("x")
    place = tmp_path / f"{key}.json"
    valid = '{"type":"answer","text":"done","prompt_tokens":1,"answer_tokens":1,"complete":true,"seconds":0}'
    for content in (b"", b"{", b"\xff\xfe", b'{"type":"answer"}', b'{"type":"load"}', valid.encode()[:-9]):
        place.write_bytes(content)
        assert cache.get(key) is None
    place.write_bytes(valid.replace("done", "x" * MOST_ENTRY_BYTES).encode())
    assert cache.get(key) is None, "longer than any entry that is written"
    place.write_text(valid)
    assert cache.get(key) is not None
    cache.put(key, Answer("x" * MOST_ENTRY_BYTES, 1, 1, True, 0.0))
    found = cache.get(key)
    assert isinstance(found, Answer) and found.text == "done", "too large an answer is not kept"


def test_readers_see_whole_entries_while_others_write(tmp_path: Path) -> None:
    key = answer_key("shared")
    texts = ["a" * 20000 + "\ndone", "b" * 20000 + "\ndone"]
    seen: list[object] = []

    def write(text: str) -> None:
        for _ in range(100):
            AnswerCache(tmp_path, quiet).put(key, Answer(text, 1, 1, True, 0.0))

    writers = [threading.Thread(target=write, args=(text,)) for text in texts]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        seen.append(AnswerCache(tmp_path, quiet).get(key))
    found = [one.text for one in seen if isinstance(one, Answer)]
    assert found and set(found) <= set(texts)
    assert [path.name for path in tmp_path.iterdir()] == [f"{key}.json"]


def test_the_oldest_go_when_it_is_full(tmp_path: Path) -> None:
    foreign = tmp_path / "notes.txt"
    foreign.write_text("x" * 100_000)
    for number in range(20):
        path = tmp_path / f"{answer_key(number)}.json"
        path.write_text("x" * 1000)
        os.utime(path, (number, number))
    AnswerCache(tmp_path, quiet, limit=5000).put(answer_key("new"), ANSWER)
    left = {path.name for path in tmp_path.glob("*.json")}
    assert f"{answer_key('new')}.json" in left and f"{answer_key(19)}.json" in left
    assert f"{answer_key(0)}.json" not in left and 4 <= len(left) <= 6
    assert foreign.exists(), "what is no entry is left alone"


def test_a_directory_that_cannot_be_written_costs_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    lines: list[str] = []
    cache = AnswerCache(tmp_path / "file", lines.append)
    cache.put(answer_key("x"), ANSWER)
    assert cache.get(answer_key("x")) is None
    assert len(lines) == 1 and "cannot keep answers" in lines[0]
