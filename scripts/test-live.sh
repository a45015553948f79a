#!/usr/bin/env bash
# `e2bki live` against CycloneDDS (PyPI `cyclonedds`) over loopback, in a domain of its own: the live map is that of the recording,
# late joiners get it, services, layers, Foxglove's own client, two robots that share it, one of which leaves and returns, a network
# that looks at the pictures, SIGTERM saves; the same drive over Zenoh (PyPI `eclipse-zenoh`) as rmw_zenoh speaks it.
# ONLY="live share" runs some of the parts (live, share, network, zenoh, rest). MEASURE=60 also
# measures so many seconds of 10 Hz × 120,000 points, with LIVE_OPTIONS for the node and DRIVE, a file that is made if it is not there,
# over Zenoh with ZENOH=1;
# ONLY=none leaves out the rest. RATE=1 sends one scan a second instead of ten: where others keep the machine busy, the processor's time
# can still be measured (with --rate 0.2, so that there are as many scans to an update).
# E2BKI_DATA adds the real scans of its bags. Needs Python with venv and PyPI; says so and does nothing where they are missing.
# PROGRAM is a program built with `--features zenoh,segment`.
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
if ! "$venv/bin/python" -c 'import cyclonedds, mcap, websockets, zenoh' 2> /dev/null; then
    { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet 'cyclonedds>=11,<12' mcap websockets 'eclipse-zenoh>=1.10,<2'; } > "$target/live-venv.log" 2>&1 \
        || skip "cyclonedds, mcap, websockets and eclipse-zenoh cannot be installed ($target/live-venv.log)"
