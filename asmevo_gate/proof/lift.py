"""Blocks as LLVM IR for the host: a wavefront's lanes are one vector.

The IR computes the registers that a block leaves from those it finds, for many wavefronts in a row. It is made from
the semantics without normal form and without short cuts, so that what it finds is independent of the prover's rules.
Functions that nothing is known about become a mix of their arguments' bits, the same wherever they occur.
"""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from asmevo_gate.proof import float_evaluation
from asmevo_gate.proof.lane_permutation import source_lanes
from asmevo_gate.proof.state import is_vector, width_of
from asmevo_gate.proof.terms import Term, post_order

Array = Any
_FLOAT_TYPES = {"f16": "half", "f32": "float", "f64": "double"}
_SUFFIX = {"half": "f16", "float": "f32", "double": "f64"}


def available() -> bool:
    """True when llvmlite is installed."""
    try:
        import llvmlite  # noqa: F401
    except ImportError:
        return False
    return True


class LiftedBlock:
    """The terms of some registers, compiled. ``inputs`` are the registers read, in ascending order.

    Raises:
        ImportError: llvmlite is not installed.
    """

    def __init__(self, roots: Sequence[Term], lanes: int) -> None:
        self.lanes = lanes
        self.roots = tuple(roots)
        self.inputs = sorted({term.data for term in post_order(roots) if term.op == "var" and term.data >= 0})
        self._engine = _compile(_Writer(self.roots, self.inputs, lanes).module())
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        self._function = kind(self._engine.get_function_address("block"))

    def run(self, values: Callable[[int], Array], waves: int) -> Array:
        """The registers' values, shape (waves, roots, lanes); ``values`` gives the bits of an input register, of shape
        (waves, lanes) or (waves, 1)."""
        import numpy as np

        inputs = np.zeros((waves, max(1, len(self.inputs)), self.lanes), dtype=np.uint32)
        for place, register in enumerate(self.inputs):
            inputs[:, place, :] = values(register)
        outputs = np.zeros((waves, len(self.roots), self.lanes), dtype=np.uint32)
        self._function(inputs.ctypes.data, outputs.ctypes.data, waves)
        return outputs


def _compile(text: str) -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=1
    )
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


