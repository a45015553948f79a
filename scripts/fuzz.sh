#!/usr/bin/env bash
# Fuzzing with coverage, by libFuzzer on stable Rust: scripts/fuzz.sh [SECONDS] [TARGET...]
# SECONDS of fuzzing in all (60, or FUZZ_SECONDS), shared by the targets (all of them where none is named). What is found is
# kept in fuzz/corpus, where the ordinary tests run it ever after. Needs Rust and a C++ compiler, and says so without one.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v c++ > /dev/null || {
    echo "fuzzing: there is no C++ compiler for libFuzzer" | tee -a "${E2BKI_SKIPS:-/dev/null}"
    exit 0
}

seconds=${1:-${FUZZ_SECONDS:-60}}
shift || true
mkdir -p "${CARGO_TARGET_DIR:-target}"
folder=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)/fuzz
mkdir -p "$folder/corpus" "$folder/logs"
host=$(rustc -vV | sed -n 's/^host: //p')

# What the sanitizers of a nightly compiler ask of LLVM, said by hand: coverage only. A target is named so that build scripts
# and macros are compiled without it. Overflow checks and debug assertions are on, as in all tests.
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
coverage+=" -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=4"
# Little is optimised: what is run is short, and the build is most of the time that this takes.
CARGO_PROFILE_TEST_OPT_LEVEL=1 RUSTFLAGS="$coverage" cargo build --quiet --locked --profile test --target "$host" --target-dir "$folder/build" \
    --package e2bki-fuzz --features engine --bin fuzz
program=$folder/build/$host/debug/fuzz

if [ $# -gt 0 ]; then targets=("$@"); else mapfile -t targets < <(ls fuzz/corpus); fi
cores=$(nproc)
each=$(( (seconds * cores + ${#targets[@]} - 1) / ${#targets[@]} ))

one() {
    local target=$1 log=$folder/logs/$1.txt status=0
    mkdir -p "$folder/corpus/$target" "$folder/found/$target"
    # Where libFuzzer stands the threads of the library do the work of this one program; one run at a time per core.
    FUZZ_TARGET=$target FUZZ_SEEDS=$folder/corpus/$target RAYON_NUM_THREADS=1 "$program" -max_total_time="$each" -timeout=20 -rss_limit_mb=3000 -max_len=8192 \
        -print_final_stats=1 -artifact_prefix="$folder/found/$target/" "$folder/corpus/$target" "fuzz/corpus/$target" \
        > "$log" 2>&1 || status=$?
    local runs covered
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    covered=$(grep -o 'cov: [0-9]*' "$log" | tail -1)
    printf '%-14s %12s runs, %s\n' "$target" "${runs:-0}" "${covered:-no coverage}"
    [ "$status" -eq 0 ] && return
    for found in "$folder/found/$target"/*; do
        [ -f "$found" ] && mv "$found" "fuzz/corpus/$target/found-$(basename "$found" | tail -c 13)"
    done
    tail -n 30 "$log"
    echo "$target failed; the input is in fuzz/corpus/$target"
    return 1
}
export -f one
export folder program each
printf '%s\n' "${targets[@]}" | xargs -P "$cores" -I{} bash -c 'one {}' || { echo "fuzzing found something"; exit 1; }
