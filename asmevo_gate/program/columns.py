"""A function as columns: numpy arrays over its instructions, for analyses that run over the whole kernel at once.

Real kernels repeat themselves, so that an instruction is a number of a distinct meaning and a property of a meaning
is looked up once (``property[columns.number]``). Needs numpy; import it only where columns are used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asmevo_gate.isa.instruction import Decoded
from asmevo_gate.program.model import Function

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Columns:
    """Columns of one function.

    ``number`` gives for each instruction its entry of ``distinct``; entry 0 stands for instructions without a
    meaning. ``block`` gives the number of its basic block.
    """

    distinct: tuple[Decoded | None, ...]
    number: Numbers
    block: Numbers


def columns_of(function: Function, keys: list[int] | None = None) -> Columns:
    """The columns of a function. ``keys`` are the ``id`` of each instruction's meaning, where the caller has them."""
    meanings = [instruction.decoded for instruction in function.instructions] if keys is None else None
    keys = list(map(id, meanings)) if meanings is not None else keys or []
    numbers: dict[int, int] = {id(None): 0}
    for key in dict.fromkeys(keys):
        numbers.setdefault(key, len(numbers))
    number = np.fromiter(map(numbers.__getitem__, keys), np.int64, len(keys))
    # Where each distinct meaning stands first.
    places = np.unique(number, return_index=True)[1].tolist()
    found = {int(number[place]): function.instructions[place].decoded for place in places}
    sizes = np.array([block.end - block.first for block in function.blocks], dtype=np.int64)
    return Columns(
        distinct=tuple(found.get(entry) for entry in range(len(numbers))),
        number=number,
        block=np.repeat(np.arange(len(function.blocks), dtype=np.int64), sizes),
    )
