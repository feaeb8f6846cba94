"""The next token that a grammar allows. Runs in the process of the model only.

llama.cpp's own chain asks the grammar about every token of the vocabulary, up to hundreds of thousands, for each token
of the answer. At temperature 0 the likeliest allowed one is wanted, and it is nearly always among the few likeliest.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CANDIDATES = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""``llama_token_data`` of llama.h."""
_FEW = (32, 1024)
"""How many of the likeliest tokens are tried before all of them."""


class ConstrainedSampler:
    """Tokens of one answer under one grammar (GBNF)."""

    def __init__(self, library: Any, vocabulary: Any, grammar: str, temperature: float, seed: int) -> None:
        self._library = library
        self._temperature = temperature
        self._random = np.random.default_rng(seed)
        self._rules = library.llama_sampler_init_grammar(vocabulary, grammar.encode(), b"root")
        if not self._rules:
            raise ValueError("the grammar cannot be read")

    def next(self, logits: NDArray[np.float32]) -> int:
        """The next token, of which the grammar takes note.

        Raises:
            ValueError: the grammar allows none.
        """
        token = self._likeliest(logits) if self._temperature == 0 else self._drawn(logits)
        self._library.llama_sampler_accept(self._rules, token)
        return token

    def close(self) -> None:
        """Free the grammar."""
        self._library.llama_sampler_free(self._rules)

    def _likeliest(self, logits: NDArray[np.float32]) -> int:
        for count in (*(few for few in _FEW if few < len(logits)), len(logits)):
            chosen = np.argpartition(-logits, count - 1)[:count].astype(np.int32)
            allowed = self._allowed(logits, chosen)
            if len(allowed):
                # Of equal ones the first, so that how many were tried makes no difference.
                best = allowed["logit"] == allowed["logit"].max()
                return int(allowed["id"][best].min())
        raise ValueError("the grammar allows no token")

    def _drawn(self, logits: NDArray[np.float32]) -> int:
        allowed = self._allowed(logits, np.arange(len(logits), dtype=np.int32))
        if not len(allowed):
            raise ValueError("the grammar allows no token")
        weights = np.exp((allowed["logit"] - allowed["logit"].max()).astype(np.float64) / self._temperature)
        sums = np.cumsum(weights)
        at = int(np.searchsorted(sums, self._random.random() * sums[-1], side="right"))
        return int(allowed["id"][min(at, len(allowed) - 1)])

    def _allowed(self, logits: NDArray[np.float32], chosen: NDArray[np.int32]) -> NDArray[Any]:
        """Those of the chosen tokens that the grammar allows next."""
        candidates = np.zeros(len(chosen), _CANDIDATES)
        candidates["id"] = chosen
        candidates["logit"] = logits[chosen]
        address = ctypes.cast(candidates.ctypes.data, self._library.llama_token_data_p)
        array = self._library.llama_token_data_array(address, len(chosen), -1, False)
        self._library.llama_sampler_apply(self._rules, ctypes.byref(array))
        allowed: NDArray[Any] = candidates[np.isfinite(candidates["logit"])]
        return allowed
