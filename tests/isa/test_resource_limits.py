"""Limits and descriptor directives of every GPU, and the assembler's own opinion of the directives."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from asmevo_gate.isa.resource_limits import (
    descriptor_directives,
    extra_sgprs,
    has_xnack,
    is_unified,
    resource_limits,
    total_vgprs,
)
from asmevo_gate.isa.targets import document, find_target, parse_target, target_names

MC = shutil.which("llvm-mc-22")


@pytest.mark.parametrize("gpu", [*target_names(), *document()["same_instructions"]])
def test_every_processor_has_limits_that_fit_together(gpu: str) -> None:
    target = find_target(gpu)
    limits = resource_limits(target)
    assert set(limits.vgpr) == set(target.wave_sizes)
    for file in limits.vgpr.values():
        assert file.file % file.granule == 0
        assert file.addressable <= file.file
    for block in limits.sharing.values():
        assert block.lds_bytes >= target.facts["lds_bytes"]
    assert bool(limits.sgpr.waves_by_count) == (limits.sgpr.fixed is None)


def test_processors_of_one_instruction_set_may_differ_in_registers() -> None:
    assert resource_limits(find_target("gfx1151")).vgpr[32].file == 1536
    assert resource_limits(find_target("gfx1150")).vgpr[32].file == 1024
    assert resource_limits(find_target("gfx1101")) == resource_limits(find_target("gfx1100"))


def test_totals_and_extras() -> None:
    gfx90a, gfx908 = find_target("gfx90a"), find_target("gfx908")
    assert is_unified(gfx90a)
    assert not is_unified(gfx908)
    assert (total_vgprs(gfx90a, 5, 3), total_vgprs(gfx90a, 5, 0), total_vgprs(gfx908, 5, 9)) == (11, 5, 9)
    assert extra_sgprs(gfx908, vcc=True, flat_scratch=False, xnack=False) == 2
    assert extra_sgprs(gfx908, vcc=True, flat_scratch=True, xnack=True) == 6
    assert has_xnack(gfx90a)
    assert not has_xnack(parse_target("gfx90a:xnack-"))
    assert not has_xnack(find_target("gfx1100"))


@pytest.mark.oracle
@pytest.mark.skipif(MC is None, reason="llvm-mc-22 is not installed")
@pytest.mark.parametrize("gpu", target_names())
def test_the_assembler_accepts_the_directives_that_we_say_exist(gpu: str) -> None:
    assert MC
    target = find_target(gpu)
    lines: list[str] = []
    places: dict[int, str] = {}
    for number, (name, facts) in enumerate(descriptor_directives().items()):
        value = {"next_free_vgpr": 8, "accum_offset": 8, "reserve_xnack_mask": int(has_xnack(target))}.get(name, 0)
        lines.append(f".amdhsa_kernel k{number}")
        for needed, count in (("next_free_vgpr", 8), ("next_free_sgpr", 8), ("accum_offset", 8)):
            if needed != name and descriptor_directives()[needed].exists_on(target):
                lines.append(f".amdhsa_{needed} {count}")
        lines.append(f".amdhsa_{name} {value}")
        places[len(lines)] = name
        lines.append(".end_amdhsa_kernel")
        assert isinstance(facts.default, int) or facts.default in ("required", "target")
    arguments = [MC, "-triple=amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-filetype=null"]
    done = subprocess.run(arguments, input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    rejected = {
        places[int(line)] for line in re.findall(r"<stdin>:(\d+):\d+: error", done.stderr) if int(line) in places
    }
    assert rejected == {name for name, facts in descriptor_directives().items() if not facts.exists_on(target)}
