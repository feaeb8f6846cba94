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


def columns_of(function: Function) -> Columns:
    """The columns of a function."""
    meanings = [instruction.decoded for instruction in function.instructions]
    keys = list(map(id, meanings))
    distinct = {id(None): None, **dict(zip(keys, meanings, strict=True))}
    numbers = {key: number for number, key in enumerate(distinct)}
    number = list(map(numbers.__getitem__, keys))
    sizes = np.array([block.end - block.first for block in function.blocks], dtype=np.int64)
    return Columns(
        distinct=tuple(distinct.values()),
        number=np.array(number, dtype=np.int64),
        block=np.repeat(np.arange(len(function.blocks), dtype=np.int64), sizes),
    )
