// What `--view` costs the mapper: runs with and without it in turn, a client asking for every tile that changes, as the page
// does. Usage: scripts/test-viewer.sh live DATASET [ROUNDS]
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import WebSocket from "ws";
import { OUT, PROGRAM, serve } from "./harness.mjs";

const [dataset, rounds = "5"] = process.argv.slice(2);
const numbers = `${OUT}/map.json`, words = ["map", dataset, "--json", numbers];
const seconds = () => JSON.parse(readFileSync(numbers)).seconds;

function plain() {
  execFileSync(PROGRAM, words, { stdio: "ignore" });
  return seconds();
}

async function watched() {
  const program = serve(...words, "--view", "--port", "0");
  const socket = new WebSocket((await program.url).replace("http", "ws") + "ws");
  let bytes = 0;
  const wanted = new Map(), asked = new Set();
  const ask = () => {
    for (const [key, tile] of wanted) {
      if (asked.size >= 6) return;
      if (asked.has(key)) continue;
      wanted.delete(key);
      asked.add(key);
      socket.send(JSON.stringify({ kind: "tile", map: 0, what: "primitives", tile }));
    }
  };
  const done = new Promise((finished) => socket.on("message", (data, binary) => {
    if (binary) {
      bytes += data.length;
      asked.delete(`${data.readInt32LE(8)},${data.readInt32LE(12)}`);
    } else {
      const message = JSON.parse(data);
      for (const [x, y] of message.tiles ?? message.maps?.[0].tiles ?? []) wanted.set(`${x},${y}`, [x, y]);
      if (message.kind === "missing") asked.delete(message.tile.join(","));
      if (message.done) finished();
    }
    ask();
  }));
  await done;
  const line = program.text.match(/viewer: .*/)?.[0];
  socket.close();
  await program.end();
  return [seconds(), bytes, line];
}

const without = [], live = [];
let told;
for (let round = 0; round < Number(rounds); round++) {
  without.push(plain());
  const [took, bytes, line] = await watched();
  live.push(took);
  told = `${line}; ${(bytes / 1e6).toFixed(1)} MB to the client`;
  console.log(`round ${round + 1}: ${without.at(-1).toFixed(2)} s without, ${took.toFixed(2)} s with`);
}
const best = (all) => Math.min(...all);
console.log(told);
console.log(`best of ${rounds}: ${best(without).toFixed(2)} s without, ${best(live).toFixed(2)} s with: ${(100 * (best(live) / best(without) - 1)).toFixed(1)} % more`);
