"""The process of the language model: what a bad file, a bad library or a slow model does to a run. Needs no model."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

import asmevo_gate
from asmevo_gate.errors import UsageError
from asmevo_gate.rewrite import language_model
from asmevo_gate.rewrite.available_memory import available_bytes
from asmevo_gate.rewrite.language_model import LanguageModel, ModelError, ModelOptions

# What stands in for llama_cpp in the process of the model: {body} runs when a model is loaded, {answer} for a token.
LIBRARY = """
import ctypes, os, sys, time
N = 256
class llama_token_data(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int32), ("logit", ctypes.c_float), ("p", ctypes.c_float)]
llama_token_data_p = ctypes.POINTER(llama_token_data)
class llama_token_data_array(ctypes.Structure):
    _fields_ = [("data", llama_token_data_p), ("size", ctypes.c_size_t), ("selected", ctypes.c_int64),
                ("sorted", ctypes.c_bool)]
llama_sampler_init_grammar = lambda vocab, text, root: 1
llama_sampler_apply = lambda rules, array: None
llama_sampler_accept = lambda rules, token: None
llama_sampler_free = lambda rules: None
llama_model_is_recurrent = llama_model_is_hybrid = lambda model: False
llama_vocab_is_eog = lambda vocab, token: token == 0
def llama_get_logits_ith(ctx, row):
    return (ctypes.c_float * N)(*(1.0 if token == ord("x") else 0.0 for token in range(N)))
llama_log_callback = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
def llama_log_set(callback, data):
    global log
    log = callback
class Llama:
    def __init__(self, **options):
        {body}
        self.metadata = {{}}
        self.model = self._model = self.vocab = self.ctx = self
    def tokenize(self, text, **options):
        return list(text)
    def token_bos(self):
        return -1
    def reset(self):
        pass
    def detokenize(self, tokens):
        return bytes(tokens)
    def n_vocab(self):
        return N
    def eval(self, tokens):
        {answer}
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory from which the model's process takes ``llama_cpp``; ``use`` writes it."""
    if not Path(asmevo_gate.__file__).parents[1].joinpath("pyproject.toml").exists():
        pytest.skip("the gate is installed beside the real llama_cpp, which would be taken")
    place = tmp_path / "library"
    (place / "llama_cpp").mkdir(parents=True)
    (place / "llama_cpp" / "llama_chat_format.py").write_text("Jinja2ChatFormatter = None\n")
    monkeypatch.setenv("PYTHONPATH", str(place))
    monkeypatch.syspath_prepend(str(place))
    return place / "llama_cpp" / "__init__.py"


def use(library: Path, body: str = "pass", answer: str = "pass") -> None:
    library.write_text(LIBRARY.format(body=body, answer=answer))


def gguf(path: Path, size: int = 100) -> Path:
    path.write_bytes(b"GGUF" + bytes(size))
    return path


def refusal(path: Path, **options: object) -> str:
    model = LanguageModel(ModelOptions(path, **options))  # type: ignore[arg-type]
    with pytest.raises(ModelError) as caught:
        model.ask("question", 'root ::= "done"', 5, 1)
    with pytest.raises(ModelError) as again:
        model.ask("question", 'root ::= "done"', 5, 1)
    assert again.value is caught.value, "it is not tried twice"
    model.close()
    return str(caught.value)


def test_missing_file(tmp_path: Path) -> None:
    assert "cannot read the model" in refusal(tmp_path / "none.gguf")


def test_a_file_that_cannot_fit_in_memory_is_not_loaded(tmp_path: Path, library: Path) -> None:
    use(library, "raise AssertionError('it was loaded')")
    path = gguf(tmp_path / "huge.gguf")
    with path.open("r+b") as stream:
        stream.truncate(1 << 43)  # a hole: takes no space
    words = refusal(path, sha256="")
    assert "does not fit in memory" in words and "8192." in words and "GiB are available" in words


def test_memory_that_is_available(tmp_path: Path) -> None:
    meminfo, group = tmp_path / "meminfo", tmp_path / "group"
    group.mkdir()
    assert available_bytes(meminfo, group) is None
    meminfo.write_text("MemTotal:  9 kB\nMemAvailable:    2048 kB\n")
    assert available_bytes(meminfo, group) == 2 << 20
    (group / "memory.max").write_text("1048576\n")
    (group / "memory.current").write_text("600000\n")
    (group / "memory.stat").write_text("anon 1\ninactive_file 100000\n")
    assert available_bytes(meminfo, group) == 1048576 - 600000 + 100000
    (group / "memory.max").write_text("max\n")
    assert available_bytes(meminfo, group) == 2 << 20


