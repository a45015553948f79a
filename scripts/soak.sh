#!/usr/bin/env bash
# Soak test: a simulated drive is mapped with a byte budget, with the viewer and ten asking clients attached (loopback
# only), for so many hours. Fails if the resident memory grows by more than 2 %, the latency by more than 10 %, or if the
# map is not the one that is made without budget, viewer and clients. Stops by itself.
#
#   scripts/soak.sh HOURS [MEMORY]        scripts/soak.sh 0.17        scripts/soak.sh 1 500MB
set -euo pipefail
cd "$(dirname "$0")/.."

hours=${1:?give the hours, as in: scripts/soak.sh 0.5}
memory=${2:-500MB}
program=${E2BKI:-target/release/e2bki}
[ -x "$program" ] || cargo build --release --bin e2bki
seconds=$(awk -v h="$hours" 'BEGIN { printf "%d", h * 3600 }')
[ "$seconds" -ge 30 ] || { echo "error: give at least 0.01 hours"; exit 2; }

work=$(mktemp -d)
mapper=
trap '[ -z "$mapper" ] || kill "$mapper" 2> /dev/null || true; rm -rf "$work"' EXIT

# Not every frame: the vehicle must leave behind what it maps for the budget to matter.
drive=(map sim:urban --every 5 --max-range 40)

"$program" "${drive[@]}" -o "$work/soak.e2bki" --memory "$memory" --save-every 200 --view --port 0 \
  > "$work/said" 2> "$work/complained" &
mapper=$!

for _ in $(seq 100); do
  address=$(sed -n 's|^open http://\(.*\)/$|\1|p' "$work/said" | head -1)
  [ -n "$address" ] && break
  kill -0 "$mapper" 2> /dev/null || { cat "$work/complained"; exit 1; }
  sleep 0.1
done
[ -n "$address" ] || { echo "error: the viewer did not start"; exit 1; }

status=0
python3 scripts/soak.py "$address" "$mapper" "$seconds" || status=$?

# An ordinary end: the map is saved.
kill -TERM "$mapper"
wait "$mapper" || true
mapper=
frames=$("$program" info "$work/soak.e2bki" --json - 2> /dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["frames"])')
echo "frames mapped: $frames; making the same map without budget, viewer and clients"
"$program" "${drive[@]}" --frames "0..$((frames * 5))" -o "$work/plain.e2bki" > /dev/null
# The name of an unnamed drive is taken from the map when it is first saved; everything else must be equal to the byte.
for map in soak plain; do "$program" export "$work/$map.e2bki" --format npz -o "$work/$map.npz" > /dev/null; done
if python3 - "$work" << 'PY'
import sys, zipfile
work = sys.argv[1]
soak, plain = (zipfile.ZipFile(f"{work}/{name}.npz") for name in ("soak", "plain"))
same = lambda name: soak.read(name) == plain.read(name)
differ = [name for name in soak.namelist() if not same(name)]
sys.exit(f"the maps differ in {differ}" if differ or soak.namelist() != plain.namelist() else 0)
PY
then echo "the maps are equal"; else status=1; fi
[ "$status" = 0 ] && echo "soak: passed" || echo "soak: FAILED"
exit "$status"
