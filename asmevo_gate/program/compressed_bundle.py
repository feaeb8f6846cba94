"""Compressed offload bundles (``CCOB``): header, then one zlib or Zstandard stream of a plain bundle.

Layout of the header: clang's ``OffloadBundler.cpp``, ``CompressedOffloadBundle``, versions 1 to 3.
"""

from __future__ import annotations

import importlib
import struct
import zlib
from typing import Any

from asmevo_gate.errors import GateError, LimitError

MAX_BYTES = 1 << 30
"""The most that a bundle may unfold to."""
_START = struct.Struct("<4sHH")
_SIZES = {1: struct.Struct("<IQ"), 2: struct.Struct("<IIQ"), 3: struct.Struct("<QQQ")}
"""By version: what follows ``_START``; the last but one is the size of the plain bundle, the last its hash."""
_ZLIB, _ZSTANDARD = 0, 1
_UNBUNDLE = "unbundle it: clang-offload-bundler --unbundle, or build with --no-offload-compress"


def uncompressed(data: bytes, path: str) -> bytes:
    """The plain bundle in a compressed one.

    Raises:
        GateError: the file is damaged, of an unknown version, or compressed with Zstandard where no module for it is
            installed.
        LimitError: it unfolds to more than :data:`MAX_BYTES`.
    """
    try:
        _, version, method = _START.unpack_from(data)
        sizes = _SIZES.get(version)
        if sizes is None:
            raise GateError(f"compressed offload bundle of version {version}, which is not known", _UNBUNDLE, path)
        size = sizes.unpack_from(data, _START.size)[-2]
    except struct.error:
        raise GateError("the compressed offload bundle ends inside its header", "build it again", path) from None
    if size > MAX_BYTES:
        raise LimitError(f"the offload bundle unfolds to more than {MAX_BYTES >> 20} MiB", _UNBUNDLE, path)
    stream = data[_START.size + sizes.size :]
    if method == _ZLIB:
        plain = _inflate(stream, size, path)
    elif method == _ZSTANDARD:
        plain = _zstandard(stream, size, path)
    else:
        raise GateError(f"compressed offload bundle by method {method}, which is not known", _UNBUNDLE, path)
    if len(plain) != size:
        raise GateError(
            "the compressed offload bundle is damaged: its size is not what it says", "build it again", path
        )
    return plain


def _inflate(stream: bytes, size: int, path: str) -> bytes:
    try:
        return zlib.decompressobj().decompress(stream, size + 1)
    except zlib.error as error:
        raise GateError(f"the compressed offload bundle is damaged: {error}", "build it again", path) from None


def _zstandard(stream: bytes, size: int, path: str) -> bytes:
    for name in ("compression.zstd", "zstandard"):
        try:
            module: Any = importlib.import_module(name)
        except ImportError:
            continue
        made = module.ZstdDecompressor()
        damaged = getattr(module, "ZstdError", ValueError)
        try:
            # Both are bounded: the first by its argument, the second by the size in the frame that is checked first.
            if name == "compression.zstd":
                return bytes(made.decompress(stream, size + 1))
            if module.frame_content_size(stream) > size:
                break
            return bytes(made.decompress(stream, max_output_size=size + 1))
        except damaged as error:
            raise GateError(f"the compressed offload bundle is damaged: {error}", "build it again", path) from None
    else:
        raise GateError(
            "the offload bundle is compressed (CCOB) with Zstandard, for which no module is installed",
            f"pip install zstandard, or {_UNBUNDLE}",
            path,
        )
    raise GateError("the compressed offload bundle is damaged: its size is not what it says", "build it again", path)
