"""The JSON Schema of constraint files, made from the structs so that both cannot disagree.

``python -m asmevo_gate.constraints.schema`` prints it; ``constraints/schema.json`` is that output.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from asmevo_gate.constraints.model import SCHEMA, ConstraintFile
from asmevo_gate.constraints.predicates import PREDICATES
from asmevo_gate.constraints.roles import REGISTER_FILES, ROLES
from asmevo_gate.isa.instruction import OP_BITS


def json_schema() -> dict[str, Any]:
    """The schema as a document (JSON Schema 2020-12)."""
    document = msgspec.json.schema(ConstraintFile)
    definitions: dict[str, Any] = document["$defs"]
    definitions["ConstraintFile"]["properties"]["schema"] = {"const": SCHEMA}
    one_class = definitions["InstructionClass"]["properties"]
    for name in ("any", "all", "none"):
        one_class[name]["items"] = {"enum": list(OP_BITS)}
    one_class["where"] = {"enum": ["", *PREDICATES], "default": ""}
    node = definitions["Node"]["properties"]
    node["role"] = {"enum": [*ROLES, "hwreg"], "default": "none"}
    node["registers"] = {"enum": list(REGISTER_FILES), "default": "all"}
    edge = definitions["Edge"]
    edge["properties"]["source"]["minItems"] = 1
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "asmevo-gate constraint file",
        **document,
    }


if __name__ == "__main__":
    print(json.dumps(json_schema(), indent=1))
