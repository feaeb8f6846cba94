"""Operations that the generated kernels are made of: LLVM IR lines with the targets that have them.

Each operation draws its operands from a pool of typed values and returns the type of its result. Types are LLVM's;
``s32`` is a uniform ``i32``, kept apart so that scalar registers stay scalar.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

VEGA = ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950")
MFMA = ("gfx908", "gfx90a", "gfx942", "gfx950")
CDNA2 = ("gfx90a", "gfx942", "gfx950")
CDNA3 = ("gfx942", "gfx950")
GFX10 = ("gfx1010", "gfx1030")
GFX11 = ("gfx1100", "gfx1151")
GFX12 = ("gfx1200", "gfx1201")
RDNA = (*GFX10, *GFX11, *GFX12)
ALL = (*VEGA, *RDNA, "gfx1250")


@dataclass
class Body:
    """IR lines of one basic block being written, and the values in scope by type."""

    rng: random.Random
    gpu: str
    wave: int
    pool: dict[str, list[str]]
    number: list[int]
    lines: list[str] = field(default_factory=list)
    declarations: set[str] = field(default_factory=set)

    def use(self, kind: str) -> str:
        """A value of a type; the newer ones are taken more often, so that dependences are short."""
        values = self.pool[kind]
        return values[-1 - min(int(self.rng.expovariate(0.45)), len(values) - 1)]

    def let(self, kind: str, text: str) -> str:
        """A new value."""
        self.number[0] += 1
        name = f"%x{self.number[0]}"
        self.lines.append(f"  {name} = {text}")
        self.pool.setdefault(kind, []).append(name)
        return name

    def call(self, kind: str, result: str, name: str, *arguments: str) -> str:
        """A call of an intrinsic; ``arguments`` are typed (``i32 %x``)."""
        types = ", ".join(argument.rpartition(" ")[0].replace(" immarg", "") for argument in arguments)
        self.declarations.add(f"declare {result} @llvm.{name}({types})")
        return self.let(kind, f"call {result} @llvm.{name}({', '.join(arguments)})")

    def run(self, name: str, *arguments: str) -> None:
        """A call without a result."""
        types = ", ".join(argument.rpartition(" ")[0] for argument in arguments)
        self.declarations.add(f"declare void @llvm.{name}({types})")
        self.lines.append(f"  call void @llvm.{name}({', '.join(arguments)})")

    def vector(self, length: int, element: str) -> str:
        """A vector value, built from scalars when there is none yet."""
        kind = f"<{length} x {element}>"
        if not self.pool.get(kind) or self.rng.random() < 0.15:
            value = "zeroinitializer"
            scalar = "float" if element == "float" else element
            for position in range(min(length, 4)):
                source = self.use(scalar)
                self.number[0] += 1
                name = f"%x{self.number[0]}"
                self.lines.append(
                    f"  {name} = insertelement {kind} {value}, {element} {source}, i32 {position * length // 4}"
                )
                value = name
            self.pool.setdefault(kind, []).append(value)
        return self.use(kind)

    def take(self, length: int, element: str, value: str) -> None:
        """Extract an element of a vector into the pool of scalars."""
        position = self.rng.randrange(length)
        self.let(element, f"extractelement <{length} x {element}> {value}, i32 {position}")


Operation = Callable[[Body], None]


def _float_arithmetic(b: Body) -> None:
    operator = b.rng.choice(("fadd", "fsub", "fmul"))
    b.let("float", f"{operator} float {b.use('float')}, {b.use('float')}")


def _integer_arithmetic(b: Body) -> None:
    operator = b.rng.choice(("add", "sub", "xor", "and", "or", "mul", "shl", "lshr"))
    b.let("i32", f"{operator} i32 {b.use('i32')}, {b.use('i32')}")


def _vector_with_scalar(b: Body) -> None:
    b.let("i32", f"{b.rng.choice(('add', 'xor', 'mul', 'or'))} i32 {b.use('i32')}, {b.use('s32')}")


def _scalar_arithmetic(b: Body) -> None:
    b.let("s32", f"{b.rng.choice(('add', 'xor', 'mul', 'shl', 'and'))} i32 {b.use('s32')}, {b.use('s32')}")


def _scalar_select(b: Body) -> None:
    b.let("s1", f"icmp ult i32 {b.use('s32')}, {b.use('s32')}")
    b.let("s32", f"select i1 {b.use('s1')}, i32 {b.use('s32')}, i32 {b.use('s32')}")


def _compare(b: Body) -> None:
    b.let("i1", f"icmp {b.rng.choice(('ult', 'eq', 'sgt'))} i32 {b.use('i32')}, {b.use('i32')}")


def _float_compare(b: Body) -> None:
    b.let("i1", f"fcmp olt float {b.use('float')}, {b.use('float')}")


def _select(b: Body) -> None:
    b.let("float", f"select i1 {b.use('i1')}, float {b.use('float')}, float {b.use('float')}")


def _logic(b: Body) -> None:
    b.let("i1", f"{b.rng.choice(('and', 'or', 'xor'))} i1 {b.use('i1')}, {b.use('i1')}")


def _bits(b: Body) -> None:
    b.let("i32", f"bitcast float {b.use('float')} to i32")


def _float_of(b: Body) -> None:
    b.let("float", f"{b.rng.choice(('bitcast i32', 'uitofp i32'))} {b.use('i32')} to float")


def _read_first_lane(b: Body) -> None:
    b.call("s32", "i32", "amdgcn.readfirstlane.i32", f"i32 {b.use('i32')}")


def _read_lane(b: Body) -> None:
    b.call("s32", "i32", "amdgcn.readlane.i32", f"i32 {b.use('i32')}", f"i32 {b.use('s32')}")


def _write_lane(b: Body) -> None:
    b.call("i32", "i32", "amdgcn.writelane.i32", f"i32 {b.use('s32')}", f"i32 {b.use('s32')}", f"i32 {b.use('i32')}")


_DPP_EVERYWHERE = (0x1B, 0xB1, 0x4E, 0x101, 0x104, 0x111, 0x112, 0x114, 0x118, 0x121, 0x12F, 0x140, 0x141)
_DPP_GFX9 = (0x130, 0x134, 0x138, 0x13C, 0x142, 0x143)
_DPP_GFX10 = (0x150, 0x157, 0x161, 0x16F)


def _dpp(b: Body) -> None:
    controls = _DPP_EVERYWHERE + (_DPP_GFX9 if b.gpu in VEGA else _DPP_GFX10)
    kind = b.rng.choice(("float", "i32"))
    old = b.use(kind) if b.rng.random() < 0.5 else ("0.0" if kind == "float" else "0")
    masks = b.rng.choice((("15", "15"), ("10", "15"), ("12", "15"), ("15", "7")))
    llvm = "f32" if kind == "float" else "i32"
    value = b.call(
        kind, kind, f"amdgcn.update.dpp.{llvm}", f"{kind} {old}", f"{kind} {b.use(kind)}",
        f"i32 {b.rng.choice(controls)}", f"i32 {masks[0]}", f"i32 {masks[1]}", f"i1 {b.rng.choice(('true', 'false'))}",
    )  # fmt: skip
    if kind == "float":
        b.let("float", f"fadd float {value}, {b.use('float')}")


def _reduction(b: Body) -> None:
    for control in (0x111, 0x112, 0x114, 0x118):
        value = b.use("float")
        moved = b.call(
            "float", "float", "amdgcn.update.dpp.f32", "float 0.0", f"float {value}", f"i32 {control}",
            "i32 15", "i32 15", "i1 true",
        )  # fmt: skip
        b.let("float", f"fadd float {value}, {moved}")


def _divide(b: Body) -> None:
    b.let("float", f"fdiv float {b.use('float')}, {b.use('float')}")


def _divide_double(b: Body) -> None:
    b.let("double", f"fdiv double {b.use('double')}, {b.use('double')}")


def _div_fmas(b: Body) -> None:
    b.call(
        "float", "float", "amdgcn.div.fmas.f32", f"float {b.use('float')}", f"float {b.use('float')}",
        f"float {b.use('float')}", f"i1 {b.use('i1')}",
    )  # fmt: skip


def _double(b: Body) -> None:
    kind = b.rng.choice(("fadd", "fmul", "fma"))
    if kind == "fma":
        b.call("double", "double", "fma.f64", *(f"double {b.use('double')}" for _ in range(3)))
    else:
        b.let("double", f"{kind} double {b.use('double')}, {b.use('double')}")


def _double_of(b: Body) -> None:
    b.let("double", f"fpext float {b.use('float')} to double")
    b.let("float", f"fptrunc double {b.use('double')} to float")


def _transcendental(b: Body) -> None:
    name = b.rng.choice(("rcp", "rsq", "sqrt", "exp2", "log", "sin", "cos"))
    b.call("float", "float", f"amdgcn.{name}.f32", f"float {b.use('float')}")


def _transcendental_half(b: Body) -> None:
    b.call("half", "half", f"amdgcn.{b.rng.choice(('rcp', 'rsq', 'sqrt'))}.f16", f"half {b.use('half')}")


def _half(b: Body) -> None:
    b.let("half", f"{b.rng.choice(('fadd', 'fmul'))} half {b.use('half')}, {b.use('half')}")


def _half_of(b: Body) -> None:
    b.let("half", f"fptrunc float {b.use('float')} to half")
    b.let("float", f"fpext half {b.use('half')} to float")


def _packed_half(b: Body) -> None:
    first = b.let("<2 x half>", f"insertelement <2 x half> zeroinitializer, half {b.use('half')}, i32 0")
    second = b.let("<2 x half>", f"insertelement <2 x half> {first}, half {b.use('half')}, i32 1")
    total = b.let("<2 x half>", f"fadd <2 x half> {second}, {b.use('<2 x half>')}")
    b.let("half", f"extractelement <2 x half> {total}, i32 {b.rng.randrange(2)}")


def _short(b: Body) -> None:
    low = b.let("i16", f"trunc i32 {b.use('i32')} to i16")
    b.let("i16", f"{b.rng.choice(('add', 'mul', 'xor'))} i16 {low}, {b.use('i16')}")
    wide = b.let("i32", f"zext i16 {b.use('i16')} to i32")
    b.let("i32", f"shl i32 {wide}, 16")
    b.let("i32", f"or i32 {b.use('i32')}, {wide}")


def _bytes(b: Body) -> None:
    shifted = b.let("i32", f"lshr i32 {b.use('i32')}, {b.rng.choice((8, 16, 24))}")
    masked = b.let("i32", f"and i32 {shifted}, 255")
    b.let("float", f"uitofp i32 {masked} to float")


def _long(b: Body) -> None:
    wide = b.let("i64", f"zext i32 {b.use('i32')} to i64")
    b.let("i64", f"{b.rng.choice(('add', 'mul', 'sub', 'shl'))} i64 {wide}, {b.use('i64')}")
    b.let("i32", f"trunc i64 {b.use('i64')} to i32")


def _packed_float(b: Body) -> None:
    left, right = b.vector(2, "float"), b.vector(2, "float")
    value = b.let("<2 x float>", f"{b.rng.choice(('fadd', 'fmul'))} <2 x float> {left}, {right}")
    b.take(2, "float", value)


def _lds(b: Body) -> None:
    index = b.let("i32", f"and i32 {b.use('i32')}, 255")
    place = b.let("lds", f"getelementptr float, ptr addrspace(3) @lds, i32 {index}")
    b.lines.append(f"  store float {b.use('float')}, ptr addrspace(3) {place}")
    b.let("float", f"load float, ptr addrspace(3) {b.use('lds')}")


def _load(b: Body) -> None:
    index = b.let("i32", f"and i32 {b.use('i32')}, 65535")
    place = b.let("ptr", f"getelementptr float, ptr addrspace(1) %p, i32 {index}")
    b.let("float", f"load float, ptr addrspace(1) {place}")


def _scalar_load(b: Body) -> None:
    index = b.let("s32", f"and i32 {b.use('s32')}, 65535")
    place = b.let("sptr", f"getelementptr i32, ptr addrspace(4) %c, i32 {index}")
    b.let("s32", f"load i32, ptr addrspace(4) {place}")


def _load_at_scalar(b: Body) -> None:
    """A vector load whose base is uniform: the scalar address of a global load."""
    base = b.let("sptr1", f"getelementptr i32, ptr addrspace(1) %p, i32 {b.use('s32')}")
    index = b.let("i32", f"and i32 {b.use('i32')}, 1023")
    place = b.let("ptr", f"getelementptr i32, ptr addrspace(1) {base}, i32 {index}")
    b.let("i32", f"load i32, ptr addrspace(1) {place}")


def _wide_store(b: Body) -> None:
    value = b.vector(4, "float")
    index = b.let("i32", f"and i32 {b.use('i32')}, 4095")
    place = b.let("ptr", f"getelementptr <4 x float>, ptr addrspace(1) %q, i32 {index}")
    b.lines.append(f"  store <4 x float> {value}, ptr addrspace(1) {place}, align 16")
    changed = b.let(
        "<4 x float>", f"insertelement <4 x float> {value}, float {b.use('float')}, i32 {b.rng.randrange(4)}"
    )
    b.take(4, "float", changed)


def _buffer_store(b: Body) -> None:
    value = b.vector(4, "float")
    soffset = b.rng.choice(("0", b.use("s32")))
    b.run(
        "amdgcn.raw.ptr.buffer.store.v4f32", f"<4 x float> {value}", "ptr addrspace(8) %r", f"i32 {b.use('i32')}",
        f"i32 {soffset}", "i32 0",
    )  # fmt: skip
    b.let("<4 x float>", f"insertelement <4 x float> {value}, float {b.use('float')}, i32 {b.rng.randrange(4)}")


def _buffer_load(b: Body) -> None:
    b.call(
        "float", "float", "amdgcn.raw.ptr.buffer.load.f32", "ptr addrspace(8) %r", f"i32 {b.use('i32')}",
        f"i32 {b.use('s32')}", "i32 0",
    )  # fmt: skip


def _permute(b: Body) -> None:
    b.call("i32", "i32", "amdgcn.ds.bpermute", f"i32 {b.use('i32')}", f"i32 {b.use('i32')}")


def _ballot(b: Body) -> None:
    if b.wave == 32:
        b.call("s32", "i32", "amdgcn.ballot.i32", f"i1 {b.use('i1')}")
    else:
        value = b.call("s64", "i64", "amdgcn.ballot.i64", f"i1 {b.use('i1')}")
        b.let("s32", f"trunc i64 {value} to i32")


def _float_atomic(b: Body) -> None:
    index = b.let("i32", f"and i32 {b.use('i32')}, 4095")
    place = b.let("ptr", f"getelementptr float, ptr addrspace(1) %q, i32 {index}")
    operator = b.rng.choice(("fmin", "fmax", "fadd"))
    b.let(
        "float",
        f'atomicrmw {operator} ptr addrspace(1) {place}, float {b.use("float")} syncscope("agent") monotonic, '
        "!amdgpu.no.fine.grained.memory !0, !amdgpu.no.remote.memory !0, !amdgpu.ignore.denormal.mode !0",
    )


def _message(b: Body) -> None:
    b.run("amdgcn.s.sendmsg", "i32 1", f"i32 {b.use('s32')}")


def _set_register(b: Body) -> None:
    b.run("amdgcn.s.setreg", f"i32 {b.rng.choice((2049, 2177, 6145))}", f"i32 {b.use('s32')}")


def _get_register(b: Body) -> None:
    b.call("s32", "i32", "amdgcn.s.getreg", f"i32 {b.rng.choice((63489, 63490, 63491))}")


def _barrier_resource(b: Body) -> None:
    b.run("amdgcn.ds.gws.init", f"i32 {b.use('i32')}", f"i32 {b.use('s32')}")


def _load_to_lds(b: Body) -> None:
    index = b.let("i32", f"and i32 {b.use('i32')}, 4095")
    place = b.let("ptr", f"getelementptr float, ptr addrspace(1) %p, i32 {index}")
    offset = b.let("s32", f"and i32 {b.use('s32')}, 255")
    target = b.let("ldsbase", f"getelementptr float, ptr addrspace(3) @lds, i32 {offset}")
    b.run(
        "amdgcn.global.load.lds", f"ptr addrspace(1) {place}", f"ptr addrspace(3) {target}", "i32 4", "i32 0", "i32 0"
    )


def _convert_fp8(b: Body) -> None:
    word = b.rng.choice(("true", "false"))
    b.call(
        "i32", "i32", "amdgcn.cvt.pk.fp8.f32", f"float {b.use('float')}", f"float {b.use('float')}",
        f"i32 {b.use('i32')}", f"i1 {word}",
    )  # fmt: skip


def _convert_fp8_stochastic(b: Body) -> None:
    b.call(
        "i32", "i32", "amdgcn.cvt.sr.fp8.f32", f"float {b.use('float')}", f"i32 {b.use('i32')}", f"i32 {b.use('i32')}",
        f"i32 {b.rng.randrange(4)}",
    )  # fmt: skip


def _dot(b: Body) -> None:
    if b.rng.random() < 0.5:
        b.call("i32", "i32", "amdgcn.sdot4", *(f"i32 {b.use('i32')}" for _ in range(3)), "i1 false")
    else:
        left, right = b.use("<2 x half>"), b.use("<2 x half>")
        b.call(
            "float",
            "float",
            "amdgcn.fdot2",
            f"<2 x half> {left}",
            f"<2 x half> {right}",
            f"float {b.use('float')}",
            "i1 false",
        )


def _permlane(b: Body) -> None:
    name = b.rng.choice(("permlane16", "permlanex16"))
    b.call(
        "i32", "i32", f"amdgcn.{name}.i32", f"i32 {b.use('i32')}", f"i32 {b.use('i32')}", f"i32 {b.use('s32')}",
        f"i32 {b.use('s32')}", "i1 false", "i1 false",
    )  # fmt: skip


def _permlane64(b: Body) -> None:
    b.call("i32", "i32", "amdgcn.permlane64.i32", f"i32 {b.use('i32')}")


def _permlane_swap(b: Body) -> None:
    name = b.rng.choice(("16", "32"))
    pair = b.call(
        "pair", "{ i32, i32 }", f"amdgcn.permlane{name}.swap", f"i32 {b.use('i32')}", f"i32 {b.use('i32')}",
        "i1 false", "i1 false",
    )  # fmt: skip
    b.let("i32", f"extractvalue {{ i32, i32 }} {pair}, {b.rng.randrange(2)}")


@dataclass(frozen=True)
class Matrix:
    """A matrix intrinsic: types of A, B and the accumulator."""

    name: str
    a: tuple[int, str]
    b: tuple[int, str]
    c: tuple[int, str]
    gpus: tuple[str, ...]
    tail: tuple[str, ...] = ("i32 0", "i32 0", "i32 0")
    head: str = ""


_H4, _H8, _I = (4, "half"), (8, "half"), (1, "i32")
_F = (1, "float")
MATRIX = (
    *(
        Matrix(f"amdgcn.mfma.f32.{shape}f32", _F, _F, (size, "float"), MFMA)
        for shape, size in (("32x32x1", 32), ("16x16x1", 16), ("4x4x1", 4), ("32x32x2", 16), ("16x16x4", 4))
    ),
    *(
        Matrix(f"amdgcn.mfma.f32.{shape}f16", _H4, _H4, (size, "float"), MFMA)
        for shape, size in (("32x32x4", 32), ("16x16x4", 16), ("4x4x4", 4), ("32x32x8", 16), ("16x16x16", 4))
    ),
    *(
        Matrix(f"amdgcn.mfma.i32.{shape}i8", _I, _I, (size, "i32"), MFMA)
        for shape, size in (("32x32x4", 32), ("16x16x4", 16), ("4x4x4", 4))
    ),
    *(
        Matrix(f"amdgcn.mfma.i32.{shape}i8", _I, _I, (size, "i32"), ("gfx908", "gfx90a"))
        for shape, size in (("32x32x8", 16), ("16x16x16", 4))
    ),
    Matrix("amdgcn.mfma.f64.16x16x4f64", (1, "double"), (1, "double"), (4, "double"), CDNA2),
    Matrix("amdgcn.mfma.f64.4x4x4f64", (1, "double"), (1, "double"), (1, "double"), CDNA2),
    Matrix("amdgcn.mfma.i32.16x16x32.i8", (1, "i64"), (1, "i64"), (4, "i32"), CDNA3),
    Matrix("amdgcn.mfma.i32.32x32x16.i8", (1, "i64"), (1, "i64"), (16, "i32"), CDNA3),
    Matrix("amdgcn.mfma.f32.16x16x32.fp8.fp8", (1, "i64"), (1, "i64"), (4, "float"), CDNA3),
    Matrix("amdgcn.mfma.f32.32x32x16.bf8.fp8", (1, "i64"), (1, "i64"), (16, "float"), CDNA3),
    Matrix("amdgcn.mfma.f32.16x16x8.xf32", (2, "float"), (2, "float"), (4, "float"), ("gfx942",)),
    Matrix("amdgcn.mfma.f32.32x32x4.xf32", (2, "float"), (2, "float"), (16, "float"), ("gfx942",)),
    Matrix("amdgcn.smfmac.f32.16x16x32.f16", _H4, _H8, (4, "float"), CDNA3, ("i32 {i32}", "i32 0", "i32 0")),
    Matrix("amdgcn.smfmac.f32.32x32x16.f16", _H4, _H8, (16, "float"), CDNA3, ("i32 {i32}", "i32 0", "i32 0")),
    Matrix("amdgcn.mfma.f32.16x16x32.f16", _H8, _H8, (4, "float"), ("gfx950",)),
    Matrix("amdgcn.mfma.f32.32x32x16.f16", _H8, _H8, (16, "float"), ("gfx950",)),
    Matrix(
        "amdgcn.mfma.scale.f32.16x16x128.f8f6f4.v8i32.v8i32", (8, "i32"), (8, "i32"), (4, "float"), ("gfx950",),
        ("i32 {small}", "i32 {small}", "i32 0", "i32 {i32}", "i32 0", "i32 {i32}"),
    ),
    Matrix(
        "amdgcn.mfma.scale.f32.32x32x64.f8f6f4.v8i32.v8i32", (8, "i32"), (8, "i32"), (16, "float"), ("gfx950",),
        ("i32 {small}", "i32 {small}", "i32 0", "i32 {i32}", "i32 0", "i32 {i32}"),
    ),
)  # fmt: skip
"""MFMA intrinsics."""


def _typed(b: Body, shape: tuple[int, str]) -> tuple[str, str]:
    length, element = shape
    if length == 1:
        return element, b.use(element)
    return f"<{length} x {element}>", b.vector(length, element)


def matrix_operation(matrix: Matrix) -> Operation:
    """The operation of one MFMA intrinsic; now and then its result is used at once."""

    def operation(b: Body) -> None:
        kinds = [_typed(b, matrix.a), _typed(b, matrix.b), _typed(b, matrix.c)]
        small = b.rng.choice(("0", "1"))
        tail = [one.format(i32=b.use("i32"), small=small) for one in matrix.tail]
        result, _ = kinds[2]
        value = b.call(result, result, matrix.name, *(f"{kind} {one}" for kind, one in kinds), *tail)
        length, element = matrix.c
        if length > 1 and b.rng.random() < 0.4:
            b.take(length, element, value)
        if length > 1 and b.rng.random() < 0.15:
            b.let(result, f"insertelement {result} {value}, {element} {b.use(element)}, i32 {b.rng.randrange(length)}")

    return operation


def _wmma_gfx11(b: Body) -> None:
    if b.rng.random() < 0.5:
        a, c = b.vector(16, "half"), b.vector(16, "half")
        b.call(
            "<16 x half>", "<16 x half>", "amdgcn.wmma.f16.16x16x16.f16.v16f16.v16f16", f"<16 x half> {a}",
            f"<16 x half> {b.vector(16, 'half')}", f"<16 x half> {c}", "i1 false",
        )  # fmt: skip
    else:
        value = b.call(
            "<8 x float>", "<8 x float>", "amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16",
            f"<16 x half> {b.vector(16, 'half')}", f"<16 x half> {b.vector(16, 'half')}",
            f"<8 x float> {b.vector(8, 'float')}",
        )  # fmt: skip
        b.take(8, "float", value)


def _wmma_gfx12(b: Body) -> None:
    if b.rng.random() < 0.5:
        b.call(
            "<8 x half>", "<8 x half>", "amdgcn.wmma.f16.16x16x16.f16.v8f16.v8f16",
            f"<8 x half> {b.vector(8, 'half')}", f"<8 x half> {b.vector(8, 'half')}",
            f"<8 x half> {b.vector(8, 'half')}", "i1 false",
        )  # fmt: skip
    else:
        value = b.call(
            "<8 x float>", "<8 x float>", "amdgcn.swmmac.f32.16x16x32.f16.v8f32.v8f16.v16f16.i16",
            f"<8 x half> {b.vector(8, 'half')}", f"<16 x half> {b.vector(16, 'half')}",
            f"<8 x float> {b.vector(8, 'float')}", f"i16 {b.use('i16')}",
        )  # fmt: skip
        b.take(8, "float", value)


def _wmma_gfx1250(b: Body) -> None:
    if b.rng.random() < 0.5:
        value = b.call(
            "<8 x i32>", "<8 x i32>", "amdgcn.wmma.i32.16x16x64.iu8.v8i32.v8i32", "i1 false",
            f"<8 x i32> {b.vector(8, 'i32')}", "i1 false", f"<8 x i32> {b.vector(8, 'i32')}",
            f"<8 x i32> {b.vector(8, 'i32')}", "i1 false", "i1 false",
        )  # fmt: skip
        b.take(8, "i32", value)
    else:
        value = b.call(
            "<8 x float>", "<8 x float>", "amdgcn.wmma.f32.16x16x32.f16.v8f32.v16f16", "i1 false",
            f"<16 x half> {b.vector(16, 'half')}", "i1 false", f"<16 x half> {b.vector(16, 'half')}", "i16 0",
            f"<8 x float> {b.vector(8, 'float')}", "i1 false", "i1 false",
        )  # fmt: skip
        b.take(8, "float", value)


@dataclass(frozen=True)
class Entry:
    """An operation with its weight in a mix and the targets that have it."""

    operation: Operation
    weight: float
    gpus: tuple[str, ...] = ALL
    groups: tuple[str, ...] = ("plain",)
    wave: int | None = None


OPERATIONS = (
    Entry(_float_arithmetic, 3), Entry(_integer_arithmetic, 3), Entry(_vector_with_scalar, 3, groups=("plain", "scalar")),  # noqa: E501
    Entry(_scalar_arithmetic, 3, groups=("plain", "scalar")), Entry(_scalar_select, 1, groups=("plain", "scalar")),
    Entry(_compare, 2, groups=("plain", "mask")), Entry(_float_compare, 1, groups=("plain", "mask")),
    Entry(_select, 2, groups=("plain", "mask")), Entry(_logic, 1, groups=("mask",)), Entry(_bits, 1), Entry(_float_of, 1),  # noqa: E501
    Entry(_read_first_lane, 2, groups=("plain", "lane", "scalar")), Entry(_read_lane, 2, groups=("lane",)),
    Entry(_write_lane, 2, groups=("lane",)), Entry(_dpp, 2, groups=("plain", "dpp")), Entry(_reduction, 1, groups=("dpp",)),  # noqa: E501
    Entry(_divide, 1, groups=("divide",)), Entry(_divide_double, 0.5, groups=("divide",)),
    Entry(_div_fmas, 1, groups=("divide", "mask")), Entry(_double, 1, groups=("plain", "double", "matrix")),
    Entry(_double_of, 1, groups=("plain", "double")), Entry(_transcendental, 2, groups=("plain", "trans")),
    Entry(_transcendental_half, 1, groups=("trans", "half")), Entry(_half, 1, groups=("half",)),
    Entry(_half_of, 1, groups=("plain", "half")), Entry(_packed_half, 1, groups=("half", "dot")), Entry(_short, 1, groups=("half",)),  # noqa: E501
    Entry(_bytes, 1, groups=("half",)), Entry(_long, 1, groups=("plain", "scalar")), Entry(_packed_float, 1, groups=("plain",)),  # noqa: E501
    Entry(_lds, 1, groups=("plain", "memory")), Entry(_load, 1, groups=("plain", "memory")),
    Entry(_scalar_load, 1, groups=("scalar", "memory")), Entry(_load_at_scalar, 1, groups=("memory", "lane")),
    Entry(_wide_store, 1, groups=("memory", "plain")), Entry(_buffer_store, 1, groups=("memory",)),
    Entry(_buffer_load, 1, groups=("memory",)), Entry(_permute, 0.5, groups=("memory", "lane")),
    Entry(_ballot, 1, groups=("mask", "lane")), Entry(_float_atomic, 0.5, ("gfx90a", "gfx942", "gfx950", *RDNA, "gfx1250"), ("memory",)),  # noqa: E501
    Entry(_message, 1, groups=("message",)), Entry(_set_register, 1, VEGA, ("message",)),
    Entry(_get_register, 1, groups=("message",)), Entry(_barrier_resource, 1, (*VEGA, *GFX10), ("message",)),
    Entry(_load_to_lds, 1, CDNA3, ("message", "memory")), Entry(_convert_fp8, 2, (*CDNA3, *GFX12, "gfx1250"), ("half", "trans")),  # noqa: E501
    Entry(_convert_fp8_stochastic, 2, (*CDNA3, *GFX12, "gfx1250"), ("half", "trans")),
    Entry(_dot, 4, ("gfx906", "gfx908", "gfx90a", "gfx942", "gfx950"), ("dot",)),
    Entry(_permlane, 3, RDNA, ("permlane",)), Entry(_permlane64, 1, (*GFX11, *GFX12), ("permlane",)),
    Entry(_permlane_swap, 3, ("gfx950",), ("permlane",)),
    Entry(_wmma_gfx11, 5, GFX11, ("matrix",), 32), Entry(_wmma_gfx12, 5, GFX12, ("matrix",), 32),
    Entry(_wmma_gfx1250, 5, ("gfx1250",), ("matrix",), 32),
    *(Entry(matrix_operation(matrix), 1, matrix.gpus, ("matrix",)) for matrix in MATRIX),
)  # fmt: skip
