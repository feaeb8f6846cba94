"""``python -m asmevo_gate``."""

from asmevo_gate.cli.main import main

main()
