"""Corrections of LLVM's descriptions, as data in ``hand_rules.json``, each with its reason and source."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from descriptions import Descriptions, Opcode

from asmevo_gate.isa.form_key import FormKey
from asmevo_gate.isa.targets import find_target


class HandRules:
    """The rules in the order of the file."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._rules: list[dict[str, Any]] = document["rules"]

    @classmethod
    def load(cls) -> HandRules:
        return cls(json.loads(Path(__file__).with_name("hand_rules.json").read_text()))

    def apply(
        self, target: str, key: FormKey, roles: str, opcodes: list[Opcode], read: set[str], descriptions: Descriptions
    ) -> tuple[str, set[str]]:
        """Roles and implicit reads of a form after all rules. An indexed operand has its role letter in lower case."""
        for rule in self._rules:
            if not self._concerns(rule, key, opcodes, descriptions):
                continue
            if "role" in rule and roles[:1] in ("D", "B"):
                roles = rule["role"] + roles[1:]
            read = read - set(rule.get("drop_implicit_read", ()))
            for position in rule.get("indexed", ()):
                letter = roles[position]
                if letter == "-" or (letter == "U" and position == 0):
                    letter = "D"
                roles = roles[:position] + letter.lower() + roles[position + 1 :]
        return roles, read

    def _concerns(self, rule: dict[str, Any], key: FormKey, opcodes: list[Opcode], descriptions: Descriptions) -> bool:
        if "not_families" in rule:
            return False
        if "mnemonics" in rule and not re.match(rule["mnemonics"], key.base):
            return False
        if "opcode_names" in rule and not all(re.search(rule["opcode_names"], opcode.name) for opcode in opcodes):
            return False
        if "operand_names_of" in rule:
            names = {descriptions.by_name[opcode].names[position] for opcode, position, _ in rule["operand_names_of"]}
            return any(name in names for opcode in opcodes for name in opcode.names) and not any(
                tied >= 0 and name not in names
                for opcode in opcodes
                for tied, name in zip(opcode.tied, opcode.names, strict=True)
            )
        return True

    def keeps_high_half(self, target: str) -> bool:
        """True when a 16-bit VALU result leaves the other half of the register as it was."""
        rule = next(rule for rule in self._rules if rule["name"] == "half_result")
        return find_target(target).facts["waitcnt"] not in rule["not_families"]

    def concerns(self, name: str, base: str, opcode: Opcode, descriptions: Descriptions) -> bool:
        """True when the operands of an opcode, whose mnemonic is ``base``, fall under the named rule."""
        rule = next(rule for rule in self._rules if rule["name"] == name)
        return self._concerns(rule, FormKey(base, "", 0, ""), [opcode], descriptions)
