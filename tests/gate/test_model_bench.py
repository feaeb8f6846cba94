"""Measuring proposers: the set that ships, what is counted, and the command."""

from __future__ import annotations

import json
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from asmevo_gate.cli.main import run
from asmevo_gate.errors import UsageError
from asmevo_gate.gate.model_bench import measure, places
from asmevo_gate.gate.region_set import SetKernel, kernels_at, packed, shipped_kernels
from asmevo_gate.gate.target_choice import named_target
from asmevo_gate.rewrite.model_proposer import ModelProposer
from asmevo_gate.rewrite.proposal import RewriteOptions
from asmevo_gate.rewrite.proposers import deterministic_proposers
from tests.rewrite.kernels import kernel
from tests.rewrite.scripted_model import ScriptedModel
from tests.rewrite.tiny_model import write_tiny_model

DEAD = "  v_mov_b32_e32 v9, v4\n  v_add_u32_e32 v10, v4, v5\n  v_xor_b32_e32 v11, v10, v6\n  v_mul_lo_u32 v8, v11, v7\n"
CLEAN = DEAD.replace("  v_mov_b32_e32 v9, v4\n", "  v_add_u32_e32 v12, v5, v6\n").replace("v10, v6", "v10, v12")


def kernels(*bodies: str) -> list[SetKernel]:
    return [SetKernel("given", f"k{at}.s", kernel(body)) for at, body in enumerate(bodies)]


def test_shipped_set_has_every_family_on_every_gpu() -> None:
    found = Counter()
    for one in shipped_kernels():
        target = named_target(one.name, one.text)
        assert target is not None
        found[one.family, target.name] += 1
    families, gpus = {family for family, _ in found}, {gpu for _, gpu in found}
    assert families == {"GEMM", "attention", "FFT", "reduction", "convolution"}
    assert gpus == {"gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"}
    assert len(found) == len(families) * len(gpus)
    assert packed(shipped_kernels()) == packed(shipped_kernels())


def test_blocks_are_spread_over_the_set() -> None:
    chosen = places(kernels(DEAD, CLEAN, DEAD, CLEAN), RewriteOptions(), 2)
    assert [place.kernel.name for place in chosen] == ["k0.s", "k2.s"]
    assert len(places(kernels(DEAD, CLEAN), RewriteOptions(), 0)) == 2
    with pytest.raises(UsageError, match="names no GPU"):
        places([SetKernel("given", "x.s", "s_endpgm\n")], RewriteOptions(), 0)


def test_what_is_counted() -> None:
    def says(text: str) -> str:
        if "v_mov_b32_e32 v9" in text:
            return "delete 1\ndone"  # the dead move
        return "delete 0\ndone" if "were refused" not in text else "done"  # the wait

    model = ScriptedModel(says)
    seen: list[int] = []
    score = measure((ModelProposer(model, print),), places(kernels(DEAD, CLEAN), RewriteOptions(), 0), seen.append)
    assert seen == [1, 2]
    assert (score.blocks, score.answers, score.empty, score.unread, score.proposals) == (2, 3, 1, 0, 2)
    assert (score.accepted, score.improved, score.compliant) == (1, 1, 1)
    assert score.rejected == {"constraint": 1}
    assert (score.valid_percent, score.compliant_percent, score.accepted_percent) == (100.0, 50.0, 50.0)


def test_answers_outside_the_language_count_as_not_valid() -> None:
    model = ScriptedModel(lambda text: "nonsense")
    proposer = ModelProposer(model, lambda line: None)
    score = measure((proposer,), places(kernels(DEAD, CLEAN), RewriteOptions(), 0), lambda done: None)
    assert (score.answers, score.unread, score.valid_percent, score.accepted) == (2, 2, 0.0, 0)


def test_deterministic_proposers_are_measured_alike() -> None:
    blocks = places(kernels(DEAD, CLEAN), RewriteOptions(), 0)
    score = measure(deterministic_proposers(RewriteOptions()), blocks, lambda done: None)
    assert (score.blocks, score.accepted, score.answers) == (2, 1, 0)


def test_kernels_from_files(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "k.s").write_text(kernel(DEAD))
    (tmp_path / "a" / "notes.txt").write_text("no kernel")
    assert [one.text for one in kernels_at([tmp_path])] == [kernel(DEAD)]
    with pytest.raises(UsageError):
        kernels_at([tmp_path / "none.s"])
    with pytest.raises(UsageError):
        kernels_at([])


def test_command_without_a_usable_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.s").write_text(kernel(DEAD))
    model = tmp_path / "model.gguf"
    model.write_text("no model")
    assert run(["bench-model", str(model), "--kernels", str(tmp_path / "k.s")]) == 2
    printed = capsys.readouterr()
    assert "is no GGUF file" in printed.err and printed.err.count("asmevo-gate:") == 1
    head, *rows = printed.out.splitlines()
    assert [row.split("  ")[0] for row in rows] == ["deterministic proposers", "published (best model)"]
    assert "92.0" in rows[1] and "79.0" in rows[1] and "0.80" in rows[1] and "2.1" in rows[1]
    assert " ".join(head.split()) == "proposer blocks valid % compliant % accepted % > 3 % faster % s a block GB"


@pytest.mark.skipif(find_spec("llama_cpp") is None, reason="needs the extra llm: llama_cpp not installed")
@pytest.mark.skipif(find_spec("gguf") is None, reason="needs the extra dev: gguf not installed")
def test_command_with_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.s").write_text(kernel(DEAD))
    model = write_tiny_model(tmp_path / "tiny.gguf")
    arguments = ["bench-model", str(model), "--kernels", str(tmp_path / "k.s"), "--model-temperature", "1"]
    assert run([*arguments, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    tiny, deterministic = document["proposers"]
    assert tiny["proposer"] == "tiny.gguf" and deterministic["accepted_percent"] == 100.0
    assert tiny["blocks"] == 1 and tiny["answers"] >= 1 and tiny["valid_percent"] == 100.0
    assert tiny["peak_memory_bytes"] > 10 << 20
    assert document["options"]["temperature"] == 1.0 and document["options"]["seed"] == 1
