#!/usr/bin/env bash
# The viewer and the report in a real browser. Needs node, npm and Chromium (installed where the system lets us); where they
# cannot be had, says so in one line and passes. Usage: scripts/test-viewer.sh [PROGRAM] [FOLDER FOR PICTURES]
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "viewer tests skipped: $*"; exit 0; }

for tool in node npm; do command -v "$tool" > /dev/null || skip "$tool is not installed"; done
browser() { command -v chromium || command -v chromium-browser || command -v google-chrome || true; }
chromium=${CHROMIUM:-$(browser)}
if [ -z "$chromium" ] && [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
    timeout 300 apt-get install -y -qq --no-install-recommends chromium > /dev/null 2>&1 || true
    chromium=$(browser)
fi
[ -n "$chromium" ] || skip "Chromium is not installed (apt-get install chromium, or set CHROMIUM)"

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
npm install --silent --no-audit --no-fund --prefix "$out" puppeteer-core@24 > /dev/null 2>&1 || skip "puppeteer-core cannot be installed"

program=${1:-}
if [ -z "$program" ]; then
    cargo build --quiet --release --locked
    program=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release/e2bki
fi
"$program" demo --frames 6 --out "$out/demo" --report "$out/report.html" > "$out/demo.txt"
cp scripts/viewer/*.mjs "$out/"
PROGRAM=$program CHROMIUM=$chromium MAP="$out/demo/map.e2bki" REPORT="$out/report.html" PICTURES=${2:-$out} \
    timeout 240 node "$out/browser.mjs"
