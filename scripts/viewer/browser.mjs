// The viewer and the report as a person meets them, in headless Chromium.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { OUT, PATIENCE, PROGRAM, launch, look, open, ready, serve, slide, target, until } from "./harness.mjs";

const { MAP, DRIVE, REPORT } = process.env;
// Large voxels: there is no graphics card to draw many small ones.
const SHOWN = ["--points", DRIVE, "--resolution", "0.5"];
const browser = await launch(), problems = [];
/// Few corners: what is tested is what is drawn, not how fine.
const sparing = (page) => until(page, () => window.viewer && (window.viewer.state.budget = 1.5e5) && (window.viewer.state.playMs = 500));
const picture = (page, name) => page.screenshot({ path: `${OUT}/${name}.png` });
const shown = (page) => page.evaluate(() => [window.viewer.state.shown, window.viewer.state.all]);
const number = (text) => Number(text.replaceAll(",", ""));
const json = (...words) => JSON.parse(execFileSync(PROGRAM, [...words, "--json", "-"], { encoding: "utf8" }).match(/\{[\s\S]*\}/)[0]);

async function test(name, work) {
  const begun = Date.now();
  await work();
  assert.deepEqual(problems, [], `${name}: the browser complained`);
  console.log(`ok: ${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
}

let viewer = serve("view", MAP, ...SHOWN, "--port", "0"), page;
try {
  const url = await viewer.url;
  await test("the page loads and draws the whole map", async () => {
    page = await open(browser, url, problems);
    await sparing(page);
    await ready(page);
    const seen = await look(page);
    assert.ok(seen.drawn > 0.01 && seen.colors > 20, JSON.stringify(seen));
    const all = json("info", MAP).primitives;
    assert.deepEqual(await shown(page), [all, all]);
    await picture(page, "viewer-classes");
  });

  await test("the legend hides a class and shows it again", async () => {
    const rows = await page.$$eval("#legend li", (all) => all.map((li) => [li.dataset.name, li.lastChild.textContent]));
    const [name, count] = rows.map(([name, count]) => [name, number(count)]).sort((a, b) => b[1] - a[1])[0];
    const [before] = await shown(page), { drawn } = await look(page);
    await page.evaluate((name) => document.querySelector(`#legend li[data-name="${name}"]`).click(), name);
    await ready(page);
    assert.equal((await shown(page))[0], before - count, name);
    assert.ok((await look(page)).drawn < 0.98 * drawn);
    await picture(page, "viewer-class-hidden");
    await page.click("#all");
    await ready(page);
    assert.equal((await shown(page))[0], before);
  });

  await test("a click shows the belief that `e2bki query` gives", async () => {
    await page.mouse.click(...(await target(page)));
    await until(page, () => !document.getElementById("belief").hidden);
    const said = await page.evaluate(() => ({
      ...Object.fromEntries([...document.querySelectorAll("#answers dd")].map((dd) => [dd.dataset.key, dd.textContent])),
      class: document.querySelector("#answers .class").textContent, at: window.viewer.state.answered,
    }));
    const [answer] = json("query", MAP, `--at=${said.at.join(",")}`).answers;
    assert.ok(answer.observed, "what is seen is observed");
    assert.equal(said.class, answer.class);
    for (const key of ["confidence", "u", "u_sem", "u_spa", "variance"]) assert.equal(said[key], answer[key].toFixed(4), key);
    await picture(page, "viewer-belief");
    await page.click("#close");
  });

  await test("the sliders hide what they say", async () => {
    const u = await page.evaluate(() => [...window.viewer.maps()[0].loaded.primitives.values()].flatMap((t) => Array.from({ length: t.count }, (_, i) => t.value[4 * i + 2] / 65535)));
    for (const limit of [0.05, 0.3]) {
      await slide(page, "#threshold", limit);
      await ready(page);
      assert.equal((await shown(page))[0], u.filter((v) => Math.fround(v) <= Math.fround(limit)).length);
    }
    await slide(page, "#threshold", 0);
    await ready(page);
    assert.ok((await look(page)).drawn < 0.012);
    await slide(page, "#threshold", 1);
    await slide(page, "#time", 0.5);
    await ready(page);
    const [part, all] = await shown(page);
    assert.ok(part > 0 && part < all);
    await page.click("#play");
    await until(page, () => window.viewer.shared.time.value >= 1 && !window.viewer.state.playing);
    await ready(page);
    assert.equal((await shown(page))[0], all);
  });

  await test("every colouring, voxels, points and the view from above", async () => {
    for (const mode of [1, 2, 3, 4, 5]) {
      await page.select("#mode", String(mode));
      await ready(page);
      assert.ok((await look(page)).colors > 10, `mode ${mode}`);
      if (mode === 3) await picture(page, "viewer-uncertainty");
    }
    await page.select("#mode", "0");
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
  });

  await test("a lost program comes back", async () => {
    await viewer.end();
    await until(page, () => document.getElementById("state").classList.contains("lost"));
    viewer = serve("view", MAP, ...SHOWN, "--port", new URL(url).port);
    assert.equal(await viewer.url, url);
    await until(page, () => !document.getElementById("state").classList.contains("lost"));
    await ready(page);
    // While it was away, refused connections are the browser's to report.
    for (let i = problems.length; i-- > 0; ) if (/WebSocket connection|ERR_CONNECTION_REFUSED/.test(problems[i])) problems.splice(i, 1);
  });
  await page.close();

  await test("two methods side by side, with one camera", async () => {
    const two = serve("map", DRIVE, "--view", "--beside", "s-bki", "--resolution", "0.5", "--port", "0");
    const page = await open(browser, await two.url, problems, [800, 400]);
    await sparing(page);
    await ready(page);
    for (const half of [[0.25, 0.5], [0.5, 1]]) assert.ok((await look(page, ...half)).drawn > 0.005, `half ${half}`);
    await page.mouse.click(...(await target(page, 0.5, 1)));
    await until(page, () => document.querySelectorAll("#answers > div").length === 2);
    await picture(page, "viewer-compare");
    await page.close();
    await two.end();
  });

  await test("a running mapper is followed to its end", async () => {
    const run = serve("demo", "--frames", "10", "--out", `${OUT}/live`, "--view", "--port", "0");
    const page = await open(browser, await run.url, problems);
    await sparing(page);
    await until(page, () => document.getElementById("state").textContent === "complete");
    await ready(page);
    assert.equal((await shown(page))[1], json("info", `${OUT}/live/map.e2bki`).primitives);
    await page.close();
    await run.end();
  });

  await test("the report opens from disk with all its pictures", async () => {
    const page = await browser.newPage();
    await page.setViewport({ width: 1280, height: 900 });
    page.on("console", (message) => problems.push(message.text()));
    page.on("request", (request) => { if (!/^(file|data):/.test(request.url())) problems.push(`asked for ${request.url()}`); });
    await page.goto(`file://${REPORT}`, { timeout: PATIENCE });
    const sizes = await page.$$eval("img", (all) => all.map((img) => [img.complete, img.naturalWidth]));
    assert.ok(sizes.length >= 3 && sizes.every(([done, width]) => done && width > 10), JSON.stringify(sizes));
    assert.ok((await page.$$("svg")).length >= 1);
    await page.screenshot({ path: `${OUT}/report.png`, fullPage: true });
    await page.close();
  });
} finally {
  await viewer.end();
  await browser.close();
}
console.log("viewer tests passed");