fi
if [ -z "${PROGRAM:-}" ]; then
    cargo build --quiet --release --locked --package e2bki-cli --features zenoh,segment --bin e2bki
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
endpoint=tcp/127.0.0.1:$((7500 + ROS_DOMAIN_ID))
router() { # a router of Zenoh, as rmw_zenohd; sets $router
    "$venv/bin/python" scripts/live/peer.py router > "$out/router.json" &
    router=$!
    running+=("$router")
    sleep 1
}
live() { # NAME OPTIONS…: starts a node; sets $node
    local name=$1
    shift
    local points=(--points "${POINTS:-/points}")
    if [ "${name%-*}" = station ]; then points=(); fi
    "$PROGRAM" live "${points[@]}" --loopback --out "$out/$name.e2bki" "$@" > "$out/$name.txt" 2> "$out/$name.log" &
    node=$!
    running+=("$node")
}
end() { # NAME: asks the node to end, and waits until it has
    kill -TERM "$node"
    wait "$node" || { echo "the node failed"; cat "$out/$1.log" "$out/$1.txt"; exit 1; }
    cat "$out/$1.txt"
}
first_point() { # PLY: place of its first vertex
    python3 - "$1" << 'PY'
import struct, sys
data = open(sys.argv[1], "rb").read()
head, body = data.split(b"end_header\n", 1)
sizes = {"double": "d", "float": "f", "uchar": "B", "ushort": "H", "int": "i", "uint": "I", "char": "b", "short": "h"}
kinds = [line.split()[1:] for line in head.decode().split("element vertex", 1)[1].splitlines() if line.startswith("property")]
values = struct.unpack_from("<" + "".join(sizes[k[0]] for k in kinds), body)
names = [k[-1] for k in kinds]
print(",".join(str(values[names.index(axis)]) for axis in "xyz"))
PY
}
value() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$@"; }
frames_of() { "$PROGRAM" info "$1" --json - 2> /dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["frames"])'; }
hash_of() { "$PROGRAM" info "$1" --hash; }
wanted() { [[ " ${ONLY:-live share network zenoh rest} " == *" $1 "* ]]; }
fail() { echo "FAILED: $*"; tail -n 30 "$out"/*.log; exit 1; }

if [ "${ONLY:-}" != none ]; then
echo "== a drive, and its map"
frames=${FRAMES:-40}
"$PROGRAM" simulate --world offroad --frames "$frames" --format mcap --out "$out/drive.mcap" > /dev/null
"$PROGRAM" map "$out/drive.mcap" -o "$out/offline.e2bki" > /dev/null
expected=$(hash_of "$out/offline.e2bki")
# Updates follow on scans, one a second: a short drive is played slowly enough for some of them.
pace=$(python3 -c "print(min(10, $frames / 5))")
fi

if wanted live; then
echo "== the same messages, live"
"$PROGRAM" config --robot > "$out/robot.toml"
# The node is there before its topics are.
# It may be slower than the robot here: a long queue loses nothing.
live all --classes /label_info --queue 1000 --tolerance 0 --foxglove 0 --robot "$out/robot.toml" --layers-rate 2
sleep 1
listen 600
peer play "$out/drive.mcap" --rate "$pace" --linger 3 > "$out/played.json"
# A slow computer still has scans in its queue: who joins later is to find all of them in the map.
for _ in $(seq 60); do
    peer call /e2bki/save --seconds 5 > "$out/saved.json" 2> /dev/null || true
    [ -s "$out/all.e2bki" ] && [ "$(frames_of "$out/all.e2bki")" = "$frames" ] && break
    sleep 2
done
# Twice: whoever comes gets all there is, whatever others got before.
peer join --seconds 3 > "$out/joined-first.json"
peer join --seconds 3 > "$out/joined.json"
# A place in the map, one outside of it; a parameter as it was, set, refused, and as it is.
place=$("$PROGRAM" export "$out/offline.e2bki" --format ply -o "$out/offline.ply" > /dev/null; first_point "$out/offline.ply")
peer ask "$place" 5000,5000,0 > "$out/asked.json"
peer parameter rate > "$out/rate.json"
peer parameter rate 2.5 > "$out/set.json"
peer parameter rate 1e9 > "$out/refused.json"
peer parameter rate > "$out/rate-now.json"
peer reach > "$out/reach.json"
url=$(sed -n 's/^Foxglove: open a connection to //p' "$out/all.txt")
shown=(/map/voxels /map/occupancy /map/label_info /map/layers /map/costmap /diagnostics)
peer foxglove "$url" "${shown[@]}" > "$out/foxglove.json"
# Foxglove's own client code, where Node and npm are.
modules=$target/live-foxglove
if [ ! -d "$modules/node_modules/@foxglove/ws-protocol" ] && command -v npm > /dev/null; then
    mkdir -p "$modules" && echo '{}' > "$modules/package.json"
    (cd "$modules" && npm install --silent --no-audit --no-fund @foxglove/ws-protocol@0.8 @foxglove/rosmsg@5 @foxglove/rosmsg2-serialization@3 ws@8) \
        > "$target/live-foxglove.log" 2>&1 || true
fi
if [ -d "$modules/node_modules/@foxglove/ws-protocol" ]; then
    node_foxglove=$(node scripts/live/foxglove.cjs "$modules" "$url" 15 "${shown[@]}") || fail "Foxglove's client: $node_foxglove"
    echo "$node_foxglove" | tee "$out/foxglove-client.json"
else
    echo "skipped: Foxglove's own client (npm @foxglove/ws-protocol cannot be installed)"
    if [ -n "${E2BKI_SKIPS:-}" ]; then echo "Foxglove's own client" >> "$E2BKI_SKIPS"; fi
    echo '{"heard": {}}' > "$out/foxglove-client.json"
fi
peer call /e2bki/save > "$out/saved.json"
[ "$(value "$out/saved.json" success)" = True ] || fail "the service did not save: $(cat "$out/saved.json")"
"$PROGRAM" check "$out/all.e2bki"
end all
kill -TERM "$listener"
wait "$listener"
cat "$out/heard.json" "$out/joined.json"
live=$(hash_of "$out/all.e2bki")
grep -q "^$frames scans mapped of $frames\$" "$out/all.txt" || fail "not all scans were mapped"
[ "$live" = "$expected" ] || fail "the live map is $live, that of the recording $expected"
for file in heard joined; do
    [ "$(value "$out/$file.json" largest)" -le 1000000 ] || fail "a message has more than a megabyte"
done
for file in joined-first joined; do
    [ "$(value "$out/$file.json" voxels)" -gt 1000 ] || fail "the late joiner got $(cat "$out/$file.json")"
done
[ "$(value "$out/joined.json" label_info)" -gt 0 ] || fail "the late joiner got no names of classes"
[ "$(value "$out/heard.json" updates)" -gt 2 ] && [ "$(value "$out/heard.json" grids)" -gt 2 ] || fail "too few updates"

cat "$out"/{asked,rate,set,refused,rate-now,foxglove,reach}.json
python3 - "$out" << 'PY' || fail "an answer is wrong"
import json, sys
read = lambda name: json.load(open(f"{sys.argv[1]}/{name}.json"))
classes = read("asked")["classes"]
assert classes[0] < 7 and classes[1] == 65535, classes
assert read("rate")["value"] == 1.0 and read("set")["done"] and read("rate-now")["value"] == 2.5
assert not read("refused")["done"] and "100" in read("refused")["reason"]
assert read("foxglove")["missing"] == [], read("foxglove")
assert all(kind[1:] == ["cdr", "ros2msg", True] for kind in read("foxglove")["topics"].values())
assert all(told["whole"] for told in read("foxglove-client")["heard"].values()), read("foxglove-client")
heard = read("heard")
assert read("joined")["voxels"] == int(heard["status"]["voxels"]), (read("joined"), heard["status"])
assert heard["layers"] > 2 and heard["costmaps"] > 2 and heard["layer_names"][0] == "height", heard
assert heard["costs"]["unknown"] > 100 and heard["costs"]["free"] > 100, heard["costs"]
# As docs/live.md says: with --loopback the node can still be spoken to from outside. Where this fails, mend the page.
assert read("reach")["open"] and read("reach")["closed"], read("reach")
PY
fi

if wanted share; then
echo "== two robots, one of which leaves and returns, and stations that come early and late"
shared=$((ROS_DOMAIN_ID + 2))
robot() { # NAME DOMAIN CLOUDS [OPTIONS…]: a robot that maps some of the clouds; sets $node and $player
    local name=$1 domain=$2 clouds=$3
    shift 3
    ROS_DOMAIN_ID=$domain live "$name" --classes offroad7 --queue 1000 --share "${name%-*}" --join --share-domain "$shared" "$@"
    ROS_DOMAIN_ID=$domain "$venv/bin/python" scripts/live/peer.py play "$out/drive.mcap" --clouds "$clouds" --linger 1 > "$out/played-$name.json" &
    player=$!
    running+=("$player")
}
third=$((frames / 3))
live station-early --domain $((ROS_DOMAIN_ID + 3)) --classes offroad7 --join --share-domain "$shared"
early=$node
robot north-1 "$ROS_DOMAIN_ID" "0:$third"
north=$node first=$player
robot south-1 $((ROS_DOMAIN_ID + 1)) "$((2 * third)):$frames"
south=$node
wait "$first" "$player"
node=$north && end north-1
# It comes back as another run, and gets its first one from the others.
robot north-2 "$ROS_DOMAIN_ID" "$third:$((2 * third))"
north=$node
wait "$player"
live station-late --domain $((ROS_DOMAIN_ID + 3)) --classes offroad7 --join --share-domain "$shared"
late=$node
# Who is ended has only what it has heard until then, no faster than --share-rate: all are asked to save until they have everything.
behind=("$ROS_DOMAIN_ID north-2" "$((ROS_DOMAIN_ID + 1)) south-1" "$((ROS_DOMAIN_ID + 3)) station-early" "$((ROS_DOMAIN_ID + 3)) station-late")
for _ in $(seq 90); do
    sleep 1
    left=()
    for robot in "${behind[@]}"; do
        ROS_DOMAIN_ID=${robot% *} peer call /e2bki/save --seconds 5 > "$out/saved.json" 2> /dev/null || true
        file=$out/${robot#* }.e2bki
        if [ ! -s "$file" ] || [ "$(hash_of "$file")" != "$expected" ]; then left+=("$robot"); fi
    done
    behind=("${left[@]}")
    [ "${#behind[@]}" -gt 0 ] || break
done
[ "${#behind[@]}" = 0 ] || echo "not everything was heard before the end by: ${behind[*]}"
node=$south && end south-1
node=$north && end north-2
node=$early && end station-early
node=$late && end station-late
# What each added by itself, put together by `merge`, is the same map, and the same as that of one robot that saw all.
for name in north-2 south-1 station-early station-late; do
    [ "$(hash_of "$out/$name.e2bki")" = "$expected" ] || fail "the map of $name is not that of all robots"
done
"$PROGRAM" map "$out/drive.mcap" --frames "0..$third" -o "$out/part-1.e2bki" > /dev/null
"$PROGRAM" map "$out/drive.mcap" --frames "$third..$((2 * third))" -o "$out/part-2.e2bki" > /dev/null
"$PROGRAM" map "$out/drive.mcap" --frames "$((2 * third))..$frames" -o "$out/part-3.e2bki" > /dev/null
"$PROGRAM" merge "$out"/part-{1,2,3}.e2bki -o "$out/merged.e2bki" > /dev/null
[ "$(hash_of "$out/merged.e2bki")" = "$expected" ] || fail "the map that merge makes is another one"
grep -h "^shared:" "$out"/{north-1,south-1,north-2,station-early,station-late}.txt
fi

if wanted network; then
echo "== a network that looks at the pictures"
network=assets/networks/offroad-010.safetensors
if "$PROGRAM" live --points /points --classes offroad7 --image /i --semantics "$network" --seconds 0 2>&1 | grep -q "features segment"; then
    echo "skipped: the network in the node ($PROGRAM was built without --features segment)"
    if [ -n "${E2BKI_SKIPS:-}" ]; then echo "live node: a network in the node" >> "$E2BKI_SKIPS"; fi
else
    pictures=/camera/image_raw/compressed
    live eyes --classes offroad7 --queue 1000 --wait 30 --image "$pictures" --semantics "$network" --occlusion=5
    sleep 1
    peer play "$out/drive.mcap" --pictures --rate 5 --linger 5 > "$out/played.json"
    end eyes
    grep -q "^$frames scans mapped of $frames\$" "$out/eyes.txt" || fail "not all scans were mapped"
    "$PROGRAM" map "$out/drive.mcap" --classes offroad7 --semantics "$network" --occlusion=5 -o "$out/looked.e2bki" > /dev/null
    [ "$(hash_of "$out/eyes.e2bki")" = "$(hash_of "$out/looked.e2bki")" ] || fail "the map of the network is not that of the recording"
fi
fi

if wanted zenoh; then
echo "== the same messages over Zenoh"
if "$PROGRAM" live --points /points --classes offroad7 --zenoh --seconds 0 2>&1 | grep -q "features zenoh"; then
    echo "skipped: Zenoh ($PROGRAM was built without --features zenoh)"
    if [ -n "${E2BKI_SKIPS:-}" ]; then echo "live node: Zenoh" >> "$E2BKI_SKIPS"; fi
else
    # Whoever comes last finds the others by the router, as with rmw_zenohd. The node is there before it.
    export ZENOH_ENDPOINT=$endpoint
    live spoken --zenoh "$ZENOH_ENDPOINT" --classes /label_info --queue 1000 --tolerance 0
    router
    listen 600
    peer play "$out/drive.mcap" --rate "$pace" --linger 3 > "$out/played.json"
    cat "$out/played.json"
    for _ in $(seq 60); do
        peer call /e2bki/save --seconds 5 > "$out/saved.json" 2> /dev/null || true
        [ -s "$out/spoken.e2bki" ] && [ "$(frames_of "$out/spoken.e2bki")" = "$frames" ] && break
        sleep 2
    done
    peer join --seconds 3 > "$out/joined.json"
    place=$("$PROGRAM" export "$out/offline.e2bki" --format ply -o "$out/offline.ply" > /dev/null; first_point "$out/offline.ply")
    peer ask "$place" 5000,5000,0 > "$out/asked.json"
    peer parameter rate > "$out/rate.json"
    peer parameter rate 2.5 > "$out/set.json"
    peer parameter rate 1e9 > "$out/refused.json"
    peer parameter rate > "$out/rate-now.json"
    end spoken
    kill -TERM "$listener"
    wait "$listener"
    kill -TERM "$router"
    unset ZENOH_ENDPOINT
    cat "$out"/{heard,joined,asked,rate,set,refused,rate-now}.json
    grep -q "^$frames scans mapped of $frames\$" "$out/spoken.txt" || fail "not all scans were mapped"
    [ "$(hash_of "$out/spoken.e2bki")" = "$expected" ] || fail "over Zenoh the map is another one"
    python3 - "$out" << 'PY' || fail "an answer is wrong"
import json, sys
read = lambda name: json.load(open(f"{sys.argv[1]}/{name}.json"))
classes, heard, joined = read("asked")["classes"], read("heard"), read("joined")
assert classes[0] < 7 and classes[1] == 65535, classes
assert read("rate")["value"] == 1.0 and read("set")["done"] and read("rate-now")["value"] == 2.5
assert not read("refused")["done"] and "100" in read("refused")["reason"]
assert heard["updates"] > 2 and heard["grids"] > 2 and heard["largest"] <= 1000000, heard
assert joined["voxels"] == int(heard["status"]["voxels"]) > 1000 and joined["label_info"] > 0, (joined, heard["status"])
PY
fi
fi

if wanted rest; then
if [ -n "${E2BKI_DATA:-}" ] && [ -d "$E2BKI_DATA/bags/os1_128_n3" ]; then
    echo "== real scans of an OS-1, there and back, as they are sent"
    POINTS=/ouster/points live real --tf odom --classes offroad7 --queue 1000 --wait 30
    sleep 1
    peer play "$E2BKI_DATA/bags/os1_128_n3/os1_128_n3.mcap" --label --now --scans 20 --record "$out/sent.mcap" --linger 3 > "$out/played.json"
    cat "$out/played.json"
    end real
    grep -q "^20 scans mapped of 20\$" "$out/real.txt" || fail "not all real scans were mapped"
    "$PROGRAM" map "$out/sent.mcap" --classes offroad7 -o "$out/sent.e2bki" > /dev/null
    [ "$(hash_of "$out/real.e2bki")" = "$(hash_of "$out/sent.e2bki")" ] || fail "the live map of the real scans is not that of what was sent"
else
    echo "skipped: real scans (E2BKI_DATA names no folder with bags/os1_128_n3)"
fi

echo "== with a budget, clouds in best effort, then an empty map"
live budget --classes offroad7 --queue 1000 --memory 100MB
sleep 1
peer play "$out/drive.mcap" --best-effort --linger 2 > "$out/played.json"
end budget
! grep -q refused "$out/budget.txt" || fail "scans were refused"
if grep -q "^$frames scans mapped of $frames\$" "$out/budget.txt"; then
    [ "$(hash_of "$out/budget.e2bki")" = "$expected" ] || fail "with a budget the map is another one"
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
    rate=${RATE:-10}
    echo "== $MEASURE s of $rate Hz × 120,000 points"
    long=${DRIVE:-$out/long.mcap}
    if [ ! -f "$long" ]; then
        "$PROGRAM" simulate --world urban --sensor hdl-64e --no-images --frames 100 --format mcap --out "$long" > /dev/null
    fi
    if [ -n "${ZENOH:-}" ]; then
        export ZENOH_ENDPOINT=$endpoint
        router
        LIVE_OPTIONS="${LIVE_OPTIONS:-} --zenoh $endpoint"
    fi
    # shellcheck disable=SC2086
    live long --classes urban11 ${LIVE_OPTIONS:-}
    sleep 1
    listen 6000
    ticks() { awk '{print $14 + $15}' "/proc/$node/stat"; }
    before=$(ticks)
    # What it has in memory from minute to minute.
    (while sleep $((MEASURE < 600 ? 10 : 60)); do awk '/VmRSS/ {printf "%d ", $2 / 1024}' "/proc/$node/status" >> "$out/memory.txt"; done) 2> /dev/null &
    sampler=$!
    running+=("$sampler")
    peer play "$long" --now --rate "$rate" --scans $((rate * MEASURE)) --stamps "$out/stamps.json" --linger 1 > "$out/played.json"
    after=$(ticks)
    kill "$sampler"
    memory=$(awk '/VmHWM/ {print $2}' "/proc/$node/status")
    end long
    kill -TERM "$listener"
    wait "$listener"
    cat "$out/played.json" "$out/heard.json"
    peer latency "$out/stamps.json" "$out/heard-stamps.json"
    seconds=$(value "$out/played.json" seconds)
    echo "memory, MB, from time to time: $(cat "$out/memory.txt")"
    python3 -c "print('processor: %.0f %% of one; most memory: %.0f MB' % (($after - $before) / $(getconf CLK_TCK) / $seconds * 100, $memory / 1024))"
fi
echo "live node: all checks passed"
