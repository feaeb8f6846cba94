"""Is a path a language model that can be loaded? A GGUF file is; for anything else: how to make one of it."""

from __future__ import annotations

from pathlib import Path

from asmevo_gate.errors import UsageError

_GGUF = b"GGUF"
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt")
_MERGE = (
    "merge the adapter into its base model (peft: PeftModel.from_pretrained(base, DIR).merge_and_unload()"
    ".save_pretrained(MERGED)), then convert: python convert_hf_to_gguf.py MERGED --outfile model.gguf (llama.cpp)"
)
_CONVERT = "convert it with llama.cpp: python convert_hf_to_gguf.py {path} --outfile model.gguf, and pass model.gguf"


def model_file(path: Path) -> Path:
    """The GGUF file that a path names: the file itself, or the only one in a directory.

    Raises:
        UsageError: it is no GGUF file; the message says how to get one.
    """
    if path.is_dir():
        return _in_directory(path)
    try:
        with path.open("rb") as stream:
            magic = stream.read(4)
    except OSError as error:
        raise UsageError(f"cannot read the model {path}: {error.strerror}", "pass a GGUF file") from error
    if magic == _GGUF:
        return path
    if path.suffix in _WEIGHTS:
        raise UsageError(f"{path} holds weights, but is no GGUF file", _CONVERT.format(path=path.parent))
    raise UsageError(f"{path} is no GGUF file", "pass a model in GGUF format, as llama.cpp reads it")


def _in_directory(path: Path) -> Path:
    if (path / "adapter_config.json").is_file():
        raise UsageError(f"{path} holds a LoRA adapter, not a model", _MERGE)
    found = sorted(path.glob("*.gguf"))
    if len(found) == 1:
        return model_file(found[0])
    if found:
        raise UsageError(f"{path} holds {len(found)} GGUF files", f"pass one of them, such as {found[0]}")
    if (path / "config.json").is_file() or any(path.glob("*.safetensors")):
        raise UsageError(f"{path} holds a Hugging Face model, not a GGUF file", _CONVERT.format(path=path))
    raise UsageError(f"{path} holds no model", "pass a GGUF file")
