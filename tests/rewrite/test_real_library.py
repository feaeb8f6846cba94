"""A model of random weights through the real llama-cpp-python: loading, grammar, limits; nothing unsafe passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from asmevo_gate.rewrite.answer_cache import AnswerCache
from asmevo_gate.rewrite.language_model import LanguageModel, ModelError, ModelOptions
from asmevo_gate.rewrite.model_messages import Answer, TooLong
from asmevo_gate.rewrite.model_proposer import ModelProposer
from asmevo_gate.rewrite.proposal import RewriteOptions
from asmevo_gate.rewrite.proposers import deterministic_proposers
from tests.rewrite.kernels import kernel, rewritten
from tests.rewrite.model_answers import BLOCKS, Block
from tests.rewrite.tiny_model import write_tiny_model

MISSING = [name for name in ("llama_cpp", "gguf") if find_spec(name) is None]
pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"needs the extras llm and dev: {' and '.join(MISSING)} not installed"
)
ANSWERS = 60
"""For each block; benchmarks/model_answers.py asks for thousands."""
CHAT = "{% for message in messages %}[{{ message.role }}]{{ message.content }}[end]{% endfor %}[assistant]"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="module")
def model(path: Path) -> Iterator[LanguageModel]:
    found = LanguageModel(ModelOptions(path, temperature=1.0))
    yield found
    found.close()


@pytest.mark.parametrize("name", BLOCKS)
def test_every_answer_is_read_and_nothing_unsafe_is_accepted(model: LanguageModel, name: str) -> None:
    found = Block(name, tokens=128).tally(model, range(ANSWERS))
    assert found.answers == found.complete == ANSWERS
    assert found.unread == [] and found.unsafe == []
    assert found.judged > ANSWERS / 2, "the answers differ"
    assert found.rejected["scope"] == 0


def test_some_random_answers_are_accepted(model: LanguageModel) -> None:
    """Else the test above could not fail."""
    found = Block("latency", tokens=128).tally(model, range(1000, 1000 + ANSWERS))
    assert found.accepted and not found.unsafe


def test_what_the_model_says_of_itself(path: Path, tmp_path: Path) -> None:
    model = LanguageModel(ModelOptions(path))
    loaded = model.load()
    assert (loaded.description, loaded.context, loaded.chat) == ("tiny random model 0", 4096, False)
    usage = model.usage()
    assert 10 << 20 < usage.peak_bytes < 1 << 30 and 0 < usage.processor_seconds < 60
    model.close()
    small = LanguageModel(ModelOptions(write_tiny_model(tmp_path / "small.gguf", context=512)))
    assert small.load().context == 512, "a model is not asked beyond what it was trained for"
    small.close()


def test_answers_repeat_whatever_was_asked_before(path: Path) -> None:
    rules = "root ::= [a-z]{20,40}\n"
    first, second = (LanguageModel(ModelOptions(path, temperature=1.0)) for _ in range(2))
    answers = [first.ask(f"question {number}", rules, 50, number) for number in range(4)]
    again = [second.ask(f"question {number}", rules, 50, number) for number in (2, 0, 3, 1)]
    texts = [one.text for one in answers if isinstance(one, Answer)]
    assert len(set(texts)) == 4
    assert [texts[number] for number in (2, 0, 3, 1)] == [one.text for one in again if isinstance(one, Answer)]
    other = second.ask("question 0", rules, 50, 7)
    assert isinstance(other, Answer) and other.text != texts[0], "the seed counts"
    first.close()
    second.close()


def test_what_is_still_known_of_the_last_question_changes_nothing(path: Path) -> None:
    """Questions of a second round begin like those of the first: only what is new is read."""
    rules, start = "root ::= [a-z]{20,40}\n", "The same long start of two questions. " * 40
    fresh, used = (LanguageModel(ModelOptions(path)) for _ in range(2))
    expected = fresh.ask(f"{start} and now this?", rules, 50, 1)
    for other in (start, f"{start} and then that?", start[:700]):
        used.ask(other, rules, 50, 1)
        again = used.ask(f"{start} and now this?", rules, 50, 1)
        assert isinstance(again, Answer) and isinstance(expected, Answer)
        assert again.text == expected.text and again.prompt_tokens == expected.prompt_tokens
    fresh.close()
    used.close()


def test_limits_of_tokens(model: LanguageModel) -> None:
    answer = model.ask("question", 'root ::= "x"{50,60}\n', 10, 1)
    assert isinstance(answer, Answer) and answer.text == "x" * 10 and not answer.complete
    long = model.ask("x" * 5000, 'root ::= "x"\n', 10, 1)
    assert isinstance(long, TooLong) and long.tokens > 5000 and long.limit == 4096 - 10
    assert isinstance(model.ask("question", 'root ::= "x"\n', 10, 1), Answer), "it goes on"


def test_a_grammar_that_is_none_is_one_message(path: Path) -> None:
    model = LanguageModel(ModelOptions(path))
    with pytest.raises(ModelError, match="the grammar cannot be read"):
        model.ask("question", "this is no grammar", 10, 1)
    model.close()


def test_chat_template_of_the_model_is_used(tmp_path: Path) -> None:
    plain = LanguageModel(ModelOptions(write_tiny_model(tmp_path / "plain.gguf")))
    chat = LanguageModel(ModelOptions(write_tiny_model(tmp_path / "chat.gguf", chat_template=CHAT)))
    assert chat.load().chat
    one, two = (model.ask("question", 'root ::= "x"\n', 5, 1) for model in (plain, chat))
    assert isinstance(one, Answer) and isinstance(two, Answer)
    assert two.prompt_tokens - one.prompt_tokens == len("[user][end][assistant]")
    plain.close()
    chat.close()


HOSTILE = {
    "cycle": "{% for a in range(99999999) %}{% for b in range(99999999) %}{% endfor %}{% endfor %}",
    "escape": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "error": "{{ raise_exception('no user role') }}",
}


@pytest.mark.parametrize("template", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_chat_template_is_one_message(tmp_path: Path, template: str) -> None:
    path = write_tiny_model(tmp_path / "model.gguf", chat_template=template)
    lines: list[str] = []
    proposer = ModelProposer(LanguageModel(ModelOptions(path, seconds=1.0)), lines.append)
    text = kernel(BLOCKS["dead code"][1])
    result = rewritten(text, "gfx90a", (*deterministic_proposers(RewriteOptions()), proposer))
    proposer.model.close()
    assert len(lines) == 1 and proposer.failure is not None
    assert result.after != text, "the others went on"


DAMAGE = {
    "empty": (lambda whole: b"", "is no GGUF file"),
    "text": (lambda whole: b"this is text", "is no GGUF file"),
    "magic only": (lambda whole: whole[:4], "cannot be loaded"),
    "half a header": (lambda whole: whole[:300], "cannot be loaded"),
    "half the weights": (lambda whole: whole[: len(whole) // 2], "corrupted or incomplete"),
    "one byte missing": (lambda whole: whole[:-1], "corrupted or incomplete"),
    "unknown architecture": (lambda whole: whole.replace(b"llama", b"lxama"), "unknown model architecture: 'lxama'"),
    "unknown version": (lambda whole: whole[:4] + b"\xff" + whole[5:], "cannot be loaded"),
    "too many tensors": (lambda whole: whole[:8] + b"\xff" * 8 + whole[16:], "cannot be loaded"),
    "bytes": (lambda whole: b"GGUF" + bytes(range(256)) * 40, "cannot be loaded"),
}
"""What is wrong with a file: how it is made of a whole one, and what the message says."""


@pytest.mark.parametrize(("damage", "words"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_one_message_and_the_others_go_on(
    tmp_path: Path, path: Path, damage: Callable[[bytes], bytes], words: str
) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(damage(path.read_bytes()))
    lines: list[str] = []
    proposer = ModelProposer(LanguageModel(ModelOptions(file)), lines.append)
    text = kernel(BLOCKS["dead code"][1])
    result = rewritten(text, "gfx90a", (*deterministic_proposers(RewriteOptions()), proposer))
    assert len(lines) == 1, lines
    assert words in lines[0] and str(file) in lines[0] and len(lines[0]) < 700
    assert result.after != text


def test_a_model_of_another_kind_is_one_message(tmp_path: Path) -> None:
    """A whole GGUF file that holds no text model."""
    import gguf
    import numpy as np

    file = tmp_path / "other.gguf"
    writer = gguf.GGUFWriter(file, "clip")
    writer.add_tensor("a", np.zeros((4, 4), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ModelError, match="cannot be loaded"):
        LanguageModel(ModelOptions(file)).load()


def test_a_small_context_splits_the_block_or_says_so(tmp_path: Path) -> None:
    small = LanguageModel(ModelOptions(write_tiny_model(tmp_path / "small.gguf", context=512)))
    lines: list[str] = []
    rewritten(kernel(BLOCKS["dead code"][1]), "gfx90a", (ModelProposer(small, lines.append),))
    small.close()
    assert any("does not fit the model's context" in line for line in lines)


def test_a_run_is_repeated_offline_from_its_answers(tmp_path: Path, path: Path) -> None:
    """With the pin, the model itself need not be there."""

    def run(file: Path, pin: str) -> tuple[str, ModelProposer, list[str]]:
        lines: list[str] = []
        model = LanguageModel(ModelOptions(file, sha256=pin, temperature=1.0))
        proposer = ModelProposer(model, lines.append, None, AnswerCache(tmp_path / "answers", lines.append))
        gpu, body, results = BLOCKS["latency"]
        result = rewritten(kernel(body, gpu, results), gpu, (proposer,))
        model.close()
        return result.after, proposer, lines

    pin = LanguageModel(ModelOptions(path)).digest
    after, first, lines = run(path, "")
    assert first.asking_seconds > 0 and not lines
    again, second, lines = run(tmp_path / "gone.gguf", pin)
    assert (again, second.counts, second.asking_seconds, lines) == (after, first.counts, 0.0, [])
    _, third, lines = run(tmp_path / "gone.gguf", pin[::-1])
    assert third.failure is not None and "cannot read the model" in lines[0]
