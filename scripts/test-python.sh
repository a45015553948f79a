#!/usr/bin/env bash
# The Python package: its wheel, built and installed into a fresh virtual environment, and its tests.
# Needs python3 of at least 3.10 with venv, and the package index; says so and stops without them.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "Python package: $*" | tee -a "${E2BKI_SKIPS:-/dev/null}"; exit 0; }

python=${PYTHON:-python3}
command -v "$python" > /dev/null || skip "there is no $python"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip "$python is older than 3.10"
mkdir -p "${CARGO_TARGET_DIR:-target}"
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
venv=$target/python-venv
rm -rf "$venv"
"$python" -m venv "$venv" 2> /dev/null || skip "$python has no venv"
pip() { "$venv/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }
pip download --no-deps --dest "$target/python-probe" maturin 2> /dev/null || skip "the package index cannot be reached"
rm -rf "$target/python-probe"

# Release, as users get it. Its dependencies bring other features along, so `cargo run --release` has compiled little of it.
pip install "./python[test]"
# Other people's readers of recordings; the tests that need them are skipped, and say so, where they cannot be had.
pip install mcap-ros2-support rosbags 2> /dev/null || echo "mcap-ros2-support and rosbags cannot be installed"
cd python
"$venv/bin/python" -m pytest -q "$@"
