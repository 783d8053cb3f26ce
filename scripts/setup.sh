#!/bin/sh
# Make .venv ready: find Python, keep a torch that sees an accelerator, install the rest. Safe to run again.
# PYTHON=python3.12 picks the interpreter. TORCH_INDEX_URL=... picks another package index for torch alone.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
extras=${1:-dev}
torch_pin="torch>=2.11,<2.14"
torch_default="torch==2.13.0"

stop() { echo "setup: $1" >&2; exit 2; }
say() { echo "setup: $1"; }

command -v "$python" >/dev/null || stop "$python not found; on Debian or Ubuntu: apt-get install python3 python3-venv"
"$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' ||
    stop "$("$python" --version) is not supported; allowed: 3.11, 3.12, 3.13 (PYTHON=python3.12 picks one)"
command -v git >/dev/null || stop "git not found; on Debian or Ubuntu: apt-get install git"
command -v g++ >/dev/null || stop "g++ not found; on Debian or Ubuntu: apt-get install g++"

# A torch of this machine that sees an accelerator was built for it: use it instead of downloading another.
site=""
if "$python" - <<'PY' 2>/dev/null
import sys, torch
version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
sys.exit(not ((2, 11) <= version < (2, 14) and torch.cuda.is_available()))
PY
then
    say "keeping torch of $python, which sees an accelerator"
    site="--system-site-packages"
fi

if [ ! -x .venv/bin/python ]; then
    say "creating .venv with $("$python" --version)"
    # shellcheck disable=SC2086
    if ! "$python" -m venv $site .venv >/dev/null 2>.venv.log; then
        rm -rf .venv .venv.log
        stop "$python has no venv module; on Debian or Ubuntu: apt-get install python3-venv"
    fi
    rm -f .venv.log
fi

if ! .venv/bin/python -c "from importlib.metadata import version; version('torch')" 2>/dev/null; then
    say "downloading torch (the largest part)"
    # The default build needs no index of its own; without a GPU a CPU build from TORCH_INDEX_URL is a tenth of the size.
    if [ -n "${TORCH_INDEX_URL:-}" ]; then
        .venv/bin/python -m pip install --quiet --index-url "$TORCH_INDEX_URL" "$torch_default"
    else
        .venv/bin/python -m pip install --quiet "$torch_default"
    fi
fi
.venv/bin/python - "$torch_pin" <<'PY' || stop "torch in .venv is not one of $torch_pin; remove .venv and run again"
import sys
from importlib.metadata import version  # not `import torch`: that warns while NumPy is not there yet
sys.exit(not (2, 11) <= tuple(map(int, version("torch").split(".")[:2])) < (2, 14))
PY
say "installing the other packages"
.venv/bin/python -m pip install --quiet --use-pep517 --editable ".[$extras]"
touch .venv/.ready
say "ready ($(.venv/bin/python -c 'import torch; print("torch", torch.__version__)'))"
