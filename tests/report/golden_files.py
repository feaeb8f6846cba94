"""``python -m tests.report.golden_files`` writes the golden files anew: read the difference before committing it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from asmevo_gate.report.formats import FORMATS, renderer
from tests.report.samples import CONTEXT, SAMPLES

FOLDER = Path(__file__).with_name("golden")
SUFFIX = {
    "json": "json", "sarif": "sarif", "junit": "xml", "gitlab_junit": "xml", "gitlab_code_quality": "json",
    "html": "html", "markdown": "md", "github_summary": "md",
}  # fmt: skip


def golden_texts() -> dict[str, str]:
    """The text of every golden file by its name: each sample in each format, and the terminal in colour."""
    texts = {
        f"{sample}.{name}.{SUFFIX.get(name, 'txt')}": renderer(name)(make(), CONTEXT)
        for sample, make in SAMPLES.items()
        for name in FORMATS
    }
    coloured = msgspec.structs.replace(CONTEXT, colour=True)
    texts["failing.terminal-colour.txt"] = renderer("terminal")(SAMPLES["failing"](), coloured)
    return texts


if __name__ == "__main__":
    for file in FOLDER.iterdir():
        file.unlink()
    for name, text in golden_texts().items():
        (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")
