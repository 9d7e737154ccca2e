#!/usr/bin/env bash
# Makes .venv (or VENV) and installs what a lock file pins, then Tenure itself in editable form.
# Usage: tools/venv.sh LOCKFILE [VENV]. Uses uv where it is on PATH, else pip alone.
set -euo pipefail
cd "$(dirname "$0")/.."
lock=$1
venv=${2:-.venv}

python=""
for name in python3.13 python3.12 python3.11 python3; do
    if command -v "$name" >/dev/null && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$name
        break
    fi
done
if [ -z "$python" ]; then
    echo "Tenure needs Python 3.11 or later, and none is on PATH. Install it (Debian: apt-get install python3 python3-venv)." >&2
    exit 1
fi

uv=""
if command -v uv >/dev/null; then uv=uv; fi

if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -c '' 2>/dev/null; then
    rm -rf "$venv"
    if [ -n "$uv" ]; then
        uv venv --quiet --python "$python" "$venv"
    else
        if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
            version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
            bash tools/system-packages.sh "python$version-venv"
            if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
                echo "$python cannot make virtual environments. Install python$version-venv (Debian, as root: apt-get install python$version-venv) or uv, then try again." >&2
                exit 1
            fi
        fi
        "$python" -m venv "$venv"
    fi
fi

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
echo "Installing what $lock pins into $venv ..."
if [ -x "$venv/bin/pip" ]; then
    "$venv/bin/python" -m pip install --quiet --require-hashes --requirement "$lock"
    "$venv/bin/python" -m pip install --quiet --no-deps --editable .
elif [ -n "$uv" ]; then
    # Compiled once here as pip does, not at each start of each program.
    uv pip install --quiet --compile-bytecode --python "$venv/bin/python" --require-hashes --requirement "$lock"
    uv pip install --quiet --python "$venv/bin/python" --no-deps --editable .
else
    echo "$venv has no pip and uv is not on PATH. Run 'make clean', then try again." >&2
    exit 1
fi
