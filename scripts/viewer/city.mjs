// The store of a fleet in the viewer: a city by level of detail. Usage: scripts/test-viewer.sh city STORE [FOLDER]
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { OUT, PROGRAM, complaints, launch, look, open, ready, serve, target } from "./harness.mjs";

const { STORE, PICTURES } = process.env;
const program = serve("view", STORE, "--port", "0"), browser = launch();
const picture = async (page, name) => { if (PICTURES) await page.screenshot(`${PICTURES}/${name}.png`); };
const megabytes = () => Number(readFileSync(`/proc/${program.child.pid}/status`, "utf8").match(/VmHWM:\s+(\d+)/)[1]) / 1024;

/// Pictures are for people: they have everything as bodies.
const BUDGET = PICTURES ? 2e7 : 1.5e6;

/// What is drawn: things and tiles by level, and what the page holds.
const held = (page) => page.evaluate(() => {
  const [map] = window.viewer.maps(), drawn = map.drawn("primitives"), by = {};
  for (const tile of drawn) by[tile.level] = (by[tile.level] ?? 0) + 1;
  const sum = (tiles) => [...tiles].reduce((n, tile) => n + tile.count, 0);
  const finest = [...map.known.values()].filter((tile) => !tile.level);
  return { by, drawn: sum(drawn), loaded: sum(map.loaded.primitives.values()), tiles: map.loaded.primitives.size, all: sum(finest), finest: finest.length, top: map.about.levels };
});

/// No place is drawn twice: of any two tiles that are drawn, neither holds the other.
const overlaps = (page) => page.evaluate(() => {
  const drawn = window.viewer.maps()[0].drawn("primitives").map(({ level, x, y }) => [level, x, y]);
  const holds = ([l, x, y], [m, u, v]) => l > m && u >> (l - m) === x && v >> (l - m) === y;
  return drawn.filter((a) => drawn.some((b) => holds(a, b))).length;
});

/// Looks at a place of the city from so far away; waits until all that is wanted is there and drawn.
async function fly(page, [x, y], distance) {
  await page.evaluate((x, y, distance) => {
    const { cameras, state } = window.viewer, [map] = window.viewer.maps(), { constructor: Vector3 } = cameras.free.position;
    cameras.home(new Vector3(x - map.origin[0], y - map.origin[1], 0), distance);
    state.dirty = true;
  }, x, y, distance);
  await ready(page);
  assert.equal(await overlaps(page), 0);
  return held(page);
}

try {
  const url = await program.url, page = await open(browser, url, [900, 600]);
  await page.until((budget) => window.viewer && Object.assign(window.viewer.state, { budget, fixed: true }), BUDGET);
  await ready(page);
  const near = await held(page);
  assert.ok(near.top > 0 && near.by[0] > 0, JSON.stringify(near));
  assert.ok((await look(page, 0, 1, BUDGET)).drawn > 0.05);
  await picture(page, "city-near");
  console.log(`near: ${near.drawn} of ${near.all} primitives drawn, ${near.tiles} tiles loaded, levels ${JSON.stringify(near.by)}`);

  // A click asks the finest level, whatever is drawn.
  await page.clickAt(...(await target(page, 0.35, 0.65)));
  await page.until(() => !document.getElementById("belief").hidden);
  const said = await page.evaluate(() => ({
    ...Object.fromEntries([...document.querySelectorAll("#answers dd")].map((dd) => [dd.dataset.key, dd.textContent])),
    class: document.querySelector("#answers .class").textContent, at: window.viewer.state.answered,
  }));
  const whole = `${OUT}/whole.e2bki`;
  execFileSync(PROGRAM, ["fleet", "export", STORE, "-o", whole], { stdio: "ignore" });
  const text = execFileSync(PROGRAM, ["query", whole, `--at=${said.at.join(",")}`, "--json", "-"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  const [answer] = JSON.parse(text.match(/\{[\s\S]*\}/)[0]).answers;
  assert.equal(said.class, answer.class);
  for (const name of ["confidence", "u", "u_sem", "u_spa", "variance"]) assert.equal(said[name], answer[name].toFixed(4), name);
  await page.click("#close");

  const bounds = await page.evaluate(() => {
    const tiles = [...window.viewer.maps()[0].known.values()].filter((t) => !t.level), side = 32;
    const of = (get) => tiles.map(get).reduce(([low, high], v) => [Math.min(low, v * side), Math.max(high, (v + 1) * side)], [Infinity, -Infinity]);
    return [of((t) => t.x), of((t) => t.y)];
  });
  const middle = bounds.map(([low, high]) => (low + high) / 2), wide = Math.max(...bounds.map(([low, high]) => high - low));
  const far = await fly(page, middle, Math.min(4500, 1.1 * wide));
  assert.ok(Object.keys(far.by).some((level) => level > 0) && far.drawn < far.all, JSON.stringify(far));
  assert.ok((await look(page, 0, 1, BUDGET)).drawn > 0.01);
  await picture(page, "city-far");
  console.log(`from ${Math.round(Math.min(4500, 1.1 * wide))} m: ${far.drawn} of ${far.all} primitives drawn, levels ${JSON.stringify(far.by)}`);
  await page.click('#camera [data-value="top"]');
  await ready(page);
  await picture(page, "city-top");
  await page.click('#camera [data-value="free"]');

  // Over the whole city and back: neither side ever holds much of it.
  let most = 0;
  const steps = Number(process.env.STEPS ?? 12);
  for (let i = 0; i < steps; i++) {
    const at = bounds.map(([low, high], axis) => low + (high - low) * (axis ? (i % 3) / 2 : i / (steps - 1)));
    most = Math.max(most, (await fly(page, at, 60)).loaded);
  }
  const back = await fly(page, middle, Math.min(4500, 1.1 * wide));
  assert.ok(back.drawn > 0);
  assert.ok(most <= 3e6, `the page holds ${most} things`);
  const heap = await page.evaluate(() => performance.memory?.usedJSHeapSize / 1e6);
  console.log(`over the whole city: the page held at most ${most} of ${far.all} primitives (${Math.round(heap)} MB of JavaScript), the program ${Math.round(megabytes())} MB`);
  assert.deepEqual(complaints(page, url), []);
  console.log(`ok: a city of ${far.finest} tiles by level of detail`);
} finally {
  await browser.close();
  await program.end();
}
