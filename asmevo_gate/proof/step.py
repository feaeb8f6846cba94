"""One instruction as a step from state to state."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from asmevo_gate.analysis.side_effects import is_timing, renames_registers
from asmevo_gate.isa.instruction import Decoded, Op, Operand
from asmevo_gate.isa.registers import SPECIAL
from asmevo_gate.isa.targets import Target
from asmevo_gate.proof import semantics
from asmevo_gate.proof.effects import Uninterpreted
from asmevo_gate.proof.operations import IMPLICIT, OPERATIONS, Call, Operation, parts_of
from asmevo_gate.proof.sources import Fetch, Unsupported, dpp_enabled, fetch, flags, number, selected_bits
from asmevo_gate.proof.state import EXEC_LO, MODE, SCC, VCC_LO, State, is_vector, under
from asmevo_gate.proof.terms import Term

semantics.load()

Step = Callable[[State], None]
Store = Callable[[State, Term], None]


class OutOfScope(Exception):
    """The instruction cannot be part of a proof; the text says why."""


def _no_step(state: State) -> None:
    del state


_DERIVED = sum(1 << SPECIAL[name] for name in ("lds_direct", "vccz", "execz", "pops_exiting_wave_id"))
_steps: dict[tuple[str, int, str], Step] = {}
_MAX_STEPS = 200_000


def step_of(decoded: Decoded, target: Target, wave_size: int) -> Step:
    """What the instruction does to a state; remembered per text.

    Raises:
        OutOfScope: it touches registers that its text does not name.
    """
    key = (target.name, wave_size, decoded.text)
    step = _steps.get(key)
    if step is None:
        if len(_steps) >= _MAX_STEPS:
            _steps.clear()
        step = _steps[key] = _make(decoded, target, wave_size)
    return step


def is_interpreted(decoded: Decoded, target: Target, wave_size: int) -> bool:
    """True when the meaning of the instruction is written down (waits and padding included)."""
    if renames_registers(decoded):
        return False
    if is_timing(decoded):
        return True
    return all(_written_step(half, target, wave_size) is not None for half in decoded.halves or (decoded,))


def _make(decoded: Decoded, target: Target, wave_size: int) -> Step:
    if renames_registers(decoded):
        raise OutOfScope(f"'{decoded.base}' touches registers that are not named in the text")
    if any(operand.mask & _DERIVED for operand in decoded.operands):
        raise OutOfScope(f"'{decoded.text}' reads what is no register (LDS direct, VCCZ, EXECZ)")
    if is_timing(decoded):
        return _no_step
    if decoded.halves:
        return _dual(decoded, target, wave_size)
    step = _written_step(decoded, target, wave_size)
    return Uninterpreted(decoded).run if step is None else step


def _dual(decoded: Decoded, target: Target, wave_size: int) -> Step:
    """Both halves of a VOPD read before either writes (RDNA3 ISA 7.6, "Dual Issue VALU")."""
    halves = [_written_step(half, target, wave_size) for half in decoded.halves]
    if any(half is None for half in halves):
        return Uninterpreted(decoded).run
    first, second = halves
    written = [register for half in decoded.halves for register in _registers(half.operands[0])]

    def run(state: State) -> None:
        assert first is not None and second is not None
        before = {register: state.values.get(register) for register in written}
        first(state)
        after_first = {register: state.values.get(register) for register in written}
        for register, value in before.items():
            if value is None:
                state.values.pop(register, None)
            else:
                state.values[register] = value
        second(state)
        for register in _registers(decoded.halves[0].operands[0]):
            value = after_first[register]
            assert value is not None
            state.values[register] = value

    return run


def _registers(operand: Operand) -> range:
    return range(operand.start, operand.start + operand.length)


_KNOWN_MODIFIERS = frozenset(
    [
        *("op_sel", "op_sel_hi", "neg_lo", "neg_hi", "clamp", "mul", "div", "bitop3"),
        *("dst_sel", "dst_unused", "src0_sel", "src1_sel", "row_mask", "bank_mask", "bound_ctrl", "fi"),
        *("quad_perm", "row_shl", "row_shr", "row_ror", "row_mirror", "row_half_mirror", "row_bcast"),
        *("row_newbcast", "row_share", "row_xmask", "wave_shl", "wave_rol", "wave_shr", "wave_ror", "dpp8"),
    ]
)


def _written_step(decoded: Decoded, target: Target, wave_size: int) -> Step | None:
    """The step by the written meaning, ``None`` when there is none for this form."""
    base = decoded.base.replace("v_dual_", "v_", 1)
    operation = OPERATIONS.get(base)
    if operation is None or not decoded.modifiers.keys() <= _KNOWN_MODIFIERS:
        return None
    try:
        return _Written(decoded, base, operation, target, wave_size).run
    except Unsupported:
        return None


class _Written:
    """The step of an instruction with a written meaning."""

    def __init__(self, decoded: Decoded, base: str, operation: Operation, target: Target, wave_size: int) -> None:
        self.operation = operation
        self.modifiers = decoded.modifiers
        self.wave_size = wave_size
        self.decoded = decoded
        self.dpp = decoded.variant in ("dpp", "e64_dpp")
        self.zero_high = target.facts.get("high_half_of_16_bit_result") == "zero" and base not in semantics.KEEP_HIGH
        operands = list(decoded.operands)
        results = [kind for kind in operation.results if kind not in IMPLICIT]
        if base.startswith("v_cmpx") and len(operands) == len(operation.sources):
            results = []
        explicit = [kind for kind in operation.sources if kind not in IMPLICIT]
        if len(operands) == len(results) + len(explicit) - 1 and explicit and explicit[-1] == "mask":
            explicit[-1] = "vcc"
        taken = len([kind for kind in explicit if kind != "vcc"])
        if len(operands) != len(results) + taken:
            raise Unsupported("another number of operands")
        self.saturated = semantics.SATURATED.get(base) if "clamp" in decoded.modifiers else None
        self._check_modifiers(base)
        if "exec" in operation.results and not base.endswith(str(wave_size)):
            raise Unsupported("mask of another wave size")
        self.stores = self._stores(results, operands[: len(results)], base)
        self.fetches = self._fetches(explicit, operands[len(results) :])
        if operation.accumulates and operation.results[0] == "all_lanes":
            self.fetches.append(_whole_fetch(operands[0]))
        elif operation.accumulates:
            kind = operation.results[0]
            self.fetches.append(fetch(_plain(decoded), operands[0], kind, len(explicit), len(explicit) + 1))

    def _check_modifiers(self, base: str) -> None:
        names = self.modifiers.keys()
        kinds = self.operation.results
        floating = kinds[0] in ("f16", "f32", "f64")
        if (names & {"mul", "div"} and not floating) or ("clamp" in names and not floating and not self.saturated):
            raise Unsupported("clamp or omod")
        if "bitop3" in names and "bitop" not in base:
            raise Unsupported("bitop3")
        for name in ("bitop3", "row_mask", "bank_mask"):
            number(self.modifiers.get(name, "0"))
        if self.dpp and ("mask" in kinds or "scc" in kinds or not self.decoded.classes & Op.VALU):
            raise Unsupported("DPP with a mask result")
        packed = any(kind.startswith("pk_") for kind in self.operation.sources)
        mixed = self.operation.sources[:1] == ("mix",)
        if not packed and not mixed and names & {"op_sel_hi", "neg_lo", "neg_hi"}:
            raise Unsupported("packed modifiers")

    def _stores(self, kinds: list[str], operands: list[Operand], base: str) -> list[Store]:
        stores = [self._store(kind, operand) for kind, operand in zip(kinds, operands, strict=True)]
        if base.startswith("v_cmpx"):
            stores.append(_store_exec)
        for kind in self.operation.results:
            if kind == "scc":
                stores.append(_store_scc)
            elif kind == "exec":
                stores.append(_store_exec_word)
        return stores

    def _store(self, kind: str, operand: Operand) -> Store:
        if not operand.length:
            return _store_nothing
        start = operand.start
        if kind == "mask":
            return lambda state, value: state.write_mask(start, value)
        if kind == "all_lanes":
            return lambda state, value: state.write_all_lanes(start, value)
        if kind in ("low16", "high16"):
            return self._store_half(start, operand, kind == "high16")
        if kind == "acc":
            return lambda state, value: _store_accumulator(state, start, value)
        _, width = parts_of(kind)
        if not is_vector(start):
            if operand.length * 32 != max(width, 32):
                raise Unsupported("result of another width")
            return lambda state, value: state.write_scalar_wide(start, value)
        if self.decoded.variant == "sdwa":
            return self._store_selected(start, width)
        if width == 16:
            return self._store_half(start, operand)
        if operand.length * 32 != width:
            raise Unsupported("result of another width")
        if operand.half is not None:
            raise Unsupported("half of a wide result")
        return self._store_vector(start, width)

    def _store_vector(self, start: int, width: int) -> Store:
        decoded = self.decoded if self.dpp else None

        def store(state: State, value: Term) -> None:
            enabled = None if decoded is None else dpp_enabled(decoded, state)
            if width == 32:
                state.write_lanes(start, value, enabled)
                return
            terms = state.terms
            state.write_lanes(start, terms.extract(value, 31, 0), enabled)
            state.write_lanes(start + 1, terms.extract(value, 63, 32), enabled)

        return store

    def _store_half(self, start: int, operand: Operand, fixed: bool | None = None) -> Store:
        high = operand.half if fixed is None else int(fixed)
        if high is None and "op_sel" in self.modifiers:
            selections = self.modifiers["op_sel"].strip("[]").split(",")
            flags(self.modifiers["op_sel"], 0, 0)
            if (
                len(selections) == len(self.operation.sources) + self.operation.accumulates + 1
                and selections[-1] != "0"
            ):
                high = 1
        zero = self.zero_high and high is None
        vector = self._store_vector(start, 32)

        def store(state: State, value: Term) -> None:
            terms = state.terms
            if zero:
                vector(state, terms.zext(value, 32))
                return
            old = state.read(start)
            if high:
                vector(state, terms.concat(value, terms.extract(old, 15, 0)))
            else:
                vector(state, terms.concat(terms.extract(old, 31, 16), value))

        return store

    def _store_selected(self, start: int, width: int) -> Store:
        high, low = selected_bits(self.modifiers.get("dst_sel", "DWORD"))
        unused = self.modifiers.get("dst_unused", "UNUSED_PAD")
        size = high - low + 1
        if size == 32 and width == 16 and not self.zero_high:
            raise Unsupported("16-bit result in a dword")

        def store(state: State, value: Term) -> None:
            terms = state.terms
            wide = terms.zext(value, 32)
            if size == 32:
                state.write_lanes(start, wide)
                return
            part = terms.extract(wide, size - 1, 0)
            old = state.read(start)
            if unused == "UNUSED_PRESERVE":
                above = terms.extract(old, 31, high + 1) if high < 31 else None
                below = terms.extract(old, low - 1, 0) if low else None
            else:
                above = terms.const(0, 31 - high) if high < 31 else None
                if above is not None and unused == "UNUSED_SEXT":
                    above = terms.sext(terms.extract(part, size - 1, size - 1), 31 - high)
                below = terms.const(0, low) if low else None
            pieces = [piece for piece in (above, part, below) if piece is not None]
            state.write_lanes(start, terms.concat(*pieces))

        return store

    def _fetches(self, kinds: list[str], operands: list[Operand]) -> list[Fetch]:
        fetches: list[Fetch] = []
        rest = iter(operands)
        count = len(kinds)
        explicit = iter(kinds)
        for kind in self.operation.sources:
            if kind in ("scc", "exec", "vcc"):
                fetches.append(_IMPLICIT_FETCH[kind])
                continue
            actual = next(explicit)
            if actual == "vcc":
                fetches.append(_IMPLICIT_FETCH["vcc"])
                continue
            operand = next(rest)
            if kind == "mask":
                fetches.append(_mask_fetch(operand, self.wave_size))
            elif kind == "whole" or (kind == "acc" and operand.length):
                fetches.append(_whole_fetch(operand))
            elif kind == "first" and operand.length == 1:
                fetches.append(_first_fetch(operand))
            elif kind == "acc":
                fetches.append(fetch(self.decoded, operand, "b32", 0, 1))
            elif kind == "wave":
                fetches.append(_wave_fetch(operand, self.wave_size))
            else:
                fetches.append(fetch(self.decoded, operand, kind, len(fetches), count))
        return fetches

    def run(self, state: State) -> None:
        """Apply to a state."""
        terms = state.terms
        sources = [fetch_one(state) for fetch_one in self.fetches]
        call = Call(terms, state.whole(MODE), self.modifiers, self.wave_size)
        results = (self.saturated or self.operation.meaning)(call, *sources)
        values = results if isinstance(results, tuple) else (results,)
        if self.saturated is None and not self.modifiers.keys().isdisjoint(("clamp", "mul", "div")):
            values = (semantics.output_modifiers(call, values[0], self.operation.results[0]), *values[1:])
        if len(values) < len(self.stores):
            values = (*values, *[values[0]] * (len(self.stores) - len(values)))
        for store, value in zip(self.stores, values, strict=False):
            store(state, value)


def _plain(decoded: Decoded) -> Decoded:
    """The instruction without what applies to its sources alone, for its accumulator."""
    return msgspec.structs.replace(decoded, variant="", modifiers={})


def _store_nothing(state: State, value: Term) -> None:
    del state, value


def _store_accumulator(state: State, start: int, value: Term) -> None:
    """Whether a move between VGPRs and AGPRs obeys EXEC is told differently by different documents: outside EXEC the
    result is left open between the old and the new value."""
    terms, old = state.terms, state.whole(start)
    open_ = terms.apply("accumulator outside EXEC", 32, (value, old), binds=False)
    state.write_all_lanes(start, terms.ite(state.active, under(value, state.active), open_))


def _store_scc(state: State, value: Term) -> None:
    state.write_scalar(SCC, value)


def _store_exec(state: State, value: Term) -> None:
    state.write_mask(EXEC_LO, value)


def _store_exec_word(state: State, value: Term) -> None:
    state.write_scalar_wide(EXEC_LO, value)


_IMPLICIT_FETCH: dict[str, Fetch] = {
    "scc": lambda state: state.whole(SCC),
    "exec": lambda state: state.mask(EXEC_LO),
    "vcc": lambda state: state.terms.lane_bit(state.mask(VCC_LO)),
}


def _mask_fetch(operand: Operand, wave_size: int) -> Fetch:
    start = operand.start
    if operand.length * 32 == wave_size:
        return lambda state: state.terms.lane_bit(state.mask(start))
    if operand.value in (0, -1):
        bit = -int(operand.value)
        return lambda state: state.terms.const(bit, 1)
    raise Unsupported("lane mask")


def _wave_fetch(operand: Operand, wave_size: int) -> Fetch:
    start = operand.start
    if operand.length * 32 == wave_size:
        return lambda state: state.mask(start)
    raise Unsupported("lane mask")


def _first_fetch(operand: Operand) -> Fetch:
    start = operand.start
    return lambda state: state.first(start)


def _whole_fetch(operand: Operand) -> Fetch:
    start = operand.start
    if operand.length == 1:
        return lambda state: state.whole(start)
    raise Unsupported("lane access")
