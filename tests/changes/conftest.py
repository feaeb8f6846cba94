"""Real git repositories in temporary directories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

KERNEL = b"""\
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.text
copy:
  s_load_dwordx2 s[0:1], s[4:5], 0x0
  v_mov_b32_e32 v0, 0
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[0:1]
  s_waitcnt vmcnt(0)
  global_store_dword v0, v1, s[0:1] offset:4
  s_endpgm
"""


class Scratch:
    """A repository to do things to."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def git(self, *arguments: str | bytes, check: bool = True, **environment: str) -> str:
        """Run git in the repository and give its output."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env={**os.environ, **environment},
            capture_output=True,
            check=False,
        )
        if check and done.returncode:
            raise AssertionError(f"git {arguments}: {done.stderr.decode(errors='replace')}")
        return os.fsdecode(done.stdout).strip()

    def write(self, path: str, data: bytes = KERNEL) -> Path:
        """Write a file in the work tree."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        return place

    def stage(self, path: str, data: bytes = KERNEL) -> Path:
        """Write a file and add it to the index."""
        place = self.write(path, data)
        self.git("add", "--", path)
        return place

    def commit(self) -> str:
        """Commit what is staged."""
        self.git("commit", "--quiet", "--allow-empty", "--message", "step")
        return self.git("rev-parse", "HEAD")


@pytest.fixture(autouse=True)
def private_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration, hooks or repository of the machine takes part."""
    for name in list(os.environ):
        if name.startswith(("GIT_", "PRE_COMMIT")):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Test\n\temail = test@example.com\n[init]\n\tdefaultBranch = main\n"
        '[protocol "file"]\n\tallow = always\n'
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))


@pytest.fixture
def empty(tmp_path: Path) -> Scratch:
    """A repository without a commit."""
    root = tmp_path / "repository"
    root.mkdir()
    scratch = Scratch(root.resolve())
    scratch.git("init", "--quiet")
    return scratch


@pytest.fixture
def scratch(empty: Scratch) -> Scratch:
    """A repository with one committed kernel and one text file."""
    empty.stage("kernels/copy.s")
    empty.stage("README.md", b"kernels\n")
    empty.commit()
    return empty
