#!/usr/bin/env bash
# A fleet in a folder and in a bucket of a real S3 server on loopback (the example `s3_server` of e2bki-fleet): the test of the crate against the server, then
# the program with kills, races, removals and purges, then the same on a Dask LocalCluster, then the texts of the book for clusters and pictures from above, where
# the Python packages for these (distributed, kubernetes-validate, pmtiles) can be installed from PyPI.
# KILLS=20 kills each command so often, SEED=1 repeats a trial. MEASURE=yes also measures memory and throughput (a quiet machine is needed for that), ONLY_MEASURE=yes nothing else.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target"
skipped() {
    echo "skipped: fleet: $*"
    if [ -n "${E2BKI_SKIPS:-}" ]; then echo "fleet: $*" >> "$E2BKI_SKIPS"; fi
}
features=e2bki-cli/fleet-cloud,e2bki-fleet/s3-server
profile=(--profile test)
built=$target/debug
if [ -n "${MEASURE:-}" ]; then profile=(--release) built=$target/release; fi
cargo build --quiet "${profile[@]}" --locked --package e2bki-cli --package e2bki-fleet --features "$features" --bin e2bki --example s3_server --example many_runs --example marked_run
PROGRAM=${PROGRAM:-$(cd "$built" && pwd)/e2bki}
export PROGRAM

if [ -z "${ONLY_MEASURE:-}" ]; then
echo "== the crate against an S3 server"
cargo test "${profile[@]}" --locked --package e2bki-cli --package e2bki-fleet --features "$features" --test s3

venv=$target/fleet-venv
has() { "$venv/bin/python" -c "import $1" 2> /dev/null; }
if ! has "distributed, kubernetes_validate, pmtiles, PIL, yaml"; then
    { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet distributed kubernetes-validate pmtiles pillow pyyaml; } > "$target/fleet-venv.log" 2>&1 || true
fi
python=$venv/bin/python
case "$target" in /*) ;; *) python=$(pwd)/$python ;; esac
if has distributed; then
    export DASK=$python
else
    skipped "distributed (Dask) cannot be installed ($target/fleet-venv.log)"
fi

echo "== the program, in a folder and in a bucket"
out=$(mktemp -d)
SERVED=$out/served
MARKED_RUN=$(cd "$built/examples" && pwd)/marked_run
export SERVED MARKED_RUN
mkdir -p "$SERVED/maps" "$out/scratch" "$out/texts"
"$built/examples/s3_server" "$SERVED" > "$out/environment" &
server=$!
trap 'kill "$server" 2> /dev/null || true; rm -rf "$out"' EXIT
for _ in $(seq 50); do [ "$(wc -l < "$out/environment")" -ge 5 ] && break; sleep 0.1; done
# shellcheck disable=SC1091
. "$out/environment"
python3 scripts/fleet/trial.py "$out/scratch" "$out/store" s3://maps/city

echo "== the texts of the book for clusters"
if has "kubernetes_validate, yaml"; then
    "$python" scripts/fleet/texts.py "$out/texts"
else
    skipped "kubernetes-validate cannot be installed ($target/fleet-venv.log)"
fi

echo "== the map from above"
"$PROGRAM" fleet export "$out/store" --pmtiles "$out/here.pmtiles"
"$PROGRAM" fleet export s3://maps/city --pmtiles "$out/munich.pmtiles" --origin 48.137,11.575,30
if has "pmtiles, PIL"; then
    "$python" scripts/fleet/pictures.py "$out/here.pmtiles"
    "$python" scripts/fleet/pictures.py "$out/munich.pmtiles"
else
    skipped "pmtiles cannot be installed ($target/fleet-venv.log)"
fi

echo "== the map in the viewer, by level of detail"
bash scripts/test-viewer.sh city "$out/store"
fi

if [ -n "${MEASURE:-}" ]; then
    echo "== memory and throughput"
    measured=$(mktemp -d)
    python3 scripts/fleet/measure.py "$measured" "$built/examples/many_runs"
    rm -rf "$measured"
fi
echo "fleet: done"