def test_pin(tmp_path: Path, library: Path) -> None:
    use(library)
    path = gguf(tmp_path / "model.gguf")
    right = hashlib.sha256(path.read_bytes()).hexdigest()
    assert "not the pinned model" in refusal(path, sha256="0" * 64)
    model = LanguageModel(ModelOptions(path, sha256=right.upper()))
    assert model.digest == right == LanguageModel(ModelOptions(path)).digest
    assert model.load().context == 4096
    model.close()
    for wrong in ("12", "x" * 64, right + "0"):
        with pytest.raises(UsageError):
            LanguageModel(ModelOptions(path, sha256=wrong))


def test_without_the_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_model, "find_spec", lambda name: None)
    assert "pip install 'asmevo-gate[llm]'" in refusal(gguf(tmp_path / "model.gguf"))


CRASHES = {
    "os.abort()": "ended by signal SIGABRT",
    "ctypes.string_at(0)": "ended by signal SIGSEGV",
    "os._exit(3)": "ended with exit code 3",
    "raise ValueError('no such\\n architecture')": "ValueError: no such architecture",
    "log(4, b'error loading model: tensor is not within the file\\n', None); raise ValueError('Failed')": (
        "error loading model: tensor is not within the file"
    ),
}


@pytest.mark.parametrize(("body", "words"), CRASHES.items())
def test_whatever_loading_does_is_one_message(tmp_path: Path, library: Path, body: str, words: str) -> None:
    use(library, body)
    said = refusal(gguf(tmp_path / "model.gguf"))
    assert words in said and "cannot be loaded" in said
    assert len(said.splitlines()) == 2


def test_a_model_that_hangs_is_ended(tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_model, "LOAD_SECONDS", 3.0)
    monkeypatch.setattr(language_model, "_GRACE_SECONDS", 1.0)
    use(library, "time.sleep(600)")
    start = time.monotonic()
    assert "took longer than 3 seconds" in refusal(gguf(tmp_path / "model.gguf"))
    monkeypatch.setattr(language_model, "LOAD_SECONDS", 60.0)
    use(library, answer="time.sleep(600)")
    assert "took longer than 1.5 seconds" in refusal(gguf(tmp_path / "model.gguf"), seconds=0.5)
    assert time.monotonic() - start < 60


def test_an_answer_out_of_time_is_what_was_said_by_then(tmp_path: Path, library: Path) -> None:
    use(library, answer="time.sleep(0.02)")
    model = LanguageModel(ModelOptions(gguf(tmp_path / "model.gguf"), seconds=2.0))
    answer = model.ask("question", 'root ::= "x"*', 1000, 1)
    model.close()
    assert isinstance(answer, language_model.Answer)
    assert not answer.complete and set(answer.text) == {"x"} and answer.seconds < 30


def test_an_exception_while_answering_is_one_message(tmp_path: Path, library: Path) -> None:
    use(library, answer="raise RuntimeError('llama_decode returned -3')")
    assert "gave no answer: RuntimeError: llama_decode returned -3" in refusal(gguf(tmp_path / "model.gguf"))


def test_what_the_library_prints_is_no_reply(tmp_path: Path, library: Path) -> None:
    use(library, "print('hello'); os.write(1, b'noise\\n')")
    model = LanguageModel(ModelOptions(gguf(tmp_path / "model.gguf")))
    assert model.load().context == 4096
    model.close()


def test_the_process_takes_no_module_from_the_current_directory(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook runs in a repository that anyone may have filled."""
    use(library)
    repository = tmp_path / "repository"
    repository.mkdir()
    for name in ("llama_cpp", "msgspec", "asmevo_gate", "json"):
        (repository / f"{name}.py").write_text("import os; os._exit(77)\n")
    model = LanguageModel(ModelOptions(gguf(repository / "model.gguf")))
    monkeypatch.chdir(repository)
    assert model.load().context == 4096
    model.close()


def test_the_process_ends_with_the_model(tmp_path: Path, library: Path) -> None:
    use(library)
    model = LanguageModel(ModelOptions(gguf(tmp_path / "model.gguf")))
    model.load()
    assert model._process is not None
    child = model._process._child
    assert child.poll() is None
    model.close()
    assert child.poll() is not None and not Path(f"/proc/{child.pid}/status").exists()


def test_one_core_is_left_for_the_gate() -> None:
    threads = LanguageModel(ModelOptions(Path("model.gguf"))).options.threads
    assert threads == max(1, (os.cpu_count() or 2) - 1)
