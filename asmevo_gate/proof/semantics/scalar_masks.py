"""Scalar instructions that read and write EXEC as a whole mask."""

from __future__ import annotations

from collections.abc import Callable

from asmevo_gate.proof.operations import Call, Meaning, operation
from asmevo_gate.proof.semantics.scalar import LOGIC, not_zero
from asmevo_gate.proof.terms import Term


def _saveexec(combine: Callable[[Call, Term, Term], Term]) -> Meaning:
    def meaning(call: Call, a: Term, exec_mask: Term) -> tuple[Term, ...] | Term:
        """Destination gets EXEC, EXEC gets the combination, SCC tells whether it is not 0"""
        value = combine(call, a, exec_mask)
        return exec_mask, value, not_zero(call, value)

    return meaning


def _wrexec(combine: Callable[[Call, Term, Term], Term]) -> Meaning:
    def meaning(call: Call, a: Term, exec_mask: Term) -> tuple[Term, ...] | Term:
        """Destination and EXEC get the combination"""
        value = combine(call, a, exec_mask)
        return value, value, not_zero(call, value)

    return meaning


def _swapped(combine: Callable[[Call, Term, Term], Term]) -> Callable[[Call, Term, Term], Term]:
    return lambda call, a, b: combine(call, b, a)


def _register() -> None:
    forms: dict[str, Callable[[Call, Term, Term], Term]] = {
        name: LOGIC[name] for name in ("and", "or", "xor", "andn2", "orn2", "nand", "nor", "xnor")
    }
    forms["and_not1"], forms["or_not1"] = LOGIC["andn2"], LOGIC["orn2"]
    # n1 / not0 complement the operand's first source, here S0; n2 / not1 complement EXEC.
    forms["andn1"] = forms["and_not0"] = _swapped(LOGIC["andn2"])
    forms["orn1"] = forms["or_not0"] = _swapped(LOGIC["orn2"])
    for width in (32, 64):
        for name, combine in forms.items():
            operation(f"s_{name}_saveexec_b{width}", f"b{width} exec scc", f"b{width} exec")(_saveexec(combine))
        for name in ("andn1", "and_not0", "andn2", "and_not1"):
            operation(f"s_{name}_wrexec_b{width}", f"b{width} exec scc", f"b{width} exec")(_wrexec(forms[name]))


_register()
