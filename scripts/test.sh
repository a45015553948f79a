#!/usr/bin/env bash
# Every check: format, lints, tests, fuzzing, documentation, examples, the demo, instruction counts, the viewer in a browser, the
# Python package. Needs Rust; the last three need valgrind, node with Chromium, and Python. Says at its end what was skipped and why.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s (after %d min)\n' "$*" $((SECONDS / 60)); }
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target"
# Tests and scripts add a line here for what they leave out.
E2BKI_SKIPS=$(cd "$target" && pwd)/skipped.txt
export E2BKI_SKIPS
: > "$E2BKI_SKIPS"
# Property tests try the same cases every time: a change does not fail by chance. Others: PROPTEST_RNG_SEED=7.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-1}
skipped() { echo "$*" >> "$E2BKI_SKIPS"; }
skipped "ONNX models, recordings for Rerun, the live node and fleets in a bucket: minutes to compile, tested by themselves (CONTRIBUTING.md)"

step "format"
cargo fmt --all -- --check

# Training, looking at images and mapping by a network are a feature of the program, which is linted with and without it.
step "lints"
cargo clippy --workspace --all-targets --features e2bki-cli/segment,e2bki-cli/fleet --locked -- -D warnings
cargo clippy --package e2bki-cli --locked -- -D warnings

# The Python package has its own tests, below.
step "tests"
tested=(--workspace --exclude e2bki-python --features e2bki-cli/segment,e2bki-cli/fleet --locked)
cargo test "${tested[@]}" --all-targets
cargo test "${tested[@]}" --doc

step "fuzzing (FUZZ_SECONDS of it, 60 if not said)"
bash scripts/fuzz.sh

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# Of what the tests have compiled.
step "examples"
cargo build --quiet "${tested[@]}" --profile test --example 01_first_map
"$target/debug/examples/01_first_map"

# With the features that the Python package asks of shared dependencies: its wheel then finds them compiled.
step "the program"
cargo build --quiet --release --locked --package e2bki-cli --package e2bki-python --bin e2bki
PROGRAM=$(cd "$target/release" && pwd)/e2bki
export PROGRAM
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$PROGRAM" demo --frames 10 --out "$out/demo" --json "$out/demo.json" > "$out/demo.txt"
for file in bev-semantic.png bev-uncertainty.png primitives.png primitives.ply; do
    test -s "$out/demo/$file" || { echo "demo did not write $file"; exit 1; }
done
cat "$out/demo.txt"

step "instructions of the small workloads"
command -v valgrind > /dev/null || skipped "instruction counts: valgrind is not installed"
"$PROGRAM" bench --only instructions --against benches/instructions.json

step "the book as a site (where mdbook is installed; its pages are checked by the tests)"
bash scripts/book.sh "$out/book"

step "the viewer and the report in a browser"
bash scripts/test-viewer.sh

step "the Python package"
bash scripts/test-python.sh

printf '\nall checks passed; skipped:\n'
sort "$E2BKI_SKIPS" | sed 's/^/  /'
