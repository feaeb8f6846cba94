"""Write the generated documentation: one page a rule and their index.

Usage: python tools/make_docs.py [--check]

With ``--check`` nothing is written; the exit code is 1 when a page is stale or belongs to no rule.
"""

from __future__ import annotations

import sys
from pathlib import Path

from asmevo_gate.rules.documentation import rule_page
from asmevo_gate.rules.registry import all_rules

RULES = Path(__file__).resolve().parent.parent / "docs" / "rules"


def pages() -> dict[str, str]:
    """Every generated page by file name."""
    made = {f"{rule.id}.md": rule_page(rule) for rule in all_rules()}
    rows = [f"| [{rule.id}]({rule.id}.md) | {rule.family} | {rule.severity} | {rule.title} |" for rule in all_rules()]
    head = ["# Rules", "", "| rule | family | severity | what it reports |", "| --- | --- | --- | --- |"]
    made["README.md"] = "\n".join([*head, *rows]) + "\n"
    return made


def main() -> int:
    """Write or check the pages."""
    made = pages()
    on_disk = {path.name: path.read_text() for path in RULES.glob("*.md")}
    stale = sorted(name for name in made.keys() | on_disk.keys() if made.get(name) != on_disk.get(name))
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"stale: docs/rules/{name} (run: make docs)")
        return 1 if stale else 0
    RULES.mkdir(parents=True, exist_ok=True)
    for name in stale:
        if name in made:
            (RULES / name).write_text(made[name])
        else:
            (RULES / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
