"""A language model of random weights, small enough to be written by a test: two layers of 64, a token for each byte."""

from __future__ import annotations

from pathlib import Path

_WIDTH, _LAYERS, _HEADS, _INNER = 64, 2, 4, 128
_UNKNOWN, _CONTROL, _BYTE, _NORMAL = 2, 3, 6, 1  # token types of GGUF (gguf.TokenType)


def write_tiny_model(path: Path, seed: int = 0, context: int = 4096, chat_template: str = "") -> Path:
    """Write the model as a GGUF file of about half a megabyte."""
    import gguf
    import numpy as np

    random = np.random.default_rng(seed)
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "\u2581"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(f"tiny random model {seed}")
    writer.add_context_length(context)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(_LAYERS)
    writer.add_feed_forward_length(_INNER)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(_WIDTH // _HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(0)
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([token.encode() for token in tokens])
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([_UNKNOWN, _CONTROL, _CONTROL, *([_BYTE] * 256), _NORMAL])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    if chat_template:
        writer.add_chat_template(chat_template)

    def weights(name: str, *shape: int) -> None:
        writer.add_tensor(name, (random.standard_normal(shape) * 0.05).astype(np.float32))

    def ones(name: str) -> None:
        writer.add_tensor(name, np.ones(_WIDTH, np.float32))

    weights("token_embd.weight", len(tokens), _WIDTH)
    ones("output_norm.weight")
    weights("output.weight", len(tokens), _WIDTH)
    for layer in range(_LAYERS):
        block = f"blk.{layer}"
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            weights(f"{block}.{name}.weight", _WIDTH, _WIDTH)
        ones(f"{block}.attn_norm.weight")
        ones(f"{block}.ffn_norm.weight")
        weights(f"{block}.ffn_gate.weight", _INNER, _WIDTH)
        weights(f"{block}.ffn_up.weight", _INNER, _WIDTH)
        weights(f"{block}.ffn_down.weight", _WIDTH, _INNER)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
