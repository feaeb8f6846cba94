"""The rule ``md.arg_access``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from asmevo_gate.analysis.pointer_arguments import argument_accesses
from asmevo_gate.rules.facts import KernelFacts
from asmevo_gate.rules.kernel_examples import kernel_text
from asmevo_gate.rules.rule import Example, Rule, Violation

_STORE = (
    "  s_load_dwordx2 s[4:5], s[0:1], 0x0\n  v_mov_b32 v1, 1.0\n  s_waitcnt lgkmcnt(0)\n"
    "  global_store_dword v0, v1, s[4:5]\n"
)


def _argument(access: str) -> str:
    return (
        "    .args:\n      - { .name: out, .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global, "
        f".actual_access: {access} }}\n"
    )


class ArgumentAccess(Rule):
    """The metadata says that a buffer is only read, and the kernel writes it (or the other way round).

    What it does:
        Follows the pointers that scalar loads take from the kernarg segment to stores, atomics and loads, and compares
        with .actual_access, .access and .is_const of that argument. Only accesses whose address surely comes from
        one argument count. Reading a write_only argument is a warning.
    Why it matters:
        Runtimes trust the metadata: a buffer marked read_only may be mapped so, cached so, or shared between kernels
        that run at once. The kernel then faults, or its results are lost.
    Repair:
        Correct the access of the argument in the metadata, or the argument order in the code.
    Sources:
        AMDGPUUsage, "Code Object V3 Kernel Argument Metadata Map" (.access, .actual_access, .is_const).
    """

    id = "md.arg_access"
    title = "metadata and code disagree on what an argument is used for"
    family = "abi"
    severity = "error"
    bad = (Example("gfx908", kernel_text(_STORE, metadata=_argument("read_only")), line=6),)
    good = (
        Example("gfx908", kernel_text(_STORE, metadata=_argument("write_only"))),
        Example("gfx908", kernel_text(_STORE, metadata=_argument("read_write"))),
    )

    def check_kernel(self, facts: KernelFacts) -> Iterable[Violation]:
        """Accesses that the metadata of their argument rules out; the first one of each argument and kind."""
        arguments = list(_pointer_arguments(facts))
        if not arguments:
            return
        reported: set[tuple[str, bool]] = set()
        for access in argument_accesses(facts.kernel):
            for name, offset, allowed in arguments:
                if not offset <= access.offset < offset + 8 or (name, access.stores) in reported:
                    continue
                if access.stores and allowed == "read_only":
                    message, severity = f"'{name}' is written here, but the metadata says that it is only read", None
                elif not access.stores and allowed == "write_only":
                    message, severity = (
                        f"'{name}' is read here, but the metadata says that it is only written",
                        "warning",
                    )
                else:
                    continue
                reported.add((name, access.stores))
                yield Violation(
                    place=access.instruction.statement.place,
                    frames=access.instruction.statement.frames,
                    message=message,
                    repair=f"correct .actual_access of '{name}', or the order of the arguments",
                    severity="warning" if severity else None,
                )


def _pointer_arguments(facts: KernelFacts) -> Iterator[tuple[str, int, str]]:
    """Name, offset and access (read_only, write_only, read_write) of each pointer argument that states one."""
    metadata = facts.kernel.metadata
    arguments = metadata.values.get(".args") if metadata else None
    for argument in arguments if isinstance(arguments, list) else ():
        if not isinstance(argument, dict):
            continue
        offset = argument.get(".offset")
        allowed = _access(argument)
        if isinstance(offset, int) and argument.get(".size") == 8 and allowed:
            yield str(argument.get(".name", f"argument at {offset}")), offset, allowed


def _access(argument: dict[str, Any]) -> str:
    for key in (".actual_access", ".access"):
        if argument.get(key) in ("read_only", "write_only", "read_write"):
            return str(argument[key])
    return "read_only" if argument.get(".is_const") is True else ""
