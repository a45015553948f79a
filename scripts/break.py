"""Ends runs of the program at many moments, and fills their disks: break.py kills|disks COUNT [PROGRAM [PART/PARTS]].

The same as the tests `killed` and `full_disk` of the command line do, with the program that users have: a release build.
A part of several, as in 0/4, leaves the rest to others beside it. Needs nothing but Python; `disks` mounts file systems in memory, in a namespace of its own (Linux).
"""

import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def small_drive(folder, frames, side):
    """A drive over an uneven field with trees, side × side points a frame."""
    for part in ("frames", "labels"):
        (folder / part).mkdir(parents=True)
    points, labels = b"", b""
    for k in range(side * side):
        tree = k % 17 == 0
        height = 0.1 * (k % 23) if tree else -1.5 + 0.05 * (k % 5)
        points += struct.pack("<4f", 0.4 * (k % side - 0.5 * side), 0.4 * (k // side - 0.5 * side), height, 0.0)
        labels += struct.pack("<I", tree)
    poses = ""
    for frame in range(frames):
        (folder / f"frames/{frame:06}.bin").write_bytes(points)
        (folder / f"labels/{frame:06}.label").write_bytes(labels)
        poses += f"1 0 0 {0.7 * frame:.1f} 0 1 0 0 0 0 1 0\n"
    (folder / "poses.txt").write_text(poses)
    (folder / "e2bki.toml").write_text('classes = ["ground", "tree"]\nids = "classes"\n')


def say(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout


def frames_in(program, path):
    return json.loads(say(program, "info", path, "--json", "-"))["frames"]


def kills(program, count, work, part, parts):
    small_drive(work / "drive", 1000, 12)
    out, tiles = work / "map.e2bki", work / "map.e2bki.tiles"
    count //= parts
    chance, ends, runs = random.Random(part), {signal.SIGKILL: 0, signal.SIGTERM: 0}, 0
    while min(ends.values()) < count:
        runs += 1
        way = min(ends, key=ends.get)
        command = [program, "map", work / "drive", "--save-every", "1", "-o", out]
        command += ["--memory", "1GB"] if runs % 3 == 2 else []
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while not out.exists():
            assert run.poll() is None, run.stderr.read()
            time.sleep(0.001)
        before = frames_in(program, out) if runs % 10 == 0 else 1
        time.sleep(chance.uniform(0.0, 0.06))
        running = run.poll() is None
        run.send_signal(way)
        said = run.communicate(timeout=600)[1]
        say(program, "check", out)
        frames = frames_in(program, out)
        assert frames >= before, (runs, frames, before)
        if running and way == signal.SIGTERM:
            assert run.returncode == 1 and f"the first {frames} frames" in said, (runs, frames, said)
        ends[way] += running
        if runs % 200 == 0:
            print(f"{runs} runs: {ends[signal.SIGKILL]} killed, {ends[signal.SIGTERM]} asked to end", flush=True)
        if tiles.exists():
            say(program, "check", tiles)
            subprocess.run(["rm", "-r", tiles], check=True)
        out.unlink()
        left = [name for name in os.listdir(work) if name != "drive" and not name.startswith(".e2bki-")]
        assert not left, left
    print(f"{ends[signal.SIGKILL]} times SIGKILL, {ends[signal.SIGTERM]} times SIGTERM, in {runs} runs: nothing lost")


# Maps onto a disk of so many kilobytes, says how that ended and what is there, makes room, and goes on.
ON_A_DISK = r"""
mount -t tmpfs -o size="$KILOBYTES"k none "$DISK" || exit 99
out=$DISK/map.e2bki
"$E2BKI" map "$DRIVE" -o "$out" --save-every 1 $MORE > /dev/null 2> "$DISK-complained"
echo "ended $?"
echo "left $(ls "$DISK" | tr '\n' ' ')"
mount -o remount,size=64m "$DISK"
if [ -e "$out" ]; then "$E2BKI" check "$out" > /dev/null && "$E2BKI" info "$out" --json - 2> /dev/null | tr -d ' \n' | sed 's/.*"frames":\([0-9]*\).*/holds \1\n/' || echo damaged; fi
if [ -e "$out.tiles" ]; then "$E2BKI" check "$out.tiles" > /dev/null || echo damaged; rm -r "$out.tiles"; fi
"$E2BKI" map "$DRIVE" -o "$out" $MORE > /dev/null && "$E2BKI" info "$out" --hash
"""


def number_after(said, what):
    return int("".join(c if c.isdigit() else " " for c in said.rpartition(what)[2]).split()[0]) if what in said else 0


def disks(program, count, work, part, parts):
    frames = 6
    small_drive(work / "drive", frames, 50)
    disk, whole = work / "disk", work / "map.e2bki"
    disk.mkdir()
    say(program, "map", work / "drive", "-o", whole)
    expected, most = say(program, "info", whole, "--hash").strip(), 3 * whole.stat().st_size // 1000
    full = kept = 0
    for number in range(part, count, parts):
        # Pages of 4 kB: where there are more disks than sizes, each size is tried in both ways and more than once.
        size, more = 4 + most * number // count, "--memory 1GB" if number % 3 == 2 else ""
        about = {"KILOBYTES": str(size), "DISK": str(disk), "DRIVE": str(work / "drive"), "MORE": more, "E2BKI": program}
        command = ["unshare", "--mount", "--map-root-user", "sh", "-c", ON_A_DISK]
        said = subprocess.run(command, env={**os.environ, **about}, capture_output=True, text=True).stdout
        complained = Path(f"{disk}-complained").read_text()
        if number // parts % 50 == 49:
            print(f"disk {number + 1}", flush=True)
        at = (size, more, said, complained)
        assert "damaged" not in said and "panicked" not in complained and expected in said, at
        ended, holds = number_after(said, "ended "), number_after(said, "holds ")
        if ended == 0:
            assert holds == frames, at
            continue
        full += 1
        # Too small for an empty map: nothing was begun, and nothing is left.
        if not holds and "warning" not in complained and f"{disk}/map.e2bki.tiles/manifest.e2bki" in complained:
            assert "tiles" not in said.partition("left ")[2], at
            continue
        unsaved = number_after(complained, "warning: the map of ")
        assert ended == 2 and "No space left" in complained and holds + unsaved == frames, at
        kept += holds > 0
    print(f"{len(range(part, count, parts))} disks of 4 to {most} kB, {full} of them full; {kept} of those kept an earlier map: nothing lost")


def main():
    what, count = sys.argv[1], int(sys.argv[2])
    program = os.path.abspath(sys.argv[3] if len(sys.argv) > 3 else "target/release/e2bki")
    part, parts = map(int, (sys.argv[4] if len(sys.argv) > 4 else "0/1").split("/"))
    with tempfile.TemporaryDirectory() as work:
        {"kills": kills, "disks": disks}[what](program, count, Path(work), part, parts)


main()
