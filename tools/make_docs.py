"""Write the generated documentation: one page a rule, their index, the pictures of reports, and the page about LLVM's
own tests.

Usage: python tools/make_docs.py [--check]

With ``--check`` nothing is written; the exit code is 1 when a page is stale or belongs to no rule.
"""

from __future__ import annotations

import re
import subprocess
import sys
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import llvm_pairs_page
from rich.console import Console
from rich.text import Text

from asmevo_gate.rules.documentation import rule_page
from asmevo_gate.rules.registry import all_rules

DOCS = Path(__file__).resolve().parent.parent / "docs"
RULES = DOCS / "rules"
IMAGES = DOCS / "images"
LLVM_PAIRS = DOCS / "llvm-test-pairs.md"
SHOWN = {
    "picture-changes.svg": "002-saxpy-changes.svg",
    "picture-registers.svg": "001-block_sum-registers.svg",
    "picture-time.svg": "001-block_sum-time.svg",
}
"""Pictures in ``docs/reports.md``, by the names that the report of the demo gives them."""
_WIDTH = 118


def pages() -> dict[str, str]:
    """Every generated page by file name."""
    made = {f"{rule.id}.md": rule_page(rule) for rule in all_rules()}
    rows = [f"| [{rule.id}]({rule.id}.md) | {rule.family} | {rule.severity} | {rule.title} |" for rule in all_rules()]
    head = ["# Rules", "", "| rule | family | severity | what it reports |", "| --- | --- | --- | --- |"]
    made["README.md"] = "\n".join([*head, *rows]) + "\n"
    return made


def pictures() -> dict[str, str]:
    """The terminal report of the demo as an SVG, and pictures of its kernels."""
    with TemporaryDirectory() as folder:
        demo, page = Path(folder) / "demo", Path(folder) / "gate.md"
        command = [sys.executable, "tools/demo.py", str(demo)]
        done = subprocess.run(command, cwd=DOCS.parent, capture_output=True, text=True, check=True)
        check = [sys.executable, "-m", "asmevo_gate", "check", "--base", "main", "--head", "faster", "--no-assemble"]
        subprocess.run([*check, "--output", f"markdown={page}"], cwd=demo, capture_output=True, check=False)
        kernels = {shown: (page.with_name("gate-pictures") / file).read_text() for shown, file in SHOWN.items()}
    return {"report.svg": _terminal(done.stdout), **kernels}


def _terminal(output: str) -> str:
    """A picture of a terminal."""
    console = Console(record=True, width=_WIDTH, file=StringIO(), force_terminal=True)
    console.print(Text.from_ansi(_coloured(output)))
    drawn = console.export_svg(title="asmevo-gate", unique_id="asmevo-gate-report")
    return re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)  # the picture asks nobody for a font


def _coloured(text: str) -> str:
    """The marks of severity and change, in the colours of a terminal."""
    for word, code in (("error[", "1;31"), ("warning[", "1;33"), ("worse", "31"), ("better", "32"), ("fail:", "1;31")):
        text = text.replace(word, f"\x1b[{code}m{word}\x1b[0m")
    return text


def generated() -> dict[Path, str]:
    """Every generated file with its content."""
    rules = {RULES / name: text for name, text in pages().items()}
    images = {IMAGES / name: text for name, text in pictures().items()}
    return {**rules, **images, LLVM_PAIRS: llvm_pairs_page.page()}


def main() -> int:
    """Write or check the files."""
    made = generated()
    written = {*RULES.glob("*.md"), *made}
    on_disk = {path: path.read_text() for path in written if path.exists()}
    stale = sorted(path for path in made.keys() | on_disk.keys() if made.get(path) != on_disk.get(path))
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"stale: {path.relative_to(DOCS.parent)} (run: make docs)")
        return 1 if stale else 0
    for path in stale:
        if path in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(made[path])
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
