"""The likeliest token that the grammar allows, found without asking it about all of them; draws by their weights."""

from __future__ import annotations

import ctypes
from collections import Counter

import pytest

np = pytest.importorskip("numpy")

from asmevo_gate.rewrite.constrained_sampling import ConstrainedSampler  # noqa: E402


class Token(ctypes.Structure):
    _fields_ = (("id", ctypes.c_int32), ("logit", ctypes.c_float), ("p", ctypes.c_float))


class Tokens(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.POINTER(Token)),
        ("size", ctypes.c_size_t),
        ("selected", ctypes.c_int64),
        ("sorted", ctypes.c_bool),
    )


class Library:
    """llama.cpp's grammar, of which only a set of tokens is left."""

    llama_token_data_p = ctypes.POINTER(Token)
    llama_token_data_array = Tokens

    def __init__(self, allowed: set[int]) -> None:
        self.allowed = allowed
        self.asked: list[int] = []
        self.accepted: list[int] = []

    def llama_sampler_init_grammar(self, vocabulary: object, text: bytes, root: bytes) -> int:
        return 1 if text else 0

    def llama_sampler_apply(self, rules: int, array: object) -> None:
        tokens = array._obj  # type: ignore[attr-defined]
        self.asked.append(tokens.size)
        for at in range(tokens.size):
            if tokens.data[at].id not in self.allowed:
                tokens.data[at].logit = -float("inf")

    def llama_sampler_accept(self, rules: int, token: int) -> None:
        self.accepted.append(token)


SIZE = 3000


@pytest.mark.parametrize("rank", [0, 1, 31, 32, 33, 1023, 1024, 1025, 2999])
def test_likeliest_token_that_is_allowed(rank: int) -> None:
    logits = np.random.default_rng(rank).permutation(SIZE).astype(np.float32)
    order = np.argsort(-logits)
    library = Library({int(token) for token in order[rank:]})
    sampler = ConstrainedSampler(library, None, "rules", 0.0, 1)
    assert sampler.next(logits) == order[rank]
    assert library.accepted == [order[rank]]
    assert library.asked == [32, 1024, SIZE][: 1 + (rank >= 32) + (rank >= 1024)]


def test_of_equal_ones_it_is_the_same_however_many_were_tried() -> None:
    logits = np.zeros(SIZE, np.float32)
    logits[[7, 70, 700]] = 5.0
    assert ConstrainedSampler(Library({700, 70, 2000}), None, "rules", 0.0, 1).next(logits) == 70


def test_draws_follow_the_weights_of_the_allowed_ones_and_the_seed() -> None:
    logits = np.full(SIZE, 9.0, np.float32)
    logits[[10, 20]] = [2.0, 2.0 - np.log(3.0)]
    sampler = ConstrainedSampler(Library({10, 20}), None, "rules", 1.0, 5)
    drawn = Counter(sampler.next(logits) for _ in range(2000))
    assert set(drawn) == {10, 20} and 2.5 < drawn[10] / drawn[20] < 3.6
    cold = ConstrainedSampler(Library({10, 20}), None, "rules", 0.05, 5)
    assert {cold.next(logits) for _ in range(50)} == {10}
    one, two, other = (ConstrainedSampler(Library(set(range(SIZE))), None, "r", 1.0, seed) for seed in (3, 3, 4))
    draws = [[sampler.next(logits) for _ in range(20)] for sampler in (one, two, other)]
    assert draws[0] == draws[1] != draws[2]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_grammar_that_allows_nothing_or_cannot_be_read_is_an_error(temperature: float) -> None:
    with pytest.raises(ValueError, match="allows no token"):
        ConstrainedSampler(Library(set()), None, "rules", temperature, 1).next(np.zeros(SIZE, np.float32))
    with pytest.raises(ValueError, match="cannot be read"):
        ConstrainedSampler(Library(set()), None, "", temperature, 1)
