#!/usr/bin/env bash
# Fuzzing with coverage, by libFuzzer on stable Rust: scripts/fuzz.sh [SECONDS] [TARGET...]
# SECONDS of fuzzing in all (60, or FUZZ_SECONDS), shared by the targets (all of them where none is named). What is found is
# kept in fuzz/corpus, where the ordinary tests run it ever after. Needs Rust and a C++ compiler, and says so without one.
#
# The same inputs are tried in the same order every time, as many as there is time for; where threads do the work (maps, submaps,
# folders, messages between robots) what is tried follows their timing too, so that runs resemble each other only. For a campaign:
#   FUZZ_SEED=7        other inputs (1 if not said)
#   FUZZ_KEEP=FOLDER   goes on from what earlier runs with that folder reached
#   FUZZ_RUNS=10000000 ends a target after so many executions in all (with FUZZ_KEEP those of earlier runs count)
#   FUZZ_OPT=3         optimised: twice as fast, and longer to build
#   FUZZ_ALONE=yes     a program for each target: fewer counters to look through after a run, two to five times as fast
#   FUZZ_DB3=yes       with SQLite, a minute more to compile: without it the target db3 sees recordings refused
#   FUZZ_JOBS=1        so many targets at a time (as many as there are cores)
set -euo pipefail
cd "$(dirname "$0")/.."

command -v c++ > /dev/null || {
    echo "fuzzing: there is no C++ compiler for libFuzzer" | tee -a "${E2BKI_SKIPS:-/dev/null}"
    exit 0
}

seconds=${1:-${FUZZ_SECONDS:-60}}
shift || true
seed=${FUZZ_SEED:-1}
optimised=${FUZZ_OPT:-1}
mkdir -p "${CARGO_TARGET_DIR:-target}"
folder=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)/fuzz
kept=${FUZZ_KEEP:-}
if [ -n "$kept" ]; then mkdir -p "$kept" && kept=$(cd "$kept" && pwd); fi
mkdir -p "$folder/logs"
host=$(rustc -vV | sed -n 's/^host: //p')

# What the sanitizers of a nightly compiler ask of LLVM, said by hand: coverage only. A target is named so that build scripts
# and macros are compiled without it. Overflow checks and debug assertions are on, as in all tests.
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
coverage+=" -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=4"
# Little is optimised: what is run is short, and the build is most of the time that this takes.
build=$folder/build
[ "$optimised" = 1 ] || build=$folder/build-$optimised
export CARGO_PROFILE_TEST_OPT_LEVEL=$optimised
# One at a time, also of several scripts: what is compiled last is what is copied.
compile() {
    (
        flock 9
        RUSTFLAGS="$coverage" cargo build --quiet --locked --profile test --target "$host" --target-dir "$build" \
            --package e2bki-fuzz --features "engine${FUZZ_DB3:+,db3}" --bin fuzz && cp "$build/$host/debug/fuzz" "$1"
    ) 9> "$folder/compiling"
}
program=$folder/fuzz-$optimised
compile "$program"

if [ $# -gt 0 ]; then targets=("$@"); else mapfile -t targets < <(LC_ALL=C ls fuzz/corpus); fi
jobs=${FUZZ_JOBS:-$(nproc)}
each=$(( (seconds * jobs + ${#targets[@]} - 1) / ${#targets[@]} ))
# Maps and recordings are written and read again: in memory, where there is a file system for it. What is flushed has no disk to wait for.
if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ]; then export TMPDIR=/dev/shm; fi
# Addresses are compared and so become a part of what is tried: they have to be the same every time.
still="setarch $(uname -m) -R"
$still true 2> /dev/null || still=
echo "fuzzing: ${#targets[@]} targets, $each s each, seed $seed"

one() {
    local target=$1 log=$folder/logs/$1.txt corpus=$folder/corpus/$1 status=0
    # From what is in the repository alone, unless it is to go on from before.
    if [ -n "$kept" ]; then corpus=$kept/$target; else rm -rf "$corpus"; fi
    mkdir -p "$corpus" "$folder/found/$target" "$folder/seeds/$target"
    # Where libFuzzer stands the threads of the library do the work of this one program; one run at a time per core.
    export FUZZ_TARGET=$target RAYON_NUM_THREADS=1
    local before=0 most=-1
    [ ! -f "$corpus.runs" ] || [ -z "$kept" ] || before=$(cat "$corpus.runs")
    if [ -n "${FUZZ_RUNS:-}" ]; then
        most=$((FUZZ_RUNS - before))
        [ "$most" -gt 0 ] || { printf '%-14s %12s runs before\n' "$target" "$before"; return 0; }
    fi
    FUZZ_SEEDS=$folder/seeds/$target "$program" -runs=0 > "$log" 2>&1 || status=$?
    # The seeds are made by the program that has everything.
    local runner=$program
    if [ -n "${FUZZ_ALONE:-}" ]; then
        runner=$program-$target
        FUZZ_ONLY=$target compile "$runner" || status=$?
    fi
    # By name: the order in which a folder lists its files is that in which they were written, or none.
    find "$folder/seeds/$target" "fuzz/corpus/$target" -type f | LC_ALL=C sort | paste -sd, | tr -d '\n' > "$folder/seeds/$target.list"
    # A seed that is cut off is no map any more.
    local longest
    longest=$(find "$folder/seeds/$target" "fuzz/corpus/$target" -type f -printf '%s\n' | sort -n | tail -1)
    longest=$((longest * 5 / 4 > 8192 ? longest * 5 / 4 : 8192))
    [ "$status" -ne 0 ] || $still "$runner" -seed="$seed" -seed_inputs="@$folder/seeds/$target.list" -runs="$most" -max_total_time="$each" -reload=0 -timeout=20 \
        -rss_limit_mb=3000 -max_len="$longest" -print_final_stats=1 -artifact_prefix="$folder/found/$target/" "$corpus" > "$log" 2>&1 || status=$?
    local runs covered
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    covered=$(grep -o 'cov: [0-9]*' "$log" | tail -1)
    [ -z "$kept" ] || echo $((before + ${runs:-0})) > "$corpus.runs"
    printf '%-14s %12s runs, %s%s\n' "$target" "${runs:-0}" "${covered:-no coverage}" "$([ "$before" = 0 ] || echo ", $before before")"
    [ "$status" -eq 0 ] && return
    for found in "$folder/found/$target"/*; do
        [ -f "$found" ] && mv "$found" "fuzz/corpus/$target/found-$(basename "$found" | tail -c 13)"
    done
    tail -n 30 "$log"
    echo "$target failed; the input is in fuzz/corpus/$target"
    return 1
}
export -f one compile
export folder program build host coverage each seed kept still
printf '%s\n' "${targets[@]}" | xargs -P "$jobs" -I{} bash -c 'one {}' || { echo "fuzzing found something"; exit 1; }
