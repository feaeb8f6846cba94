"""Compressed offload bundles unfold to the bundle that was compressed, or say why not."""

from __future__ import annotations

import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmevo_gate.errors import GateError, LimitError
from asmevo_gate.program.compressed_bundle import MAX_BYTES, uncompressed

_HEADERS = {1: "<4sHHIQ", 2: "<4sHHIIQ", 3: "<4sHHQQQ"}


def compressed(plain: bytes, version: int, size: int | None = None, method: int = 0) -> bytes:
    """A bundle as clang writes it, with zlib."""
    stream = zlib.compress(plain)
    length = struct.calcsize(_HEADERS[version])
    sizes = (len(plain) if size is None else size, 0)
    if version > 1:
        sizes = (length + len(stream), *sizes)
    return struct.pack(_HEADERS[version], b"CCOB", version, method, *sizes) + stream


@pytest.mark.parametrize("version", _HEADERS)
def test_every_version_of_the_header_unfolds(version: int) -> None:
    plain = b"__CLANG_OFFLOAD_BUNDLE__" + bytes(range(256)) * 40
    assert uncompressed(compressed(plain, version), "k.co") == plain


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"CCOB", "header"),
        (b"CCOB\3\0", "header"),
        (b"CCOB\x09\0\0\0" + bytes(40), "version 9"),
        (compressed(b"abc", 3, method=7), "method 7"),
        (compressed(b"abc" * 50, 3)[:-9], "damaged"),
        (compressed(b"abc", 2, size=2), "damaged"),
        (compressed(b"abc", 2, size=4), "damaged"),
        (compressed(b"abc", 3, method=1), "damaged|installed"),
    ],
)
def test_a_damaged_bundle_is_an_error_with_a_reason(data: bytes, words: str) -> None:
    with pytest.raises(GateError, match=words):
        uncompressed(data, "k.co")


def test_a_bundle_that_would_unfold_too_far_hits_the_limit() -> None:
    with pytest.raises(LimitError, match="MiB"):
        uncompressed(compressed(b"abc", 3, size=MAX_BYTES + 1), "k.co")


@given(st.binary(max_size=80))
def test_any_bytes_are_a_bundle_or_an_error(tail: bytes) -> None:
    try:
        uncompressed(b"CCOB" + tail, "k.co")
    except GateError:
        return


def test_what_clang_compresses_unfolds(tmp_path: Path) -> None:
    program = shutil.which("clang-offload-bundler-22")
    if program is None:
        pytest.skip("clang-offload-bundler-22 is not installed")
    pytest.importorskip("zstandard")
    content = tmp_path / "content"
    content.write_bytes(b"\x7fELF" + bytes(5000))
    empty = tmp_path / "empty"
    empty.touch()
    for name, options in (("plain", []), ("compressed", ["-compress"])):
        command = [program, "-type=o", *options, f"-output={tmp_path / name}", f"-input={empty}", f"-input={content}"]
        targets = "host-x86_64-unknown-linux-gnu-,hipv4-amdgcn-amd-amdhsa--gfx942"
        subprocess.run([*command, f"-targets={targets}"], check=True)
    assert uncompressed((tmp_path / "compressed").read_bytes(), "k.co") == (tmp_path / "plain").read_bytes()
