#!/usr/bin/env bash
# The viewer and the report in a real browser. Needs node and Chromium (installed where the system lets us); where they cannot
# be had, says so in one line and passes.
#   scripts/test-viewer.sh [test [FOLDER]]       the tests; pictures go to FOLDER
#   scripts/test-viewer.sh measure MAP [primitives|voxels [ROUNDS]]  time to the first picture, and per picture while moving
#   scripts/test-viewer.sh live DATASET [ROUNDS] what `map --view` costs the mapper
#   scripts/test-viewer.sh picture FOLDER        a picture of the page
#   scripts/test-viewer.sh city STORE [FOLDER]   the store of a fleet by level of detail; PROGRAM must have the feature `fleet`
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "viewer in a browser: $*" | tee -a "${E2BKI_SKIPS:-/dev/null}"; exit 0; }

command -v node > /dev/null || skip "node is not installed"
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 18 ] || skip "node is older than 18"
browser() { command -v chromium || command -v chromium-browser || command -v google-chrome || true; }
CHROMIUM=${CHROMIUM:-$(browser)}
if [ -z "$CHROMIUM" ] && [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
    get() { timeout 300 apt-get "$@" > /dev/null 2>&1; }
    get install -y --no-install-recommends chromium || { get update && get install -y --no-install-recommends chromium; } || true
    CHROMIUM=$(browser)
fi
[ -n "$CHROMIUM" ] || skip "Chromium is not installed (apt-get install chromium, or set CHROMIUM)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "${PROGRAM:-}" ]; then
    cargo build --quiet --release --locked -p e2bki-cli
    PROGRAM=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release/e2bki
fi
export PROGRAM CHROMIUM OUT=$work
# Never for ever: a browser that hangs is ended.
run() { timeout --kill-after=10 "${LIMIT:-1800}" node "${scripts:-scripts/viewer}/$1.mjs" "${@:2}"; }

case ${1:-test} in
    test)
        if [ -n "${2:-}" ]; then mkdir -p "$2"; PICTURES=$(cd "$2" && pwd); export PICTURES; fi
        "$PROGRAM" demo --frames 6 --out "$work/demo" --report "$work/report.html" > "$work/demo.txt"
        "$PROGRAM" simulate --world urban --frames 3 --format semantickitti --out "$work/drive" > "$work/simulate.txt"
        # Without free space every primitive is shown, and can be counted; the other one knows when it saw what.
        "$PROGRAM" map "$work/drive" --set free_space.enabled=false -o "$work/map.e2bki" > "$work/map.txt"
        "$PROGRAM" simulate --world urban --frames 21 --no-images --format mcap --out "$work/timed.mcap" > "$work/timed.txt"
        "$PROGRAM" map "$work/timed.mcap" --classes urban11 --every 10 -o "$work/timed.e2bki" >> "$work/timed.txt"
        LIMIT=1200 TIMED=$work/timed.e2bki MAP=$work/map.e2bki OTHER=$work/demo/map.e2bki DRIVE=$work/drive REPORT=$work/report.html run browser
        ;;
    picture)
        mkdir -p "${2:?a folder}"
        OUT=$(cd "$2" && pwd)
        "$PROGRAM" demo --out "$work/demo" > "$work/demo.txt"
        # The page shows the name of the map as it was given.
        scripts=$PWD/scripts/viewer
        cd "$work"
        MAP=demo/map.e2bki run picture
        ;;
    city)
        if [ -n "${3:-}" ]; then mkdir -p "$3"; PICTURES=$(cd "$3" && pwd); export PICTURES; fi
        STORE=${2:?the store of a fleet} LIMIT=600 run city
        ;;
    measure | live) run "$@" ;;
    *) echo "unknown: $1 (test, measure, live, picture or city)" >&2; exit 2 ;;
esac
