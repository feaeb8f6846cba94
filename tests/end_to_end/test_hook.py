"""The hooks as a user has them: installed by the real pre-commit from this source, on a scratch repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parents[2]

GOOD = """\
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.text
.globl scale
.p2align 8
.type scale,@function
scale:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[2:3]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v1, 1.0, v1
  global_store_dword v0, v1, s[2:3]
  s_endpgm
.rodata
.amdhsa_kernel scale
  .amdhsa_next_free_vgpr 2
  .amdhsa_next_free_sgpr 4
  .amdhsa_accum_offset 4
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
.end_amdhsa_kernel
"""
# gfx90a has no v_permlane16_b32; it came with gfx10.
BAD = GOOD.replace("  global_store_dword", "  v_permlane16_b32 v1, v1, s2, s3\n  global_store_dword")
X86 = ".text\n.globl f\nf:\n  movq %rdi, %rax\n  addq $8, %rax\n  ret\n"


class Scratch:
    """A user's repository."""

    def __init__(self, root: Path, environment: dict[str, str]) -> None:
        self.root = root
        self.environment = environment

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in it; output and errors together in ``stdout``."""
        done = subprocess.run(
            command,
            cwd=self.root,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=600,
        )
        if "Could not fetch URL" in done.stdout or "NewConnectionError" in done.stdout:
            pytest.skip("pip reaches no package index, so pre-commit cannot install the hook")
        return done

    def git(self, *arguments: str) -> str:
        """Run git, which must succeed."""
        done = self.run("git", *arguments)
        assert done.returncode == 0, done.stdout
        return done.stdout.strip()

    def stage(self, path: str, text: str) -> None:
        """Write and stage a file."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        self.git("add", "--", path)


def _environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PRE_COMMIT"))}
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Test\n\temail = test@example.com\n[init]\n\tdefaultBranch = main\n"
    )
    # HOME stays: pip's own configuration, which may name a package index, is there.
    kept |= {"GIT_CONFIG_GLOBAL": str(home / ".gitconfig"), "GIT_CONFIG_NOSYSTEM": "1"}
    kept |= {"PRE_COMMIT_HOME": str(home / "pre-commit"), "PRE_COMMIT_COLOR": "never"}
    return kept


@pytest.fixture(scope="module")
def pre_commit() -> str:
    """The program ``pre-commit``."""
    beside = Path(sys.executable).with_name("pre-commit")
    found = str(beside) if beside.exists() else shutil.which("pre-commit")
    if not found:
        pytest.skip("pre-commit is not installed")
    return found


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Processes of this module share one pre-commit cache, so that the hook is installed once."""
    return _environment(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def source(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    """This source as one commit of a repository of its own."""
    if not (SOURCE / ".git").exists():
        pytest.skip("the tests do not run in a git work tree, so the source has no list of files")
    copy = Scratch(tmp_path_factory.mktemp("source"), environment)
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=SOURCE, capture_output=True, text=True, check=True).stdout
    for name in filter(None, set(names.split("\0"))):
        if (SOURCE / name).is_file():
            (copy.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / name, copy.root / name)
    copy.git("init", "--quiet")
    copy.git("add", "--all", "--force")
    copy.git("commit", "--quiet", "--message", "source")
    return copy


@pytest.fixture
def user(environment: dict[str, str], tmp_path: Path) -> Scratch:
    """A repository with one good kernel."""
    scratch = Scratch(tmp_path, environment)
    scratch.git("init", "--quiet")
    scratch.stage("kernels/scale.s", GOOD)
    scratch.git("commit", "--quiet", "--message", "start")
    return scratch


def test_manifest_is_valid_and_names_commands_that_exist(pre_commit: str, user: Scratch) -> None:
    manifest = SOURCE / ".pre-commit-hooks.yaml"
    checked = user.run(pre_commit, "validate-manifest", str(manifest))
    assert checked.returncode == 0, checked.stdout
    hooks = {hook["id"]: hook for hook in yaml.safe_load(manifest.read_text())}
    assert set(hooks) == {"asmevo-gate", "asmevo-gate-rewrite"}
    for hook in hooks.values():
        program, *arguments = hook["entry"].split()
        assert program == "asmevo-gate"
        helped = user.run(sys.executable, "-m", "asmevo_gate", *arguments, "--help")
        if arguments[0] == "rewrite" and "No such command" in helped.stdout:
            pytest.skip("the command 'asmevo-gate rewrite' does not exist yet")
        assert helped.returncode == 0, helped.stdout


def test_try_repo_blocks_a_bad_commit_and_passes_a_good_one(pre_commit: str, source: Scratch, user: Scratch) -> None:
    command = (pre_commit, "try-repo", str(source.root), "asmevo-gate")
    user.stage("kernels/scale.s", BAD)
    blocked = user.run(*command)
    assert blocked.returncode == 1, blocked.stdout
    assert "kernels/scale.s:13" in blocked.stdout
    assert "v_permlane16_b32" in blocked.stdout
    assert "exit code: 1" in blocked.stdout
    user.stage("kernels/scale.s", GOOD.replace("1.0", "2.0"))
    passed = user.run(*command)
    assert passed.returncode == 0, passed.stdout
    assert "Passed" in passed.stdout


@pytest.fixture
def installed(pre_commit: str, source: Scratch, user: Scratch) -> Scratch:
    """The user's repository with the check hook in place."""
    revision = source.git("rev-parse", "HEAD")
    user.stage(
        ".pre-commit-config.yaml",
        f"repos:\n- repo: {source.root}\n  rev: {revision}\n  hooks:\n  - id: asmevo-gate\n",
    )
    user.git("commit", "--quiet", "--message", "configure")
    assert user.run(pre_commit, "install").returncode == 0
    return user


