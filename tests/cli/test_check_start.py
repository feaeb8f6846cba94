"""What the start of a check pays for: modules that few files need, and classes whose methods are compiled anew."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

KERNEL = '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\nk:\n  v_add_f32 v0, v1, v2\n  s_endpgm\n'
NOT_NEEDED = (
    "numpy", "onnxruntime", "yaml", "tomllib", "jinja2", "llvmlite", "bitwuzla", "git",
    "asyncio", "concurrent.futures", "multiprocessing", "logging", "json", "zipfile", "importlib.resources",
    "asmevo_gate.program.code_object", "asmevo_gate.verify.disassembler", "asmevo_gate.report.html",
)  # fmt: skip

PROGRAM = """
import io, sys
sys.path[:] = {path!r}
out, sys.stdout = sys.stdout, io.StringIO()
from asmevo_gate.cli.main import run
code = run(["check", "--no-cache", {file!r}])
sys.stdout = out
ours = [module for name, module in list(sys.modules.items()) if name.startswith("asmevo_gate")]
compiled = sorted(
    f"{{module.__name__}}.{{name}}" for module in ours for name, value in vars(module).items()
    if isinstance(value, type) and "__dataclass_fields__" in vars(value) and value.__module__ == module.__name__
)
needless = [name for name in {names!r} if name in sys.modules]
import json
print(json.dumps([code, needless, compiled]))
"""


def test_a_check_imports_no_more_than_it_needs(tmp_path: Path) -> None:
    file = tmp_path / "k.s"
    file.write_text(KERNEL)
    # -S leaves out site-packages and with them what editable installs import at start.
    program = PROGRAM.format(path=sys.path, file=str(file), names=NOT_NEEDED)
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    code, needless, compiled = json.loads(done.stdout)
    assert code in (0, 1)
    assert needless == []
    assert compiled == [], "a record that each check needs is a msgspec.Struct"
