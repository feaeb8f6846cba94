#!/bin/sh
# set_up.sh PYTHON VENV EXTRA: a virtual environment with the package in it, on a machine that may only have Python.
# EXTRA "dev" brings the test tools, and an LLVM for the oracle tests: LLVM 22 from the system's packages when we may
# install them, else the assembler extra from pip.
set -eu
python=$1 venv=$2 extra=$3

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

if [ "$extra" = dev ] && ! command -v llvm-mc-22 >/dev/null 2>&1; then
    apt_install llvm-22 clang-22 lld-22 || extra="dev,assembler"
fi
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable ".${extra:+[$extra]}"
