#!/usr/bin/env bash
# Soak test: a simulated drive is mapped with a byte budget, with the viewer and ten asking clients attached (loopback
# only), for so many hours. Fails if the resident memory grows by more than 2 %, the latency by more than 10 %, or if the
# map is not the one that is made without budget, viewer and clients. Stops by itself.
#
#   scripts/soak.sh HOURS [MEMORY [RATE]]        scripts/soak.sh 0.17        scripts/soak.sh 1 500MB        scripts/soak.sh 1 500MB 2
#
# RATE: frames per second, as of a robot, instead of as many as can be. How many there are is then known before, and the map to
# compare with is made meanwhile, most of it, by SOAK_BESIDE (nice -n 19) as it finds time. SOAK_DRIVE: other options of the drive.
# SOAK_BEFORE: seconds of the same before the hours that count, for a budget that takes longer to fill.
set -euo pipefail
cd "$(dirname "$0")/.."

hours=${1:?give the hours, as in: scripts/soak.sh 0.5}
memory=${2:-500MB}
rate=${3:-}
program=${E2BKI:-target/release/e2bki}
[ -x "$program" ] || cargo build --release --bin e2bki
seconds=$(awk -v h="$hours" 'BEGIN { printf "%d", h * 3600 }')
before=${SOAK_BEFORE:-0}
[ "$seconds" -ge 30 ] || { echo "error: give at least 0.01 hours"; exit 2; }

work=$(mktemp -d)
mapper= plain=
trap 'for one in $mapper $plain; do kill "$one" 2> /dev/null || true; done; rm -rf "$work"' EXIT

# Not every frame: the vehicle must leave behind what it maps for the budget to matter.
read -ra drive <<< "map sim:urban --every 5 ${SOAK_DRIVE:---max-range 40}"
pace=() frames=
if [ -n "$rate" ]; then
  # A little less than there is time for: the viewer and its clients stay until the end.
  frames=$(awk -v s=$((seconds + before)) -v r="$rate" 'BEGIN { printf "%d", 0.93 * s * r }')
  pace=(--rate "$rate" --frames "0..$((frames * 5))")
  # What is sure to be mapped; the rest when it is known how many there were.
  sure=$((frames * 4 / 5))
  ${SOAK_BESIDE:-nice -n 19} "$program" "${drive[@]}" --frames "0..$((sure * 5))" -o "$work/plain.e2bki" > /dev/null 2> "$work/plain-complained" &
  plain=$!
fi

"$program" "${drive[@]}" "${pace[@]}" -o "$work/soak.e2bki" --memory "$memory" --save-every 200 --view --port 0 \
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
python3 scripts/soak.py "$address" "$mapper" "$seconds" "$before" || status=$?

# An ordinary end: the map is saved.
kill -TERM "$mapper"
wait "$mapper" || true
mapper=
mapped=$("$program" info "$work/soak.e2bki" --json - 2> /dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["frames"])')
echo "frames mapped: $mapped"
rest=()
if [ -n "$plain" ] && [ "$mapped" -ge "$sure" ]; then
  wait "$plain" || { cat "$work/plain-complained"; exit 1; }
  rest=(--onto "$work/plain.e2bki")
else
  # Nobody knew how many there would be, or far fewer were mapped in time.
  if [ -n "$plain" ]; then
    kill -KILL "$plain" 2> /dev/null || true
    wait "$plain" 2> /dev/null || true
    rm -rf "$work"/plain.e2bki*
  fi
  sure=0
fi
plain=
if [ "$mapped" -gt "$sure" ]; then
  "$program" "${drive[@]}" "${rest[@]}" --frames "$((sure * 5))..$((mapped * 5))" -o "$work/plain.e2bki" > /dev/null
fi
# Of everything that a map holds, whatever it is called and however it lies on the disk.
soaked=$("$program" info "$work/soak.e2bki" --hash) alone=$("$program" info "$work/plain.e2bki" --hash)
if [ "$soaked" = "$alone" ] && [ -n "$alone" ]; then echo "the maps are equal: $alone"; else echo "the maps differ: $soaked, $alone"; status=1; fi
[ "$status" = 0 ] && echo "soak: passed" || echo "soak: FAILED"
exit "$status"
