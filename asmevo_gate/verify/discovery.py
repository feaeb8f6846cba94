"""LLVM tools for AMDGPU on this machine: where they are, which version, which GPUs they know.

Order: what the user names, the ROCm that the environment names, ROCm in its usual places, a ROCm installed by pip,
numbered LLVM tools (highest version first), pip packages. Each tool is probed before it is used, because an
``llvm-mc`` of the distribution may be years older than the GPU.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import msgspec

from asmevo_gate.verify.limited_process import Finished, run_limited

OPTION = "ASMEVO_ASSEMBLER"
"""Environment variable: a program, or a directory that holds one (or ``bin`` or ``llvm/bin`` below it)."""

LIBRARY_COMMAND = (sys.executable, "-I", str(Path(__file__).with_name("llvm_c.py")))
"""Starts the child that uses an LLVM library; isolated, so that no module of the checked repository is imported."""

_TRIPLE = "amdgcn-amd-amdhsa"
_PROBE_SECONDS = 20.0
_ROCM_BINARIES = ("llvm/bin", "lib/llvm/bin", "bin")
_NUMBERED_KINDS = ("clang-", "llvm-mc-", "llvm-objdump-")
_NUMBERED = re.compile(r"^(clang|llvm-mc|llvm-objdump)-(\d+)$")
_DIRECTORY = re.compile(r"^llvm-(\d+)$")


class Tool(msgspec.Struct, frozen=True):
    """A program that works for AMDGPU.

    ``kind`` is ``clang``, ``llvm-mc``, ``llvm-objdump`` or ``llvm-c`` (a shared library, used by a child process).
    ``command`` starts it, ``origin`` says how it was found, ``cpus`` which processors it knows (empty when the tool
    does not tell). ``version`` is empty while nobody has asked the program.
    """

    kind: str
    command: tuple[str, ...]
    version: str
    cpus: frozenset[str]
    origin: str

    def knows(self, cpu: str) -> bool:
        """True when the tool knows the processor, or does not say which ones it knows."""
        return not self.cpus or cpu in self.cpus

    def __str__(self) -> str:
        return f"{' '.join(self.command)} ({self.version})" if self.version else " ".join(self.command)


class Rejected(msgspec.Struct, frozen=True):
    """A candidate that does not serve, and why."""

    command: tuple[str, ...]
    origin: str
    reason: str


class Candidate(msgspec.Struct, frozen=True):
    """A program that may be such a tool. It has not been started."""

    kind: str
    command: tuple[str, ...]
    origin: str

    def trusted(self) -> Tool:
        """The candidate as a tool that is used without being asked what it can do."""
        return Tool(self.kind, self.command, "", frozenset(), self.origin)

    def asked(self) -> Tool | Rejected:
        """Asks the program for its version and its AMDGPU processors; once in the life of this process."""
        return probe(self.kind, self.command, self.origin)


def find_tools(
    kinds: tuple[str, ...], option: str | None = None, environment: Mapping[str, str] | None = None
) -> Iterator[Tool | Rejected]:
    """Tools of the kinds in order of preference, each probed when it is asked for.

    ``option`` is the user's choice; when it is given (or ``ASMEVO_ASSEMBLER`` is set) the tool found there comes first.
    """
    return (candidate.asked() for candidate in find_candidates(kinds, option, environment))


def find_candidates(
    kinds: tuple[str, ...], option: str | None = None, environment: Mapping[str, str] | None = None
) -> Iterator[Candidate]:
    """What :func:`find_tools` would probe, in the same order."""
    seen: set[tuple[str, ...]] = set()
    for candidate in _candidates(option, os.environ if environment is None else environment):
        if candidate.kind in kinds and candidate.command not in seen:
            seen.add(candidate.command)
            yield candidate


def tool_files(environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """Each program or library that :func:`find_tools` would try, as a line with its path, size and time of change. No
    tool is started, so that a result can be looked up by the tools that would be used."""
    for candidate in _candidates(None, os.environ if environment is None else environment):
        file = candidate.command[0]
        try:
            status = Path(file).stat()
        except OSError as error:
            yield f"{candidate.kind} {file} {error.strerror}"
        else:
            yield f"{candidate.kind} {file} {status.st_size} {status.st_mtime_ns}"


def _candidates(option: str | None, environment: Mapping[str, str]) -> Iterator[Candidate]:
    for value, origin in ((option, "option"), (environment.get(OPTION), OPTION)):
        if value:
            yield from _named(Path(value), origin)
    for variable in ("ROCM_PATH", "ROCM_HOME"):
        if environment.get(variable):
            yield from _rocm(Path(environment[variable]), variable)
    if environment.get("HIP_CLANG_PATH"):
        yield from _directory(Path(environment["HIP_CLANG_PATH"]), "HIP_CLANG_PATH")
    for root in _rocm_roots(Path("/opt")):
        yield from _rocm(root, str(root))
    yield from _rocm_sdk(environment)
    yield from _numbered_tools(environment)
    yield from _packages()


def _named(path: Path, origin: str) -> Iterator[Candidate]:
    if path.is_dir():
        yield from _directory(path, origin)
        yield from _rocm(path, origin)
    else:
        found = shutil.which(str(path)) or str(path)
        yield Candidate(_kind_of(Path(found).name), (found,), origin)


def _kind_of(name: str) -> str:
    return "llvm-objdump" if "objdump" in name else "llvm-mc" if "llvm-mc" in name else "clang"


def _directory(
    path: Path, origin: str, names: tuple[str, ...] = ("clang", "llvm-mc", "llvm-objdump")
) -> Iterator[Candidate]:
    for name in names:
        for file in (path / name, path / f"{name}.exe"):
            if file.is_file():
                yield Candidate(name, (str(file),), origin)


def _rocm(root: Path, origin: str) -> Iterator[Candidate]:
    for binaries in _ROCM_BINARIES:
        yield from _directory(root / binaries, origin)


def _rocm_roots(parent: Path) -> list[Path]:
    versions = sorted(
        parent.glob("rocm-*"), key=lambda path: [int(n) for n in re.findall(r"\d+", path.name)], reverse=True
    )
    return [parent / "rocm", *versions]


def _rocm_sdk(environment: Mapping[str, str]) -> Iterator[Candidate]:
    """ROCm installed by pip tells its own place."""
    program = shutil.which("rocm-sdk", path=environment.get("PATH"))
    if program:
        done = _run((program, "path", "--root"))
        if isinstance(done, Finished) and not done.code:
            yield from _rocm(Path(done.output.decode("utf-8", "replace").strip()), "rocm-sdk")


def _numbered_tools(environment: Mapping[str, str]) -> Iterator[Candidate]:
    found: list[tuple[int, Candidate]] = []
    for directory in filter(None, environment.get("PATH", "").split(os.pathsep)):
        # A place of PATH may not be there, or closed to us. It holds thousands of names: no path is made of each.
        with suppress(OSError), os.scandir(directory) as entries:
            for name in (entry.name for entry in entries):
                if name.startswith(_NUMBERED_KINDS) and (match := _NUMBERED.match(name)):
                    found.append((int(match[2]), Candidate(match[1], (str(Path(directory, name)),), "PATH")))
    for path in Path("/usr/lib").glob("llvm-*"):
        match = _DIRECTORY.match(path.name)
        if match:
            found += [(int(match[1]), candidate) for candidate in _directory(path / "bin", str(path))]
    found.sort(key=lambda entry: (-entry[0], entry[1].kind))
    yield from (candidate for _, candidate in found)


def _packages() -> Iterator[Candidate]:
    zig = _package_directory("ziglang")
    if zig:
        program = zig / ("zig.exe" if sys.platform == "win32" else "zig")
        yield Candidate("clang", (str(program), "clang"), "ziglang")
    rocm = _package_directory("rocm.llvm")
    if rocm:
        for library in sorted(rocm.rglob("librocmllvm.so*")):
            yield Candidate("llvm-c", (str(library),), "rocm-llvm-python")


def _package_directory(name: str) -> Path | None:
    try:
        found = find_spec(name)
    except ModuleNotFoundError:
        return None
    if found is None or not found.submodule_search_locations:
        return None
    return Path(next(iter(found.submodule_search_locations)))


@cache
def probe(kind: str, command: tuple[str, ...], origin: str) -> Tool | Rejected:
    """Ask a program for its version and its AMDGPU processors."""
    return _PROBES[kind](kind, command, origin)


def _probe_assembler(kind: str, command: tuple[str, ...], origin: str) -> Tool | Rejected:
    clang = kind == "clang"
    question = ("--print-supported-cpus", f"--target={_TRIPLE}") if clang else (f"-triple={_TRIPLE}", "-mcpu=help")
    done = _run((*command, *question))
    if isinstance(done, str):
        return Rejected(command, origin, done)
    text = done.errors + done.output.decode("utf-8", "replace")
    cpus = frozenset(re.findall(r"^\s+(gfx[0-9a-f]+)\b", text, re.M))
    if not cpus:
        return Rejected(command, origin, "knows no AMDGPU processor")
    # clang says its version above the list of processors: one process less for each check.
    return Tool(kind, command, _version_in(text) or _version(command), cpus, origin)


def _probe_objdump(kind: str, command: tuple[str, ...], origin: str) -> Tool | Rejected:
    done = _run((*command, "--version"))
    if isinstance(done, str):
        return Rejected(command, origin, done)
    if "amdgcn" not in done.output.decode("utf-8", "replace"):
        return Rejected(command, origin, "has no AMDGPU target")
    # It lists its processors only while it works on an object: what it does not know it reports then.
    return Tool(kind, command, _version(command), frozenset(), origin)


def _probe_library(kind: str, command: tuple[str, ...], origin: str) -> Tool | Rejected:
    done = _run((*LIBRARY_COMMAND, "--probe", *command))
    if isinstance(done, str):
        return Rejected(command, origin, done)
    if done.code:
        return Rejected(command, origin, f"cannot be loaded: {done.errors.strip()[-200:]}")
    return Tool(kind, command, done.output.decode("utf-8", "replace").strip(), frozenset(), origin)


_PROBES: dict[str, Callable[[str, tuple[str, ...], str], Tool | Rejected]] = {
    "clang": _probe_assembler,
    "llvm-mc": _probe_assembler,
    "llvm-objdump": _probe_objdump,
    "llvm-c": _probe_library,
}


def _version(command: tuple[str, ...]) -> str:
    done = _run((*command, "--version"))
    text = "" if isinstance(done, str) else done.output.decode("utf-8", "replace")
    return _version_in(text) or "version not known"


def _version_in(text: str) -> str:
    match = re.search(r"version (\d\S*)", text)
    return match[1] if match else ""


def _run(arguments: tuple[str, ...]) -> Finished | str:
    """The finished process, or why it could not run."""
    try:
        done = run_limited(arguments, timeout=_PROBE_SECONDS)
    except OSError as error:
        return f"cannot be started: {error.strerror or error}"
    return f"did not answer in {_PROBE_SECONDS:.0f} s" if done.timed_out else done
