"""Make the compiled form of the fingerprints: ``microarch/*.yaml`` -> ``microarch/compiled/*.json``.

The program reads JSON only; run this after every change of a file in ``microarch/``:

    python tools/compile_microarch.py            write what has changed
    python tools/compile_microarch.py --check    exit 1 when a compiled file is missing or stale
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MICROARCH = Path(__file__).resolve().parent.parent / "microarch"


def compiled_files(source: Path = MICROARCH) -> dict[str, str]:
    """File name in ``compiled/`` -> its text, made from the YAML files of ``source``."""
    result: dict[str, str] = {}
    for path in sorted(source.glob("*.yaml")):
        document: Any = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)  # a safe loader
        result[f"{path.stem}.json"] = json.dumps(document, separators=(",", ":"), ensure_ascii=False) + "\n"
    return result


def stale_files(source: Path = MICROARCH) -> list[str]:
    """Names of compiled files that are missing, differ from their source or have none."""
    wanted = compiled_files(source)
    target = source / "compiled"
    present = {path.name: path.read_text(encoding="utf-8") for path in target.glob("*.json")}
    return sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail when a file is stale")
    arguments = parser.parse_args()
    stale = stale_files()
    if arguments.check:
        for name in stale:
            print(f"microarch/compiled/{name} is stale: run python tools/compile_microarch.py", file=sys.stderr)
        return 1 if stale else 0
    wanted = compiled_files()
    (MICROARCH / "compiled").mkdir(exist_ok=True)
    for name in stale:
        path = MICROARCH / "compiled" / name
        if name in wanted:
            path.write_text(wanted[name], encoding="utf-8")
        else:
            path.unlink()
        print(f"microarch/compiled/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
