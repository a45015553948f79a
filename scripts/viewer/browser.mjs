// The viewer and the report as a person meets them, in headless Chromium.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { OUT, PROGRAM, complaints, launch, look, open, ready, serve, target } from "./harness.mjs";

const { MAP, OTHER, TIMED, DRIVE, REPORT, PICTURES } = process.env;
// Large voxels: there is no graphics card to draw many small ones.
const SHOWN = ["--points", DRIVE, "--resolution", "0.5"];
const browser = launch();
/// The same detail however quick the machine is, and not much of it: there is no graphics card.
const DETAIL = { budget: 2e5, fixed: true, playMs: 300 };
const pages = [];

/// Opens a page and waits until all of the map is there.
async function whole(url, size) {
  const page = await open(browser, url, size);
  pages.push([page, url]);
  await settled(page);
  return page;
}
async function settled(page) {
  await page.until((detail) => window.viewer && Object.assign(window.viewer.state, detail), DETAIL);
  await ready(page);
}
/// Pictures are for people: only where somebody asked for them.
const picture = async (page, name) => { if (PICTURES) await page.screenshot(`${PICTURES}/${name}.png`); };
const shown = (page) => page.evaluate(() => [window.viewer.state.shown, window.viewer.state.all]);
const number = (text) => Number(text.replaceAll(",", ""));
const json = (...words) => JSON.parse(execFileSync(PROGRAM, [...words, "--json", "-"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).match(/\{[\s\S]*\}/)[0]);

/// The belief that the page shows is that of `e2bki query`.
async function asQueried(page, map) {
  const said = await page.evaluate(() => ({
    ...Object.fromEntries([...document.querySelectorAll("#answers dd")].map((dd) => [dd.dataset.key, dd.textContent])),
    class: document.querySelector("#answers .class").textContent, at: window.viewer.state.answered,
  }));
  const [answer] = json("query", map, `--at=${said.at.join(",")}`).answers;
  assert.ok(answer.observed, "what is seen is observed");
  assert.equal(said.class, answer.class);
  for (const key of ["confidence", "u", "u_sem", "u_spa", "variance"]) assert.equal(said[key], answer[key].toFixed(4), key);
}

/// The page says that the program is gone, or that it is back; refused connections meanwhile are the browser's to report.
const lost = (page) => page.until(() => document.getElementById("state").classList.contains("lost"));
async function back(page) {
  await page.until(() => !document.getElementById("state").classList.contains("lost"));
  await ready(page);
  page.problems = page.problems.filter((text) => !/WebSocket connection|ERR_CONNECTION_REFUSED/.test(text));
}

async function test(name, work) {
  const begun = Date.now();
  await work();
  assert.deepEqual(pages.flatMap(([page, url]) => complaints(page, url)), [], `${name}: the browser complained`);
  console.log(`ok: ${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
}

let viewer = serve("view", MAP, ...SHOWN, "--port", "0"), page;
try {
  const url = await viewer.url;
  await test("the page loads and draws the whole map", async () => {
    page = await whole(url);
    // A street of 160 m, seen from 55 m above its ends, with sky and gaps between what a LiDAR saw: a tenth of the picture. While
    // it moves most of it is dots, each of one colour; when it stands still, with at least so many corners, bodies in light and shade.
    for (const [budget, colors] of [[DETAIL.budget, 40], [1e6, 100]]) {
      const seen = await look(page, 0, 1, budget);
      assert.ok(seen.drawn > 0.07 && seen.colors > colors, `${budget} ${JSON.stringify(seen)}`);
    }
    const all = json("info", MAP).primitives;
    assert.deepEqual(await shown(page), [all, all]);
    await picture(page, "viewer-classes");
    // The first picture, which was made without the graphics card, had the same in the same places.
    const { first, same } = await page.evaluate(() => {
      const { renderer, draw } = window.viewer, gl = renderer.getContext(), sketch = document.getElementById("sketch");
      const { width, height } = sketch, later = new Uint8Array(4 * width * height);
      draw(5e4);
      gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, later);
      const { data } = sketch.getContext("2d").getImageData(0, 0, width, height), bright = (bytes, at) => bytes[at] + bytes[at + 1] + bytes[at + 2] > 150;
      let first = 0, same = 0;
      for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) {
        if (!bright(data, 4 * (y * width + x))) continue;
        first++;
        // Rows go up in the one and down in the other; dots may be a pixel apart.
        const near = [-1, 0, 1].some((dy) => [-1, 0, 1].some((dx) => bright(later, 4 * ((height - 1 - y + dy) * width + x + dx))));
        if (near) same++;
      }
      return { first: first / (width * height), same: same / first };
    });
    assert.ok(first > 0.05 && same > 0.9, `${first} of the first picture drawn, ${same} of it again later`);
  });

  await test("the legend hides a class and shows it again", async () => {
    const rows = await page.evaluate(() => [...document.querySelectorAll("#legend li")].map((li) => [li.dataset.name, li.lastChild.textContent]));
    const [name, count] = rows.map(([name, count]) => [name, number(count)]).sort((a, b) => b[1] - a[1])[0];
    const [before] = await shown(page), { drawn } = await look(page);
    await page.click(`#legend li[data-name="${name}"]`);
    await ready(page);
    assert.equal((await shown(page))[0], before - count, name);
    assert.ok((await look(page)).drawn < 0.98 * drawn);
    await picture(page, "viewer-class-hidden");
    await page.click("#all");
    await ready(page);
    assert.equal((await shown(page))[0], before);
  });

  await test("a click shows the belief that `e2bki query` gives", async () => {
    await page.clickAt(...(await target(page)));
    await page.until(() => !document.getElementById("belief").hidden);
    await asQueried(page, MAP);
    await picture(page, "viewer-belief");
    await page.click("#close");
  });

  await test("the sliders hide what they say", async () => {
    const u = await page.evaluate(() => [...window.viewer.maps()[0].loaded.primitives.values()].flatMap((t) => Array.from({ length: t.count }, (_, i) => t.value[4 * i + 2] / 65535)));
    for (const limit of [0.05, 0.3]) {
      await page.set("#threshold", limit, "input");
      await ready(page);
      assert.equal((await shown(page))[0], u.filter((v) => Math.fround(v) <= Math.fround(limit)).length);
    }
    await page.set("#threshold", 0, "input");
    await ready(page);
    assert.ok((await look(page)).drawn < 0.012);
    await page.set("#threshold", 1, "input");
    await page.set("#time", 0.5, "input");
    await ready(page);
    const [part, all] = await shown(page);
    assert.ok(part > 0 && part < all);
    await page.click("#play");
    await page.until(() => window.viewer.shared.time.value >= 1 && !window.viewer.state.playing);
    await ready(page);
    assert.equal((await shown(page))[0], all);
  });

  await test("every colouring, voxels, points and the view from above", async () => {
    for (const mode of [1, 2, 3, 4, 5]) {
      await page.set("#mode", String(mode), "change");
      await ready(page);
      assert.ok((await look(page)).colors > 10, `mode ${mode}`);
      if (mode === 3) await picture(page, "viewer-uncertainty");
    }
    await page.set("#mode", "0", "change");
    await page.click('#camera [data-value="top"]');
    await ready(page);
    assert.ok((await look(page)).drawn > 0.01);
    await picture(page, "viewer-above");
    await page.click('#camera [data-value="free"]');
    for (const what of ["voxels", "points"]) {
      await page.click(`#what [data-value="${what}"]`);
      await ready(page);
      const { drawn, colors } = await look(page);
      assert.ok(drawn > 0.01 && colors > 10, `${what} ${drawn} ${colors}`);
      assert.ok((await shown(page))[0] > 1000, what);
      await picture(page, `viewer-${what}`);
    }
    await page.click('#what [data-value="primitives"]');
    await ready(page);
  });

  await test("what driving costs, and the robot that drives", async () => {
    await page.click('#what [data-value="costs"]');
    await ready(page);
    const { drawn, colors } = await look(page);
    assert.ok(drawn > 0.01 && colors > 10, `${drawn} ${colors}`);
    const cells = (await shown(page))[0];
    assert.ok(cells > 1000, `${cells} cells`);
    const seen = await page.evaluate(() => {
      const [map] = window.viewer.state.maps, tiles = [...map.loaded.costs.values()];
      const place = map.footprint.lines.geometry.attributes.position.array, side = (a, b) => Math.hypot(...[0, 1].map((i) => place[3 * a + i] - place[3 * b + i]));
      return { cost: tiles.flatMap((tile) => [...tile.value].filter((_, i) => i % 4 === 3)), visible: map.footprint.lines.visible, sides: [side(0, 1), side(1, 2)], robot: map.about.robot, mode: window.viewer.shared.mode.value };
    });
    // A street: most of its surface can be driven on, its houses cannot.
    assert.ok(seen.cost.some((v) => v > 60000) && seen.cost.some((v) => v < 15000), "free and forbidden places");
    assert.ok(seen.visible, "the robot is shown at the end of the way");
    assert.ok(Math.abs(seen.sides[0] - seen.robot.length) < 0.01 && Math.abs(seen.sides[1] - seen.robot.width) < 0.01, `${seen.sides}`);
    assert.equal(seen.mode, 4);
    await picture(page, "viewer-costs");
    await page.click('#what [data-value="primitives"]');
    await ready(page);
    assert.equal(await page.evaluate(() => window.viewer.shared.mode.value), 0, "the colours of before");
  });

  await test("a planned way, in the colour of its risk", async () => {
    const file = `${OUT}/way.csv`, at = await page.evaluate(() => window.viewer.state.maps[0].trajectory[0]);
    const rows = [...Array(100).keys()].map((i) => [at[0] + 0.2 * i, at[1] + 2, i ? at[2] - 1.5 : "", 0.1, i / 100].join());
    writeFileSync(file, `x,y,z,cost,risk\n${rows.join("\n")}\n`);
    const program = serve("view", MAP, "--way", file, "--port", "0"), other = await whole(await program.url);
    const way = await other.evaluate(() => {
      const { way } = window.viewer.state.maps[0], of = (name) => [...way.geometry.attributes[name].array];
      return { visible: way.visible, count: of("position").length / 3, last: of("risk").at(-1) };
    });
    assert.deepEqual([way.visible, way.count, way.last.toFixed(2)], [true, 200, "0.99"]);
    await picture(other, "viewer-way");
    await other.close();
    await program.end();
  });

  await test("a lost program comes back", async () => {
    const before = await shown(page), eye = await page.evaluate(() => window.viewer.cameras.free.position.toArray());
    await viewer.end();
    await lost(page);
    viewer = serve("view", MAP, ...SHOWN, "--port", new URL(url).port);
    assert.equal(await viewer.url, url);
    await back(page);
    assert.deepEqual(await shown(page), before);
    assert.deepEqual(await page.evaluate(() => window.viewer.cameras.free.position.toArray()), eye, "the same map: the same view");
  });
  await page.close();

  await test("a map file that is replaced is not mixed with the one before", async () => {
    const file = `${OUT}/replaced.e2bki`, words = ["view", file, "--resolution", "0.5", "--port"];
    copyFileSync(OTHER, file);
    let program = serve(...words, "0");
    const url = await program.url, page = await whole(url), old = json("info", OTHER).primitives;
    assert.deepEqual(await shown(page), [old, old]);
    // Half of another map, as a program that writes in place leaves it. What was not loaded yet is asked for now.
    writeFileSync(file, readFileSync(MAP).subarray(0, 5000));
    await page.click('#what [data-value="voxels"]');
    await ready(page);
    await page.clickAt(...(await target(page)));
    await page.until(() => !document.getElementById("belief").hidden);
    await asQueried(page, OTHER);
    copyFileSync(MAP, file);
    await page.reload();
    await settled(page);
    assert.deepEqual(await shown(page), [old, old], "the map as it was opened");
    await program.end();
    await lost(page);
    program = serve(...words, new URL(url).port);
    assert.equal(await program.url, url);
    await back(page);
    const all = json("info", MAP).primitives;
    assert.notEqual(all, old);
    assert.deepEqual(await shown(page), [all, all], "the new map and nothing of the old one");
    await page.close();
    await program.end();
  });

  await test("a map with times: what had been seen by then, what is gone, and when a place was seen", async () => {
    const program = serve("view", TIMED, "--port", "0"), page = await whole(await program.url);
    const { span, age, left } = await page.evaluate(() => {
      const [map] = window.viewer.state.maps, tiles = [...map.loaded.primitives.values()];
      const kinds = tiles.flatMap((tile) => Array.from({ length: tile.count }, (_, i) => [tile.kind[2 * i], tile.kind[2 * i + 1]]));
      return { span: map.about.span, age: kinds.map(([, age]) => age / 65535), left: kinds.map(([kind]) => kind > 32767) };
    });
    // Three scans, a second apart.
    assert.equal(span[1] - span[0], 2);
    const there = (until) => age.filter((v, i) => !left[i] && Math.fround(v) <= Math.fround(until)).length;
    assert.ok(there(0) > 0 && there(0) < there(0.6) && there(0.6) < there(1), `${[0, 0.6, 1].map(there)} at a time`);
    for (const until of [0, 0.6]) {
      await page.set("#time", until, "input");
      await ready(page);
      assert.equal((await shown(page))[0], there(until));
      assert.match(await page.evaluate(() => document.getElementById("time-value").textContent), /^until /);
    }
    await picture(page, "viewer-timeline");
    await page.set("#time", 1, "input");
    await page.click("#gone");
    await ready(page);
    assert.equal((await shown(page))[0], age.length, "all of it, with what is gone");
    await page.click("#gone");
    await ready(page);
    await page.clickAt(...(await target(page)));
    await page.until(() => !document.getElementById("belief").hidden);
    const said = await page.evaluate(() => ({ ...Object.fromEntries([...document.querySelectorAll("#answers dd")].map((dd) => [dd.dataset.key, dd.textContent])), at: window.viewer.state.answered }));
    const { free_space: known } = json("query", TIMED, `--at=${said.at.join(",")}`).answers[0];
    assert.deepEqual([said.state, said.existence], [known.state, known.existence.toFixed(3)]);
    assert.equal(said.counts, `${known.hits}, ${known.passes}`);
    assert.ok(known.last_seen >= span[0] && known.last_seen <= span[1] && said.seen.includes(", "), said.seen);
    await picture(page, "viewer-seen");
    await page.close();
    await program.end();
  });

  await test("two methods side by side, with one camera", async () => {
    const two = serve("map", DRIVE, "--view", "--beside", "s-bki", "--resolution", "0.5", "--port", "0");
    const page = await whole(await two.url, [1100, 500]);
    for (const half of [[0, 0.5], [0.5, 1]]) assert.ok((await look(page, ...half)).drawn > 0.005, `half ${half}`);
    await page.clickAt(...(await target(page, 0.5, 1)));
    await page.until(() => document.querySelectorAll("#answers > div").length === 2);
    await picture(page, "viewer-compare");
    await page.close();
    await two.end();
  });

  await test("a running mapper is followed to its end", async () => {
    const run = serve("demo", "--frames", "10", "--out", `${OUT}/live`, "--view", "--port", "0");
    const early = await open(browser, await run.url);
    await early.until(() => window.viewer?.state.all > 0);
    await early.close();   // a browser that goes away is no matter, nor one that comes back
    const page = await whole(await run.url);
    await page.until(() => document.getElementById("state").textContent === "complete");
    await ready(page);
    assert.equal((await shown(page))[1], json("info", `${OUT}/live/map.e2bki`).primitives);
    await page.close();
    await run.end();
  });

  await test("the report opens from disk with all its pictures", async () => {
    const page = await browser.newPage(1280, 900);
    await page.goto(`file://${REPORT}`);
    const sizes = await page.evaluate(() => [...document.querySelectorAll("img")].map((img) => [img.complete, img.naturalWidth]));
    assert.ok(sizes.length >= 3 && sizes.every(([done, width]) => done && width > 10), JSON.stringify(sizes));
    assert.ok(await page.evaluate(() => document.querySelectorAll("svg").length >= 1));
    assert.deepEqual([page.problems, [...page.requests.values()].filter((to) => !/^(file|data):/.test(to))], [[], []]);
    if (PICTURES) await page.screenshot(`${PICTURES}/report.png`, true);
    await page.close();
  });
} finally {
  await Promise.all([viewer.end(), browser.close()]);
}
console.log("viewer tests passed");