class _Writer:
    """Writes the IR. Every term has a value of type ``iN`` (wave-wide) or ``<lanes x iN>``."""

    def __init__(self, roots: tuple[Term, ...], inputs: list[int], lanes: int) -> None:
        self._roots = roots
        self._inputs = inputs
        self._lanes = lanes
        self._lines: list[str] = []
        self._declared: set[str] = set()
        self._values: dict[Term, str] = {}
        self._vector: dict[Term, bool] = {}
        self._count = 0

    def module(self) -> str:
        """The whole module."""
        for term in post_order(self._roots):
            if term.op == "var" and term.data < 0:
                self._keep(term, "0", False)
            else:
                self._term(term)
        for place, root in enumerate(self._roots):
            self._store(place, root)
        lanes = self._lanes
        step_in, step_out = 4 * lanes * max(1, len(self._inputs)), 4 * lanes * len(self._roots)
        body = "\n".join(f"  {line}" for line in self._lines)
        declared = "\n".join(sorted(self._declared))
        return (
            f"{declared}\ndefine void @block(ptr noalias %ins, ptr noalias %outs, i64 %n) {{\n"
            "entry:\n  br label %loop\n"
            "loop:\n  %k = phi i64 [0, %entry], [%next, %loop]\n"
            f"  %io = mul i64 %k, {step_in}\n  %in = getelementptr i8, ptr %ins, i64 %io\n"
            f"  %oo = mul i64 %k, {step_out}\n  %out = getelementptr i8, ptr %outs, i64 %oo\n"
            f"{body}\n  %next = add i64 %k, 1\n  %more = icmp ult i64 %next, %n\n"
            "  br i1 %more, label %loop, label %done\ndone:\n  ret void\n}\n"
        )

    # Values and types.

    def _type(self, width: int, vector: bool) -> str:
        return f"<{self._lanes} x i{width}>" if vector else f"i{width}"

    def _emit(self, text: str) -> str:
        self._count += 1
        name = f"%t{self._count}"
        self._lines.append(f"{name} = {text}")
        return name

    def _keep(self, term: Term, value: str, vector: bool) -> None:
        self._values[term] = value
        self._vector[term] = vector

    def _constant(self, value: int, width: int, vector: bool) -> str:
        text = str(value) if width > 1 else ("true" if value else "false")
        return f"splat (i{width} {text})" if vector else text

    def _as(self, term: Term, vector: bool) -> str:
        """The value of a term, spread over the lanes where a vector is wanted."""
        value = self._values[term]
        if not vector or self._vector[term]:
            return value
        if term.op == "const":
            return self._constant(term.data, term.width, True)
        return self._spread(value, f"i{term.width}")

    def _spread(self, value: str, kind: str) -> str:
        first = self._emit(f"insertelement <{self._lanes} x {kind}> poison, {kind} {value}, i32 0")
        return self._emit(
            f"shufflevector <{self._lanes} x {kind}> {first}, <{self._lanes} x {kind}> poison, "
            f"<{self._lanes} x i32> zeroinitializer"
        )

    def _store(self, place: int, root: Term) -> None:
        value = self._as(root, True)
        kind = self._type(root.width, True)
        if root.width < 32:
            value = self._emit(f"zext {kind} {value} to {self._type(32, True)}")
        pointer = self._emit(f"getelementptr i8, ptr %out, i64 {4 * self._lanes * place}")
        self._lines.append(f"store {self._type(32, True)} {value}, ptr {pointer}, align 4")

    # Terms.

    def _term(self, term: Term) -> None:
        op = term.op
        if op == "const":
            self._keep(term, self._constant(term.data, term.width, False), False)
        elif op == "var":
            self._variable(term)
        elif op == "lane":
            numbers = ", ".join(f"i32 {lane}" for lane in range(self._lanes))
            self._keep(term, f"<{numbers}>", True)
        elif op in ("ballot", "lane_bit", "read_lane"):
            getattr(self, f"_{op}")(term)
        elif op == "apply":
            self._apply(term)
        else:
            vector = any(self._vector[arg] for arg in term.args)
            args = [self._as(arg, vector) for arg in term.args]
            self._keep(term, self._operate(term, args, vector), vector)

    def _variable(self, term: Term) -> None:
        register = term.data
        pointer = self._emit(f"getelementptr i8, ptr %in, i64 {4 * self._lanes * self._inputs.index(register)}")
        vector = is_vector(register)
        value = self._emit(f"load {self._type(32, vector)}, ptr {pointer}, align 4")
        if width_of(register) == 1:
            value = self._emit(f"trunc i32 {value} to i1")
        self._keep(term, value, vector)

    def _ballot(self, term: Term) -> None:
        bits = self._as(term.args[0], True)
        value = self._emit(f"bitcast <{self._lanes} x i1> {bits} to i{self._lanes}")
        self._keep(term, value, False)

    def _lane_bit(self, term: Term) -> None:
        mask = term.args[0]
        value = self._values[mask]
        if mask.width < self._lanes:
            value = self._emit(f"zext i{mask.width} {value} to i{self._lanes}")
        elif mask.width > self._lanes:
            value = self._emit(f"trunc i{mask.width} {value} to i{self._lanes}")
        self._keep(term, self._emit(f"bitcast i{self._lanes} {value} to <{self._lanes} x i1>"), True)

    def _read_lane(self, term: Term) -> None:
        source, index = term.args
        number = self._emit(f"and i32 {self._values[index]}, {self._lanes - 1}")
        kind = self._type(source.width, True)
        self._keep(term, self._emit(f"extractelement {kind} {self._as(source, True)}, i32 {number}"), False)

    def _operate(self, term: Term, args: list[str], vector: bool) -> str:
        op, width = term.op, term.width
        kind = self._type(width, vector)
        if op == "add":
            return self._sum(term, args, vector)
        if op in ("mul", "and", "or", "xor"):
            result = args[0]
            for arg in args[1:]:
                result = self._emit(f"{op} {kind} {result}, {arg}")
            return result
        if op in ("shl", "lshr", "ashr"):
            return self._shift(op, width, args, vector)
        if op == "concat":
            return self._concat(term, args, vector)
        if op == "extract":
            inner = self._type(term.args[0].width, vector)
            shifted = args[0]
            if term.data[1]:
                amount = self._constant(term.data[1], term.args[0].width, vector)
                shifted = self._emit(f"lshr {inner} {shifted}, {amount}")
            return shifted if width == term.args[0].width else self._emit(f"trunc {inner} {shifted} to {kind}")
        if op == "sext":
            return self._emit(f"sext {self._type(term.args[0].width, vector)} {args[0]} to {kind}")
        if op in ("eq", "ult", "slt"):
            return self._emit(f"icmp {op} {self._type(term.args[0].width, vector)} {args[0]}, {args[1]}")
        if op == "ite":
            return self._emit(f"select {self._type(1, vector)} {args[0]}, {kind} {args[1]}, {kind} {args[2]}")
        return self._count_bits(op, width, args[0], vector)

    def _sum(self, term: Term, args: list[str], vector: bool) -> str:
        kind = self._type(term.width, vector)
        factors, constant = term.data
        result = self._constant(constant, term.width, vector)
        for factor, arg in zip(factors, args, strict=True):
            part = arg
            if factor != 1:
                part = self._emit(f"mul {kind} {arg}, {self._constant(factor, term.width, vector)}")
            result = self._emit(f"add {kind} {result}, {part}")
        return result

    def _shift(self, op: str, width: int, args: list[str], vector: bool) -> str:
        kind, most = self._type(width, vector), self._constant(width - 1, width, vector)
        near = self._emit(f"icmp ule {kind} {args[1]}, {most}")
        amount = self._emit(f"select {self._type(1, vector)} {near}, {kind} {args[1]}, {kind} {most}")
        shifted = self._emit(f"{op} {kind} {args[0]}, {amount}")
        if op == "ashr":
            return shifted
        zero = self._constant(0, width, vector)
        return self._emit(f"select {self._type(1, vector)} {near}, {kind} {shifted}, {kind} {zero}")

    def _concat(self, term: Term, args: list[str], vector: bool) -> str:
        kind = self._type(term.width, vector)
        result, low = "", term.width
        for part, arg in zip(term.args, args, strict=True):
            low -= part.width
            wide = arg
            if part.width < term.width:
                wide = self._emit(f"zext {self._type(part.width, vector)} {arg} to {kind}")
            if low:
                wide = self._emit(f"shl {kind} {wide}, {self._constant(low, term.width, vector)}")
            result = self._emit(f"or {kind} {result}, {wide}") if result else wide
        return result

    def _count_bits(self, op: str, width: int, arg: str, vector: bool) -> str:
        name = {"count_ones": "ctpop", "leading_zeros": "ctlz", "trailing_zeros": "cttz", "reverse": "bitreverse"}[op]
        return self._intrinsic(name, self._type(width, vector), [arg], ", i1 false" if name in ("ctlz", "cttz") else "")

    def _intrinsic(self, name: str, kind: str, args: list[str], more: str = "") -> str:
        lanes = f"v{self._lanes}" if kind.startswith("<") else ""
        element = kind.rpartition(" ")[2].rstrip(">")
        full = f"llvm.{name}.{lanes}{_SUFFIX.get(element, element)}"
        parameters = ", ".join([kind] * len(args)) + (", i1" if more else "")
        self._declared.add(f"declare {kind} @{full}({parameters})")
        return self._emit(f"call {kind} @{full}({', '.join(f'{kind} {arg}' for arg in args)}{more})")

    # Functions.

    def _apply(self, term: Term) -> None:
        name = term.data.name
        function, _, kind = name.partition(".")
        if name.startswith("dpp"):
            if self._permute(term):
                return
        elif function in _NATIVE and kind in _FLOAT_TYPES:
            vector = any(self._vector[arg] for arg in term.args[:-1])
            self._keep(term, self._float(term, function, kind, vector), vector)
            return
        self._mix(term)

    def _permute(self, term: Term) -> bool:
        name = term.data.name
        control = name.rpartition(".")[2].split()
        lanes = source_lanes(control[0], self._lanes)
        if lanes is None:
            return False
        mask = ", ".join(f"i32 {max(lane, 0)}" for lane in lanes)
        inside = ", ".join(f"i1 {'true' if lane >= 0 else 'false'}" for lane in lanes)
        bits = self._type(1, True)

        def shuffle(value: str, kind: str) -> str:
            return self._emit(f"shufflevector {kind} {value}, {kind} poison, <{self._lanes} x i32> <{mask}>")

        valid = self._emit(f"and {bits} {shuffle(self._as(term.args[-1], True), bits)}, <{inside}>")
        if name.startswith("dpp_valid"):
            rows, banks = (int(part, 0) for part in name.split(".")[1].split())
            chosen = [(rows >> lane // 16 & 1) & (banks >> lane // 4 % 4 & 1) for lane in range(self._lanes)]
            if "zero" in control:
                valid = self._constant(1, 1, True)
            wanted = ", ".join(f"i1 {'true' if one else 'false'}" for one in chosen)
            self._keep(term, self._emit(f"and {bits} {valid}, <{wanted}>"), True)
            return True
        kind = self._type(term.width, True)
        moved = shuffle(self._as(term.args[0], True), kind)
        zero = self._constant(0, term.width, True)
        self._keep(term, self._emit(f"select {bits} {valid}, {kind} {moved}, {kind} {zero}"), True)
        return True

    def _mix(self, term: Term) -> None:
        """A value made of all bits of all arguments."""
        vector = any(self._vector[arg] for arg in term.args)
        kind = self._type(64, vector)

        def constant(value: int) -> str:
            return self._constant(value & 0xFFFFFFFFFFFFFFFF, 64, vector)

        seed = zlib.crc32(f"{term.data.name}/{term.width}".encode())
        total = constant(seed * 0x9E3779B97F4A7C15)
        for arg in term.args:
            wide = self._as(arg, vector)
            if arg.width < 64:
                wide = self._emit(f"zext {self._type(arg.width, vector)} {wide} to {kind}")
            total = self._emit(f"xor {kind} {total}, {wide}")
            total = self._emit(f"mul {kind} {total}, {constant(0xBF58476D1CE4E5B9)}")
            high = self._emit(f"lshr {kind} {total}, {constant(29)}")
            total = self._emit(f"xor {kind} {total}, {high}")
        if term.data.binds and vector:
            numbers = ", ".join(f"i64 {2 * lane + 0x94D049BB133111EB - (1 << 64)}" for lane in range(self._lanes))
            spread = self._emit(f"mul {kind} {total}, <{numbers}>")
            self._declared.add(f"declare i64 @llvm.vector.reduce.xor.v{self._lanes}i64({kind})")
            total = self._emit(f"call i64 @llvm.vector.reduce.xor.v{self._lanes}i64({kind} {spread})")
            vector, kind = False, "i64"
        if term.width < 64:
            high = self._emit(f"lshr {kind} {total}, {self._constant(64 - term.width, 64, vector)}")
            total = self._emit(f"trunc {kind} {high} to {self._type(term.width, vector)}")
        self._keep(term, total, vector)

    def _float(self, term: Term, function: str, kind: str, vector: bool) -> str:
        """A float function of the host, with denormals flushed as MODE says."""
        form = float_evaluation.FORMATS[kind]
        mode = self._values[term.args[-1]]
        keep_in = self._mode_bit(mode, form.denormal_bit, vector)
        args = [self._flush(self._as(arg, vector), form, keep_in, vector) for arg in term.args[:-1]]
        bits = self._type(form.width, vector)
        floating = bits.replace(f"i{form.width}", _FLOAT_TYPES[kind])
        values = [self._emit(f"bitcast {bits} {arg} to {floating}") for arg in args]
        if function.startswith("fcmp"):
            predicate = {"fcmp_eq": "oeq", "fcmp_lt": "olt", "fcmp_unordered": "uno"}[function]
            return self._emit(f"fcmp {predicate} {floating} {values[0]}, {values[1]}")
        result = self._arithmetic(function, floating, values)
        back = self._emit(f"bitcast {floating} {result} to {bits}")
        back = self._one_nan(args, values, back, form, bits, floating)
        return self._flush(back, form, self._mode_bit(mode, form.denormal_bit + 1, vector), vector)

    def _one_nan(
        self, args: list[str], values: list[str], result: str, form: float_evaluation.Format, bits: str, floating: str
    ) -> str:
        """The result with a NaN that does not depend on which instruction the host's compiler chose."""
        vector = bits.startswith("<")
        condition = self._type(1, vector)
        default = self._constant(form.default_nan, form.width, vector)
        number = self._emit(f"bitcast {bits} {result} to {floating}")
        nan = self._emit(f"fcmp uno {floating} {number}, {number}")
        result = self._emit(f"select {condition} {nan}, {bits} {default}, {bits} {result}")
        for arg, value in reversed(list(zip(args, values, strict=True))):
            nan = self._emit(f"fcmp uno {floating} {value}, {value}")
            quiet = self._emit(f"or {bits} {arg}, {self._constant(form.quiet, form.width, vector)}")
            result = self._emit(f"select {condition} {nan}, {bits} {quiet}, {bits} {result}")
        return result

    def _arithmetic(self, function: str, kind: str, values: list[str]) -> str:
        if function in ("fadd", "fmul"):
            return self._emit(f"{function} {kind} {values[0]}, {values[1]}")
        return self._intrinsic(_NATIVE[function], kind, values)

    def _mode_bit(self, mode: str, bit: int, vector: bool) -> str:
        shifted = self._emit(f"lshr i32 {mode}, {bit}")
        value = self._emit(f"trunc i32 {shifted} to i1")
        return self._spread(value, "i1") if vector else value

    def _flush(self, value: str, form: float_evaluation.Format, keep: str, vector: bool) -> str:
        bits = self._type(form.width, vector)

        def constant(number: int) -> str:
            return self._constant(number, form.width, vector)

        exponent = self._emit(f"and {bits} {value}, {constant(form.infinity)}")
        normal = self._emit(f"icmp ne {bits} {exponent}, {constant(0)}")
        kept = self._emit(f"or {self._type(1, vector)} {normal}, {keep}")
        sign = self._emit(f"and {bits} {value}, {constant(form.sign)}")
        return self._emit(f"select {self._type(1, vector)} {kept}, {bits} {value}, {bits} {sign}")


_NATIVE = {
    "fadd": "", "fmul": "", "ffma": "fma", "ftrunc": "trunc", "fceil": "ceil", "ffloor": "floor", "frndne": "rint",
    "fcmp_eq": "", "fcmp_lt": "", "fcmp_unordered": "",
}  # fmt: skip
"""Functions that the host computes itself; all others are mixed."""
