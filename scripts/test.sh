#!/usr/bin/env bash
# Every check: format, lints, tests, documentation, examples, the demo, instruction counts, the viewer in a browser, the Python
# package. Needs Rust; the last three need valgrind, node with Chromium, and Python, and say in one line that they are skipped
# where these cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "format"
cargo fmt --all -- --check

step "lints"
cargo clippy --workspace --all-targets --locked -- -D warnings
cargo clippy --package e2bki-cli --features segment --all-targets --locked -- -D warnings

step "tests"
cargo test --workspace --all-targets --locked
cargo test --workspace --doc --locked
# Training, looking at images and mapping by a network are a feature of the program.
cargo test --package e2bki-cli --features segment --test segment --locked

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

step "examples"
cargo run --quiet --locked -p e2bki --example 01_first_map

step "the program"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cargo run --quiet --release --locked -- demo --frames 10 --out "$out/demo" --json "$out/demo.json" > "$out/demo.txt"
for file in bev-semantic.png bev-uncertainty.png primitives.png primitives.ply; do
    test -s "$out/demo/$file" || { echo "demo did not write $file"; exit 1; }
done
cat "$out/demo.txt"

step "instructions of the small workloads (where valgrind is installed)"
cargo run --quiet --release --locked -- bench --only instructions --against benches/instructions.json

step "the viewer and the report in a browser"
bash scripts/test-viewer.sh

step "the Python package"
bash scripts/test-python.sh

printf '\nall checks passed\n'
