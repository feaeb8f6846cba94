"""A function as columns: numpy arrays over its instructions, for analyses that run over the whole kernel at once.

Real kernels repeat themselves, so that an instruction is a number of a distinct meaning and a property of a meaning
is looked up once (``property[columns.number]``). Needs numpy; import it only where columns are used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asmevo_gate.isa.instruction import Decoded

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Columns:
    """Columns of one function.

    ``number`` gives for each instruction its entry of ``distinct``; entry 0 stands for instructions without a
    meaning.
    """

    distinct: tuple[Decoded | None, ...]
    number: Numbers


def columns_of(keys: Sequence[int], meanings: Mapping[int, Decoded | None]) -> Columns:
    """The columns of a function. ``keys`` has the key of each instruction's meaning, ``meanings`` what each key means;
    instructions without a meaning have one key."""
    understood = {key: decoded for key, decoded in meanings.items() if decoded is not None}
    numbers = dict.fromkeys(meanings, 0) | {key: number for number, key in enumerate(understood, 1)}
    number = np.fromiter(map(numbers.__getitem__, keys), np.int64, len(keys))
    return Columns((None, *understood.values()), number)
