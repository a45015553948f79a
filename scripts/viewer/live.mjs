// What `--view` costs the mapper: runs with and without it in turn, a client asking for every tile that changes, as the page
// does; it draws nothing, as drawing without a graphics card would take the mapper's cores. Usage: scripts/test-viewer.sh live
// DATASET [ROUNDS]
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { OUT, PROGRAM, launch, open, serve } from "./harness.mjs";

const [dataset, rounds = "5"] = process.argv.slice(2);
const numbers = `${OUT}/map.json`, words = ["map", dataset, "--json", numbers];
const seconds = () => JSON.parse(readFileSync(numbers)).seconds;
const browser = launch();

function plain() {
  execFileSync(PROGRAM, words, { stdio: "ignore" });
  return seconds();
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
  const program = serve(...words, "--view", "--port", "0"), page = await open(browser, `${await program.url}LICENSE.three.txt`);
  await page.evaluate(`() => { window.bytes = null; (${client})().then((bytes) => (window.bytes = bytes)); }`);
  await page.until(() => window.bytes !== null);
  const bytes = await page.evaluate(() => window.bytes);
  const line = program.text.match(/viewer: .*/)?.[0];
  await page.close();
  await program.end();
  return [seconds(), bytes, line];
}

const without = [], live = [];
let told;
try {
  for (let round = 1; round <= Number(rounds); round++) {
    without.push(plain());
    const [took, bytes, line] = await watched();
    live.push(took);
    told = `${line}; ${(bytes / 1e6).toFixed(1)} MB to the client`;
    console.log(`round ${round}: ${without.at(-1).toFixed(2)} s without, ${took.toFixed(2)} s with`);
  }
} finally {
  await browser.close();
}
const median = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];
console.log(told);
for (const [name, of] of [["best", (all) => Math.min(...all)], ["median", median]]) {
  console.log(`${name} of ${rounds}: ${of(without).toFixed(2)} s without, ${of(live).toFixed(2)} s with: ${(100 * (of(live) / of(without) - 1)).toFixed(1)} % more`);
}
