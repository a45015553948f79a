#!/usr/bin/env bash
# The viewer and the report in a real browser. Needs node, npm and Chromium (installed where the system lets us); where they
# cannot be had, says so in one line and passes.
#   scripts/test-viewer.sh [test [FOLDER]]       the tests; pictures go to FOLDER
#   scripts/test-viewer.sh measure MAP [voxels]  time to the first picture, and per picture while moving
#   scripts/test-viewer.sh live DATASET [ROUNDS] what `map --view` costs the mapper
#   scripts/test-viewer.sh picture FOLDER        a picture of the page
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "viewer tests skipped: $*"; exit 0; }

for tool in node npm; do command -v "$tool" > /dev/null || skip "$tool is not installed"; done
browser() { command -v chromium || command -v chromium-browser || command -v google-chrome || true; }
CHROMIUM=${CHROMIUM:-$(browser)}
if [ -z "$CHROMIUM" ] && [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
    timeout 300 apt-get install -y -qq --no-install-recommends chromium > /dev/null 2>&1 || true
    CHROMIUM=$(browser)
fi
[ -n "$CHROMIUM" ] || skip "Chromium is not installed (apt-get install chromium, or set CHROMIUM)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm install --silent --no-audit --no-fund --prefix "$work" puppeteer-core@24 > /dev/null 2>&1 || skip "puppeteer-core cannot be installed"
cp scripts/viewer/*.mjs "$work/"

if [ -z "${PROGRAM:-}" ]; then
    cargo build --quiet --release --locked -p e2bki-cli
    PROGRAM=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release/e2bki
fi
export PROGRAM CHROMIUM OUT=$work
run() { timeout 1800 node "$work/$1.mjs" "${@:2}"; }

case ${1:-test} in
    test)
        mkdir -p "${2:-$work}"
        OUT=$(cd "${2:-$work}" && pwd)
        "$PROGRAM" demo --frames 6 --out "$work/demo" --report "$work/report.html" > "$work/demo.txt"
        "$PROGRAM" simulate --world urban --frames 3 --format semantickitti --out "$work/drive" > "$work/simulate.txt"
        "$PROGRAM" map "$work/drive" -o "$work/map.e2bki" > "$work/map.txt"
        MAP=$work/map.e2bki DRIVE=$work/drive REPORT=$work/report.html run browser
        ;;
    picture)
        mkdir -p "${2:?a folder}"
        OUT=$(cd "$2" && pwd)
        "$PROGRAM" demo --out "$work/demo" > "$work/demo.txt"
        MAP=$work/demo/map.e2bki run picture
        ;;
    measure | live) run "$@" ;;
    *) echo "unknown: $1 (test, measure, live or picture)" >&2; exit 2 ;;
esac
