#!/bin/sh
# set_up.sh PYTHON VENV EXTRAS: a virtual environment with the package in it, on a machine that may only have Python.
# "dev" among the extras brings the test tools, and an LLVM for the oracle tests: LLVM 22 from the system's packages when
# we may install them, else the assembler extra from pip. "llm" builds llama.cpp, without what the gate does not use.
set -eu
python=$1 venv=$2 extras=$3

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null 2>&1; then sudo -n "$@"; else return 1; fi
}

apt_install() {
    command -v apt-get >/dev/null 2>&1 || return 1
    as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null
}

if [ ! -x "$venv/bin/python" ]; then
    "$python" -m venv "$venv" 2>/dev/null || {
        rm -rf "$venv"
        apt_install python3-venv || true
        "$python" -m venv "$venv" || {
            echo "set_up: '$python -m venv' does not work; install python3-venv and try again" >&2
            exit 1
        }
    }
fi

case ",$extras," in *,dev,*)
    command -v llvm-mc-22 >/dev/null 2>&1 || apt_install llvm-22 clang-22 lld-22 || extras="$extras,assembler" ;;
esac
case ",$extras," in *,llm,*)
    command -v g++ >/dev/null 2>&1 || apt_install g++ || echo "set_up: llama.cpp needs a C++ compiler" >&2
    # No code for this machine's CPU alone: pip keeps the wheel, and the cache may move to another machine.
    : "${CMAKE_ARGS:=-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_TOOLS=OFF}"
    export CMAKE_ARGS ;;
esac
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable ".${extras:+[$extras]}"
