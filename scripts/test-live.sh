#!/usr/bin/env bash
# `e2bki live` against CycloneDDS (PyPI `cyclonedds`) over loopback, in a domain of its own: the live map is that of the recording,
# late joiners get it, services answer, SIGTERM saves. MEASURE=60 also measures so many seconds of 10 Hz × 120,000 points,
# with LIVE_OPTIONS for the node; ONLY_MEASURE=yes leaves out the rest.
# Needs Python with venv and PyPI; says so and does nothing where they are missing. PROGRAM is a program built with `--features ros2`.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target"
skip() {
    echo "skipped: live node: $*"
    if [ -n "${E2BKI_SKIPS:-}" ]; then echo "live node: $*" >> "$E2BKI_SKIPS"; fi
    exit 0
}
venv=$target/live-venv
if ! "$venv/bin/python" -c 'import cyclonedds, mcap' 2> /dev/null; then
    { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet 'cyclonedds>=11,<12' mcap; } > "$target/live-venv.log" 2>&1 \
        || skip "cyclonedds and mcap cannot be installed ($target/live-venv.log)"
fi
if [ -z "${PROGRAM:-}" ]; then
    cargo build --quiet --release --locked --package e2bki-cli --features ros2 --bin e2bki
    PROGRAM=$target/release/e2bki
fi
"$PROGRAM" live --help > /dev/null 2>&1 || skip "$PROGRAM was built without --features ros2"

export ROS_DOMAIN_ID=${ROS_DOMAIN_ID:-173} RMW_IMPLEMENTATION=rmw_cyclonedds_cpp
out=$(mktemp -d)
running=()
stop() {
    for pid in "${running[@]}"; do kill "$pid" 2> /dev/null || true; done
    rm -rf "$out"
}
trap stop EXIT
peer() { "$venv/bin/python" scripts/live/peer.py "$@"; }
listen() { # SECONDS: counts what the node publishes; sets $listener. Not a function's process: signals are for Python
    "$venv/bin/python" scripts/live/peer.py listen --seconds "$1" --heard "$out/heard-stamps.json" > "$out/heard.json" &
    listener=$!
    running+=("$listener")
}
live() { # NAME OPTIONS…: starts a node; sets $node
    local name=$1
    shift
    "$PROGRAM" live --points /points --loopback --out "$out/$name.e2bki" "$@" > "$out/$name.txt" 2> "$out/$name.log" &
    node=$!
    running+=("$node")
}
end() { # NAME: asks the node to end, and waits until it has
    kill -TERM "$node"
    wait "$node" || { echo "the node failed"; cat "$out/$1.log" "$out/$1.txt"; exit 1; }
    cat "$out/$1.txt"
}
value() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$@"; }
fail() { echo "FAILED: $*"; tail -n 30 "$out"/*.log; exit 1; }

if [ -z "${ONLY_MEASURE:-}" ]; then
echo "== a drive, and its map"
frames=${FRAMES:-40}
"$PROGRAM" simulate --world offroad --frames "$frames" --format mcap --out "$out/drive.mcap" > /dev/null
"$PROGRAM" map "$out/drive.mcap" -o "$out/offline.e2bki" > /dev/null
expected=$("$PROGRAM" info "$out/offline.e2bki" --hash)

echo "== the same messages, live"
# The node is there before its topics are.
# It may be slower than the robot here: a long queue loses nothing.
live all --classes /label_info --queue 1000 --tolerance 0
sleep 1
listen 600
peer play "$out/drive.mcap" --linger 3 > "$out/played.json"
peer join --seconds 3 > "$out/joined.json"
peer call /e2bki/save > "$out/saved.json"
[ "$(value "$out/saved.json" success)" = True ] || fail "the service did not save: $(cat "$out/saved.json")"
"$PROGRAM" check "$out/all.e2bki"
end all
kill -TERM "$listener"
wait "$listener"
cat "$out/heard.json" "$out/joined.json"
live=$("$PROGRAM" info "$out/all.e2bki" --hash)
grep -q "^$frames scans mapped of $frames\$" "$out/all.txt" || fail "not all scans were mapped"
[ "$live" = "$expected" ] || fail "the live map is $live, that of the recording $expected"
for file in heard joined; do
    [ "$(value "$out/$file.json" largest)" -le 1000000 ] || fail "a message has more than a megabyte"
done
[ "$(value "$out/joined.json" voxels)" -gt 1000 ] || fail "the late joiner got $(cat "$out/joined.json")"
[ "$(value "$out/joined.json" label_info)" -gt 0 ] || fail "the late joiner got no names of classes"
[ "$(value "$out/heard.json" updates)" -gt 2 ] && [ "$(value "$out/heard.json" grids)" -gt 2 ] || fail "too few updates"

echo "== with a budget, clouds in best effort, then an empty map"
live budget --classes offroad7 --queue 1000 --memory 100MB
sleep 1
peer play "$out/drive.mcap" --best-effort --linger 2 > "$out/played.json"
end budget
! grep -q refused "$out/budget.txt" || fail "scans were refused"
if grep -q "^$frames scans mapped of $frames\$" "$out/budget.txt"; then
    [ "$("$PROGRAM" info "$out/budget.e2bki" --hash)" = "$expected" ] || fail "with a budget the map is another one"
else
    echo "some clouds were lost on the way, as best effort allows: the maps are not compared"
fi
live reset --classes offroad7 --queue 1000
sleep 1
peer play "$out/drive.mcap" --scans 5 --linger 6 > "$out/played.json"
peer call /e2bki/reset > "$out/reset.json"
[ "$(value "$out/reset.json" success)" = True ] || fail "the service did not empty the map: $(cat "$out/reset.json")"
end reset
[ "$("$PROGRAM" info "$out/reset.e2bki" --json - | python3 -c 'import json, sys; print(json.load(sys.stdin)["primitives"])')" = 0 ] \
    || fail "the map is not empty"

fi

if [ -n "${MEASURE:-}" ]; then
    echo "== $MEASURE s of 10 Hz × 120,000 points"
    "$PROGRAM" simulate --world urban --sensor hdl-64e --no-images --frames 100 --format mcap --out "$out/long.mcap" > /dev/null
    # shellcheck disable=SC2086
    live long --classes urban11 ${LIVE_OPTIONS:-}
    sleep 1
    listen 6000
    ticks() { awk '{print $14 + $15}' "/proc/$node/stat"; }
    before=$(ticks)
    peer play "$out/long.mcap" --now --scans $((10 * MEASURE)) --stamps "$out/stamps.json" --linger 1 > "$out/played.json"
    after=$(ticks)
    memory=$(awk '/VmHWM/ {print $2}' "/proc/$node/status")
    end long
    kill -TERM "$listener"
    wait "$listener"
    cat "$out/played.json" "$out/heard.json"
    peer latency "$out/stamps.json" "$out/heard-stamps.json"
    seconds=$(value "$out/played.json" seconds)
    python3 -c "print('processor: %.0f %% of one; most memory: %.0f MB' % (($after - $before) / $(getconf CLK_TCK) / $seconds * 100, $memory / 1024))"
fi
echo "live node: all checks passed"
