"""``asmevo-gate doctor``: what the gate finds on this machine, and which settings hold."""

from __future__ import annotations

import platform
from importlib.util import find_spec
from pathlib import Path

import click

_EXTRAS = {
    "onnx": ("numpy", "onnxruntime"),
    "rewrite": ("llvmlite", "bitwuzla", "numpy"),
    "assembler": ("ziglang", "rocm"),
    "llm": ("llama_cpp",),
    "forge": ("gitlab",),
}


@click.command("doctor")
def command() -> int:
    """Show versions, data, assemblers, optional parts, and the settings that hold here."""
    from asmevo_gate import __version__
    from asmevo_gate.gate.data_version import data_version
    from asmevo_gate.gate.settings import explain_settings, load_settings
    from asmevo_gate.isa.targets import target_names
    from asmevo_gate.rules.registry import all_rules
    from asmevo_gate.verify.discovery import Tool, find_tools

    click.echo(f"asmevo-gate {__version__}, data {data_version()}, Python {platform.python_version()}")
    click.echo(f"GPUs: {', '.join(target_names())}")
    click.echo(f"rules: {len(all_rules())}")
    click.echo("assemblers and disassemblers, in the order in which they are tried:")
    found = list(find_tools(("clang", "llvm-mc", "llvm-objdump", "llvm-c")))
    for tool in found:
        click.echo(f"  {tool}" if isinstance(tool, Tool) else f"  {' '.join(tool.command)}: {tool.reason}")
    if not found:
        click.echo("  none: install LLVM or ROCm, or: pip install 'asmevo-gate[assembler]'")
    click.echo("optional parts:")
    for extra, modules in _EXTRAS.items():
        missing = [module for module in modules if find_spec(module) is None]
        click.echo(f"  {extra}: " + (f"not installed ({', '.join(missing)} missing)" if missing else "installed"))
    click.echo(explain_settings(load_settings(Path.cwd())))
    return 0
