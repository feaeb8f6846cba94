"""An independent judge of memory races: follows one memory operation at a time along every path.

Shares nothing with the counter analysis but the decoder: which instruction counts where is written down here a
second time, by mnemonic, and instead of a data flow over merged states each operation is followed explicitly through
all (instruction, number of later operations) states. Slow, exact, and easy to read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from asmevo_gate.isa.instruction import Decoded, Op
from asmevo_gate.isa.registers import EXEC, M0, SGPRS, VCC, VECTOR
from asmevo_gate.isa.waits import decode_wait
from asmevo_gate.program.model import Function

CAPACITY = {
    "vmcnt": 63, "vscnt": 63, "expcnt": 7, "loadcnt": 63, "storecnt": 63, "samplecnt": 63, "bvhcnt": 7, "dscnt": 63,
    "kmcnt": 31, "xcnt": 63, "asynccnt": 63, "tensorcnt": 63,
}  # fmt: skip
_GFX9 = ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950")
_GFX12 = ("gfx1200", "gfx1201", "gfx1250")


class Found(NamedTuple):
    """A race: the accessing instruction, the operation it should have waited for, the counter, the kind."""

    consumer: int
    producer: int
    counter: str
    access: str


class _Count(NamedTuple):
    counter: str
    order: str
    """Empty: ends in no known order."""
    holds: int = 0
    locks: int = 0
    lane: str = ""
    """Operations of one lane write their results in order."""


class WaitPaths:
    """All races of a function."""

    def __init__(self, function: Function, capacity: dict[str, int] | None = None) -> None:
        self._function = function
        gpu = function.target.table
        self._gpu = gpu
        self._era = 9 if gpu in _GFX9 else 12 if gpu in _GFX12 else 10
        self._capacity = CAPACITY | {"lgkmcnt": 15 if self._era == 9 else 63} | (capacity or {})
        self._decoded = [one.decoded for one in function.instructions]
        self._counts = [self._counts_of(one) for one in self._decoded]
        self._waits = [decode_wait(one, function.target) if one is not None else None for one in self._decoded]
        self._next = self._successors()
        self._reachable = self._forward(lambda index: True)

    def races(self) -> set[Found]:
        """Every race on a path from the entry."""
        found: set[Found] = set()
        stuck = self._behind_flat()
        for index in sorted(self._reachable):
            for count in self._counts[index]:
                if count.holds or count.locks:
                    born_stuck = not count.order or (index in stuck.get(count.counter, ()))
                    found.update(self._follow(index, count, born_stuck))
            decoded = self._decoded[index]
            if decoded is not None and _writes_lds(decoded):
                found.update(self._across_barrier(index, stuck))
        return found

    def _successors(self) -> list[tuple[int, ...]]:
        following: list[tuple[int, ...]] = [(index + 1,) for index in range(len(self._decoded))]
        for block in self._function.blocks:
            following[block.end - 1] = tuple(self._function.blocks[number].first for number in block.successors)
        return following

    def _forward(self, through: object) -> set[int]:
        seen = {0} if self._decoded else set()
        work = list(seen)
        while work:
            for following in self._next[work.pop()]:
                if following not in seen:
                    seen.add(following)
                    work.append(following)
        return seen

    def _stops(self, index: int) -> bool:
        """Nothing is known behind this instruction."""
        decoded = self._decoded[index]
        if decoded is None:
            return not self._function.instructions[index].statement.name.startswith("v_")
        return self._waits[index] is None or bool(re.match(r"s_(swap_?pc|call)_", decoded.base))

    def _limit(self, index: int, counter: str) -> int | None:
        waits = self._waits[index] or {}
        decoded = self._decoded[index]
        if counter == "expcnt" and decoded is not None and "wait_exp" in decoded.modifiers:
            return int(decoded.modifiers["wait_exp"])
        return waits.get(counter)

    def _behind_flat(self) -> dict[str, set[int]]:
        """Per counter, the instructions before which a FLAT operation may be in flight (gfx9)."""
        found: dict[str, set[int]] = {}
        for index in self._reachable:
            for count in self._counts[index]:
                if count.order != "flat":
                    continue
                seen = found.setdefault(count.counter, set())
                work = [following for following in self._next[index] if following not in seen]
                while work:
                    at = work.pop()
                    if at in seen:
                        continue
                    if self._limit(at, count.counter) == 0 or self._stops(at):
                        continue
                    seen.add(at)
                    work.extend(self._next[at])
        return found

    def _follow(self, producer: int, count: _Count, born_stuck: bool) -> Iterator[Found]:
        translated = count.counter == "xcnt"
        first = self._decoded[producer]
        assert first is not None
        start = (0, born_stuck, *self._shadow(producer, first, translated))
        seen: set[tuple[object, ...]] = set()
        work: list[tuple[int, tuple[object, ...]]] = [(at, start) for at in self._next[producer]]
        while work:
            at, state = work.pop()
            if (at, *state) in seen:
                continue
            seen.add((at, *state))
            later, stuck, loads, stores = state
            assert isinstance(later, int) and isinstance(loads, int) and isinstance(stores, int)
            if self._stops(at):
                continue
            limit = self._limit(at, count.counter)
            if limit is not None and (limit == 0 or (not stuck and later >= limit)):
                continue
            if translated and self._translation_over(at, count, loads, stores):
                continue
            decoded = self._decoded[at]
            if decoded is not None:
                access = self._access(count, producer, decoded)
                if access:
                    yield Found(at, producer, count.counter, access)
                    continue
            if at == producer:
                continue
            for other in self._counts[at]:
                if other.counter == "xcnt" and translated and other.order != count.order:
                    later = self._capacity["xcnt"]
                elif other.counter == count.counter and count.order and other.order == count.order:
                    later += 1
                if other.counter == count.counter and other.order == "flat":
                    stuck = True
                if other.order == "vmem":
                    loads += other.counter == "loadcnt"
                    stores += other.counter == "storecnt"
            if stuck:
                later = 0
            if later >= self._capacity[count.counter]:
                continue
            state = (min(later, 99), stuck, min(loads, 99), min(stores, 99)) if translated else (later, stuck, 0, 0)
            work.extend((following, state) for following in self._next[at])

    def _shadow(self, producer: int, decoded: Decoded, translated: bool) -> tuple[int, int]:
        if not translated:
            return 0, 0
        own = {count.counter for count in self._counts[producer] if count.order == "vmem"}
        return int("loadcnt" in own), int("storecnt" in own)

    def _translation_over(self, at: int, count: _Count, loads: int, stores: int) -> bool:
        if count.order == "smem":
            return self._limit(at, "kmcnt") == 0
        load_limit, store_limit = self._limit(at, "loadcnt"), self._limit(at, "storecnt")
        return (load_limit is not None and loads > load_limit) or (store_limit is not None and stores > store_limit)

    def _access(self, count: _Count, producer: int, decoded: Decoded) -> str:
        reads, writes = decoded.reads, decoded.writes
        memory = self._counts_of(decoded)
        if memory and "_d16" in decoded.base:
            reads &= ~(writes & VECTOR)
        if count.holds & reads:
            return "raw"
        lane = next((one.lane for one in memory if one.lane), "")
        flat_consumer = decoded.base.startswith("flat_")
        in_order = count.lane and count.lane == lane and not flat_consumer
        if count.holds & writes and not in_order:
            return "waw"
        if count.locks & writes and not (count.counter == "xcnt" and any(one.counter == "xcnt" for one in memory)):
            return "war"
        return ""

    def _across_barrier(self, producer: int, stuck: dict[str, set[int]]) -> Iterator[Found]:
        counter = "dscnt" if self._era == 12 else "lgkmcnt"
        born_stuck = producer in stuck.get(counter, ())
        seen = set()
        work = [(at, 0, born_stuck, True, "") for at in self._next[producer]]
        while work:
            state = work.pop()
            if state in seen:
                continue
            seen.add(state)
            at, later, is_stuck, flying, phase = state
            decoded = self._decoded[at]
            if self._stops(at) or decoded is None:
                continue
            limit = self._limit(at, counter)
            if limit is not None and (limit == 0 or (not is_stuck and later >= limit)):
                flying = False
            if flying and at == producer:
                flying = False
            base = decoded.base
            if phase == "passed" and _reads_lds(decoded):
                yield Found(at, producer, counter, "barrier")
                phase = ""
            if base == "s_barrier":
                phase = "passed" if flying else ""
            elif base.startswith("s_barrier_signal"):
                phase = ("passed+" if phase.startswith("passed") else "") + ("arrived" if flying else "")
            elif base == "s_barrier_wait":
                phase = "passed" if phase.endswith("arrived") else ""
            elif phase.startswith("passed+") and _reads_lds(decoded):
                yield Found(at, producer, counter, "barrier")
                phase = phase.removeprefix("passed+")
            for other in self._counts[at]:
                if other.counter == counter and other.order == "lds":
                    later += 1
                is_stuck = is_stuck or (other.counter == counter and other.order == "flat")
            if is_stuck:
                later = 0
            if later >= self._capacity[counter]:
                later, flying = 0, False
            if not flying:
                later, is_stuck = 0, False
            if flying or phase:
                work.extend((following, later, is_stuck, flying, phase) for following in self._next[at])

    def _counts_of(self, decoded: Decoded | None) -> list[_Count]:
        if decoded is None:
            return []
        base, era = decoded.base, self._era
        result = decoded.writes & ~EXEC
        sources = decoded.reads & (VECTOR | EXEC)
        local = "dscnt" if era == 12 else "lgkmcnt"
        scalar = "kmcnt" if era == 12 else "lgkmcnt"
        load = "loadcnt" if era == 12 else "vmcnt"
        store = {9: "vmcnt", 10: "vscnt", 12: "storecnt"}[era]
        xcnt = self._gpu == "gfx1250"
        translated = decoded.reads & (VECTOR | SGPRS | VCC | EXEC | M0)
        if re.match(r"(buffer_(inv|wbinvl1|gl[01]_inv)|global_inv)", base):
            return [_Count(load, "vmem")]
        if re.match(r"(buffer_wbl2|global_wb)", base):
            return [_Count(store, "vmem")]
        if "prefetch" in base or base in ("s_icache_inv", "ds_nop"):
            return []
        if base.startswith("tensor_"):
            return [_Count("tensorcnt", base.split("_")[1])]
        if "_async_" in base:
            return [_Count("asynccnt", "load" if "_load_" in base else "store" if "_store_" in base else "other")]
        if base.startswith(("ds_", "lds_")):
            if re.match(r"l?ds_(param|direct)_load", base):
                return [_Count("expcnt", "direct", result)]
            if "gds" in decoded.modifiers or base.startswith("ds_gws"):
                return [_Count(local, "gds", result, 0, "gds"), _Count("expcnt", "gds", 0, sources)]
            return [_Count(local, "lds", result, 0, "lds")]
        if base in ("exp", "export"):
            target = re.match(r"[a-z]+", decoded.operands[0].text)
            name = target[0] if target and target[0] in ("pos", "param") else "mrt"
            return [_Count("expcnt", f"exp {name}", 0, sources)]
        vector = base.startswith(("buffer_", "tbuffer_", "global_", "scratch_", "flat_", "image_", "cluster_"))
        if vector:
            found = []
            flat = base.startswith("flat_")
            order = "flat" if flat and era == 9 else "vmem"
            to_lds = "lds" in decoded.modifiers or "_lds_" in base
            loads = bool(decoded.writes & VECTOR) or (to_lds and "load" in base)
            lane, counter = "", load if loads else store
            if re.match(r"image_(sample|gather|get_lod|msaa_load)", base):
                lane, counter = "sampler", "samplecnt" if era == 12 else counter
            elif base.startswith("image_bvh"):
                lane, counter = "bvh", "bvhcnt" if era == 12 else counter
            elif loads:
                lane = "plain"
            if era == 12:
                lane = ""
            found.append(_Count(counter, order, decoded.writes & VECTOR, 0, lane))
            if flat:
                found.append(_Count(local, "flat" if era == 9 else "lds", decoded.writes & VECTOR))
            if xcnt:
                found.append(_Count("xcnt", "vmem", 0, translated))
            return found
        if decoded.of(Op.SMEM) or base.startswith(("s_load_", "s_buffer_load", "s_memtime", "s_memrealtime")):
            found = [_Count(scalar, "", result)]
            return [*found, _Count("xcnt", "smem", 0, translated)] if xcnt else found
        if base.startswith("s_sendmsg_rtn"):
            return [_Count(scalar, "", result)]
        if base in ("s_sendmsg", "s_sendmsghalt"):
            return [_Count(scalar, "message")]
        if era == 12 and base in ("s_get_barrier_state", "s_barrier_signal_isfirst", "s_barrier_leave"):
            return [_Count(scalar, "", result)]
        return []


def _writes_lds(decoded: Decoded) -> bool:
    base = decoded.base
    if not base.startswith("ds_") or "gds" in decoded.modifiers or base.startswith("ds_gws"):
        return False
    return decoded.of(Op.STORE | Op.ATOMIC) and not re.match(r"ds_(bpermute|permute|swizzle|nop)", base)


def _reads_lds(decoded: Decoded) -> bool:
    base = decoded.base
    if not base.startswith("ds_") or "gds" in decoded.modifiers or base.startswith("ds_gws"):
        return False
    if re.match(r"ds_(bpermute|permute|swizzle|nop|param_load|direct_load)", base):
        return False
    return bool(decoded.writes & VECTOR)