def test_git_commit_is_blocked_by_staged_content_alone(installed: Scratch) -> None:
    installed.stage("kernels/scale.s", BAD)
    (installed.root / "kernels/scale.s").write_text(GOOD)
    blocked = installed.run("git", "commit", "-m", "bad")
    assert blocked.returncode == 1, blocked.stdout
    assert "v_permlane16_b32" in blocked.stdout
    installed.stage("kernels/scale.s", GOOD.replace("1.0", "2.0"))
    (installed.root / "kernels/scale.s").write_text(BAD)
    passed = installed.run("git", "commit", "-m", "good")
    assert passed.returncode == 0, passed.stdout


def test_changed_include_blocks_the_commit_of_the_file_that_includes_it(installed: Scratch) -> None:
    call = GOOD.replace("  v_add_f32_e32 v1, 1.0, v1\n", '  .include "body.inc"\n')
    installed.stage("kernels/body.inc", "  v_add_f32_e32 v1, 1.0, v1\n")
    installed.stage("kernels/scale.s", call)
    passed = installed.run("git", "commit", "-m", "split")
    assert passed.returncode == 0, passed.stdout
    installed.stage("kernels/body.inc", "  v_permlane16_b32 v1, v1, s2, s3\n")
    blocked = installed.run("git", "commit", "-m", "bad")
    assert blocked.returncode == 1, blocked.stdout
    assert "v_permlane16_b32" in blocked.stdout


def test_other_files_pass_quietly(installed: Scratch) -> None:
    installed.stage("README.md", "kernels\n")
    installed.stage("host/f.s", X86)
    passed = installed.run("git", "commit", "-m", "host code")
    assert passed.returncode == 0, passed.stdout
    assert "check AMD GPU assembly" in passed.stdout


def test_all_files_are_checked_when_asked_for(pre_commit: str, installed: Scratch) -> None:
    passed = installed.run(pre_commit, "run", "--all-files")
    assert passed.returncode == 0, passed.stdout
    assert "Passed" in passed.stdout


def test_range_of_a_push_is_checked(pre_commit: str, installed: Scratch) -> None:
    installed.git("checkout", "--quiet", "-b", "change")
    installed.stage("kernels/scale.s", BAD)
    installed.git("commit", "--quiet", "--no-verify", "--message", "bad")
    blocked = installed.run(pre_commit, "run", "--from-ref", "main", "--to-ref", "HEAD")
    assert blocked.returncode == 1, blocked.stdout
    assert "v_permlane16_b32" in blocked.stdout
