// What `--view` costs the mapper: runs with and without it in turn, a client asking for every tile that changes, as the page
// does; it draws nothing, as drawing without a graphics card would take the mapper's cores. Processor time is compared beside the
// clock, which everything else on the machine moves too. Usage: scripts/test-viewer.sh live DATASET [ROUNDS]
import { execFileSync, spawn } from "node:child_process";
import { open as openFile, readFileSync } from "node:fs";
import { OUT, PROGRAM, launch, open, serve } from "./harness.mjs";

const [dataset, rounds = "5"] = process.argv.slice(2);
// A pipe: the program waits until somebody reads, which is when the last frame is in the map.
const numbers = `${OUT}/map.json`, words = ["map", dataset, "--json", numbers];
execFileSync("mkfifo", [numbers]);
const TICKS = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));
const browser = launch();

/// Seconds of the run by the clock, of all processors, and of the thread that maps.
function mapped({ pid }) {
  return new Promise((done, failed) => openFile(numbers, (error, file) => {
    if (error) { failed(error); return; }
    const [user, system] = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/.*\) /, "").split(" ").slice(11, 13).map(Number);
    const thread = Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e9;
    done({ clock: JSON.parse(readFileSync(file)).seconds, processors: (user + system) / TICKS, thread });
  }));
}

async function plain() {
  const child = spawn(PROGRAM, words, { stdio: "ignore" }), ended = new Promise((done) => child.on("exit", done));
  const took = await mapped(child);
  await ended;
  return took;
}

/// Runs in a page of the program that is only text.
const client = () => new Promise((finished) => {
  const socket = new WebSocket(`ws://${location.host}/ws`), wanted = new Map(), asked = new Set();
  socket.binaryType = "arraybuffer";
  let bytes = 0;
  const ask = () => {
    for (const [key, tile] of wanted) {
      if (asked.size >= 6) return;
      if (asked.has(key)) continue;
      wanted.delete(key);
      asked.add(key);
      socket.send(JSON.stringify({ kind: "tile", map: 0, what: "primitives", tile }));
    }
  };
  socket.onmessage = ({ data }) => {
    if (typeof data !== "string") {
      const head = new DataView(data);
      bytes += data.byteLength;
      asked.delete(`${head.getInt32(8, true)},${head.getInt32(12, true)}`);
    } else {
      const message = JSON.parse(data);
      for (const [x, y] of message.tiles ?? message.maps?.[0].tiles ?? []) wanted.set(`${x},${y}`, [x, y]);
      if (message.kind === "missing") asked.delete(message.tile.join(","));
      if (message.done) { socket.close(); finished(bytes); }
    }
    ask();
  };
});

async function watched() {
  const program = serve(...words, "--view", "--port", "0"), took = mapped(program.child);
  const page = await open(browser, `${await program.url}LICENSE.three.txt`);
  await page.evaluate(`() => { window.bytes = null; (${client})().then((bytes) => (window.bytes = bytes)); }`);
  const times = await took;
  await page.until(() => window.bytes !== null);
  const bytes = await page.evaluate(() => window.bytes);
  const line = program.text.match(/viewer: .*/)?.[0];
  await page.close();
  await program.end();
  return [times, `${line}; ${(bytes / 1e6).toFixed(1)} MB to the client`];
}

const without = [], live = [];
const show = ({ clock, processors, thread }) => `${clock.toFixed(2)} s (${processors.toFixed(2)} s of all processors, ${thread.toFixed(2)} s of the mapping thread)`;
try {
  for (let round = 1; round <= Number(rounds); round++) {
    without.push(await plain());
    const [times, told] = await watched();
    live.push(times);
    console.log(`round ${round}: ${show(without.at(-1))} without, ${show(times)} with\n  ${told}`);
  }
} finally {
  await browser.close();
}
const median = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];
for (const [name, of] of [["best", (all) => Math.min(...all)], ["median", median]]) {
  for (const what of ["clock", "processors", "thread"]) {
    const [a, b] = [without, live].map((runs) => of(runs.map((run) => run[what])));
    console.log(`${name} of ${rounds}, ${what}: ${a.toFixed(2)} s without, ${b.toFixed(2)} s with: ${(100 * (b / a - 1)).toFixed(1)} % more`);
  }
}
