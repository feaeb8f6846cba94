"""The data files of this room: what LLVM and the ISA documents say, extracted or written by hand."""

from __future__ import annotations

from pathlib import Path

DIRECTORY = Path(__file__).with_name("data")


def read_data(name: str) -> bytes:
    """The content of one data file. A plain path: ``importlib.resources`` costs each start 3 ms."""
    return (DIRECTORY / name).read_bytes()
