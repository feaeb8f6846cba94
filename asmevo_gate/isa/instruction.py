"""What one instruction text means on one GPU: operands, register sets and class bits.

A :class:`Decoded` is made once per distinct text (see :mod:`asmevo_gate.isa.decoder`) and shared by all
places where the text stands, so it holds nothing that depends on a position in a program.
"""

from __future__ import annotations

import msgspec


class Role:
    """How an instruction uses an operand. Plain numbers: the analyses test them millions of times."""

    NONE = 0
    READ = 1
    WRITE = 2
    KEEP = 4
    """The write leaves part of the register as it was (16-bit half, SDWA preserve, D16, DPP old value), so the
    old value is still needed: a KEEP operand counts as read."""


class Op:
    """Class bits of an instruction. Taken from LLVM's instruction descriptions (TSFlags and MCID flags).

    Plain numbers, as :class:`Role`; :data:`OP_BITS` finds them by name.
    """

    NONE = 0
    SALU = 1 << 0
    VALU = 1 << 1
    """Any vector ALU instruction, matrix instructions (MFMA, WMMA) and VOPD included."""
    TRANS = 1 << 2
    SMEM = 1 << 3
    BUFFER = 1 << 4
    """MUBUF and MTBUF."""
    IMAGE = 1 << 5
    """MIMG, VIMAGE, VSAMPLE."""
    FLAT = 1 << 6
    """flat_*: may address LDS as well as memory."""
    GLOBAL = 1 << 7
    SCRATCH = 1 << 8
    DS = 1 << 9
    GDS = 1 << 10
    EXPORT = 1 << 11
    LDSDIR = 1 << 12
    LOAD = 1 << 13
    STORE = 1 << 14
    ATOMIC = 1 << 15
    ATOMIC_RETURN = 1 << 16
    LDS_DMA = 1 << 17
    """Memory load that puts its data in LDS (buffer_load ... lds, global_load_lds_*)."""
    MFMA = 1 << 18
    WMMA = 1 << 19
    SPARSE = 1 << 20
    """SMFMAC, SWMMAC."""
    DOT = 1 << 21
    PACKED = 1 << 22
    DPP = 1 << 23
    SDWA = 1 << 24
    VOPD = 1 << 25
    BRANCH = 1 << 26
    CONDITIONAL = 1 << 27
    INDIRECT = 1 << 28
    CALL = 1 << 29
    TERMINATOR = 1 << 30
    """Ends the wave or never falls through (s_endpgm, s_branch, s_setpc, s_rfe ...)."""
    BARRIER = 1 << 31
    WAIT = 1 << 32
    """s_waitcnt*, s_wait_*."""
    VM_CNT = 1 << 33
    LGKM_CNT = 1 << 34
    EXP_CNT = 1 << 35
    ASYNC_CNT = 1 << 36
    TENSOR_CNT = 1 << 37
    SCALAR_STORE = 1 << 38
    SOPP = 1 << 39
    VOP3 = 1 << 40
    VOP3P = 1 << 41
    VOPC = 1 << 42
    GWS = 1 << 43
    FP_ATOMIC = 1 << 44
    SAMPLE = 1 << 45
    BVH = 1 << 46
    ACCVGPR = 1 << 47
    """v_accvgpr_read / v_accvgpr_write."""
    MUST_RETURN = 1 << 48
    UNMODELLED = 1 << 49
    """LLVM marks side effects that no operand shows."""


OP_BITS: dict[str, int] = {name: bit for name, bit in vars(Op).items() if name.isupper() and bit}
"""Name of a class -> its bit, as data files name them."""

VMEM = Op.BUFFER | Op.IMAGE | Op.FLAT | Op.GLOBAL | Op.SCRATCH
MATRIX = Op.MFMA | Op.WMMA


class Operand(msgspec.Struct, frozen=True, gc=False):
    """One operand slot as written.

    ``start``/``length`` are the interval on the register line (dwords), ``-1``/``0`` when it is no register.
    ``half`` is ``0`` or ``1`` for ``v1.l`` / ``v1.h``. ``value`` is the number of a literal or inline constant,
    ``None`` when it is no number or not known. ``indexed`` marks a register whose number is not the one named
    (M0-relative, GPR index mode): what it touches is unknown.
    """

    text: str
    role: int
    start: int = -1
    length: int = 0
    half: int | None = None
    value: int | float | None = None
    indexed: bool = False

    @property
    def mask(self) -> int:
        """Bit set of the registers of this operand."""
        return ((1 << self.length) - 1) << self.start if self.length else 0


class Decoded(msgspec.Struct, frozen=True, gc=False):
    """An instruction text with its meaning on one target (see the module docstring).

    ``base`` is the mnemonic without its encoding suffix, ``variant`` one of ``"" e32 e64 dpp e64_dpp sdwa vopd``.
    ``modifiers`` maps a modifier to its text value (``{"offset": "16", "glc": ""}``).
    ``reads`` and ``writes`` are register bit sets with the implicit registers (EXEC, VCC, SCC, M0, MODE) and with
    the kept destinations of partial writes among the reads; ``keeps`` are those destinations alone.
    ``implicit_reads`` / ``implicit_writes`` are the parts of the sets that stand in no operand.
    ``size`` is the least encoding size in bytes. ``schedule`` is the name of LLVM's scheduling class.
    """

    text: str
    mnemonic: str
    base: str
    variant: str
    operands: tuple[Operand, ...]
    modifiers: dict[str, str]
    reads: int
    writes: int
    keeps: int
    implicit_reads: int
    implicit_writes: int
    classes: int
    size: int
    schedule: str = ""
    halves: tuple[Decoded, ...] = ()
    """The X and Y halves of a VOPD instruction."""
    is_call: bool = False
    """True for s_swappc_b64, s_call_b64 and their later spellings."""
    has_indexed: bool = False
    """True when an operand is ``indexed``."""

    def of(self, classes: int) -> bool:
        """True when the instruction is in at least one of the classes."""
        return bool(self.classes & classes)


class NotDecoded(msgspec.Struct, frozen=True, gc=False):
    """Why a text has no meaning on the target; never a silent skip.

    ``kind``: ``not_on_target`` (the mnemonic or its variant exists on ``available_on`` only), ``unknown_mnemonic``,
    ``no_form`` (mnemonic known, but not with these operands or modifiers), ``symbolic`` (an operand needs a symbol
    that the file does not define).
    """

    text: str
    mnemonic: str
    kind: str
    reason: str
    available_on: tuple[str, ...] = ()
