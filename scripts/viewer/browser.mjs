// The viewer and the report as a person meets them, in headless Chromium.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import puppeteer from "puppeteer-core";

const { PROGRAM, CHROMIUM, MAP, REPORT, PICTURES } = process.env;

/// Starts `e2bki` and waits for the address that it prints.
export function serve(...words) {
  const child = spawn(PROGRAM, words, { stdio: ["ignore", "pipe", "inherit"] });
  const url = new Promise((found, failed) => {
    let text = "";
    child.stdout.on("data", (part) => {
      text += part;
      const match = text.match(/open (http:\S+)/);
      if (match) found(match[1]);
    });
    child.on("exit", (code) => failed(new Error(`e2bki ended with ${code}: ${text}`)));
  });
  return { child, url };
}

const browser = await puppeteer.launch({
  executablePath: CHROMIUM, headless: true,
  args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"],
});
const problems = [];

async function open(url) {
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 800 });
  page.on("console", (message) => { if (["error", "warn"].includes(message.type())) problems.push(message.text()); });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("requestfailed", (request) => problems.push(`${request.url()} failed`));
  page.on("request", (request) => { if (/^https?:/.test(request.url()) && !request.url().startsWith("http://127.0.0.1")) problems.push(`asked the network for ${request.url()}`); });
  await page.goto(url);
  return page;
}

const complete = (page) => page.waitForFunction(() => window.viewer?.state.complete && !window.viewer.state.dirty, { timeout: 120_000 });
const number = (text) => Number(text.replaceAll(",", ""));
const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))));
const picture = (page, name) => page.screenshot({ path: `${PICTURES}/${name}.png` });
const colors = (page) => page.evaluate(() => {
  const { renderer, draw } = window.viewer;
  draw();
  const gl = renderer.getContext(), [w, h] = [gl.drawingBufferWidth, gl.drawingBufferHeight], bytes = new Uint8Array(4 * w * h), seen = new Set();
  gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
  let drawn = 0;
  for (let i = 0; i < bytes.length; i += 4) { seen.add((bytes[i] >> 3 << 10) | (bytes[i + 1] >> 3 << 5) | (bytes[i + 2] >> 3)); if (bytes[i] + bytes[i + 1] + bytes[i + 2] > 150) drawn++; }
  return { different: seen.size, drawn: drawn / (w * h) };
});

async function test(name, work) {
  const begun = Date.now();
  await work();
  assert.deepEqual(problems, [], `${name}: the browser complained`);
  console.log(`ok: ${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
}

let viewer = serve("view", MAP, "--port", "0");
let page;
try {
  const url = await viewer.url;
  await test("the page loads and draws the whole map", async () => {
    page = await open(url);
    await complete(page);
    const seen = await colors(page);
    assert.ok(seen.drawn > 0.05 && seen.different > 20, JSON.stringify(seen));
    const info = JSON.parse(execFileSync(PROGRAM, ["info", MAP, "--json", "-"], { encoding: "utf8" }).match(/\{[\s\S]*\}/)[0]);
    const { all, shown } = await page.evaluate(() => ({ all: window.viewer.state.all, shown: window.viewer.state.shown }));
    assert.equal(all, info.primitives ?? info.rows);
    assert.equal(shown, all);
    await picture(page, "viewer-classes");
  });

  await test("the legend hides a class and shows it again", async () => {
    const row = await page.$eval("#legend li:not(.empty)", (li) => [li.dataset.name, li.lastChild.textContent]);
    const before = await page.evaluate(() => window.viewer.state.shown);
    const click = () => page.$eval("#legend li:not(.empty)", (li) => li.click());
    const drawn = await colors(page);
    await click();
    await settled(page);
    assert.equal(await page.evaluate(() => window.viewer.state.shown), before - number(row[1]), row[0]);
    // The biggest class is also gone from the picture.
    const names = await page.$$eval("#legend li", (all) => all.map((li) => [Number(li.lastChild.textContent.replaceAll(",", "")), li.dataset.name]));
    await page.evaluate((name) => document.querySelector(`#legend li[data-name="${name}"]:not(.off)`)?.click(), names.sort((a, b) => b[0] - a[0])[0][1]);
    await settled(page);
    assert.ok((await colors(page)).drawn < drawn.drawn * 0.98);
    await picture(page, "viewer-class-hidden");
    await page.click("#all");
    await settled(page);
    assert.equal(await page.evaluate(() => window.viewer.state.shown), before);
  });

  await test("a click shows the belief that `e2bki query` gives", async () => {
    for (const [x, y] of [[760, 420], [640, 500], [900, 450], [700, 560], [820, 380]]) {
      await page.mouse.click(x, y);
      const shown = await page.waitForFunction(() => !document.getElementById("belief").hidden, { timeout: 3000 }).catch(() => null);
      if (shown) break;
    }
    await settled(page);
    const said = await page.evaluate(() => {
      const facts = Object.fromEntries([...document.querySelectorAll("#answers dd")].map((dd) => [dd.dataset.key, dd.textContent]));
      return { ...facts, class: document.querySelector("#answers .class").textContent, at: window.viewer.state.answered };
    });
    const { at } = said;
    const answer = JSON.parse(execFileSync(PROGRAM, ["query", MAP, `--at=${at.join(",")}`, "--json", "-"], { encoding: "utf8" })).answers[0];
    assert.ok(answer.observed, "what is seen is observed");
    assert.equal(said.class, answer.class);
    for (const key of ["confidence", "u", "u_sem", "u_spa", "variance"]) assert.equal(said[key], answer[key].toFixed(4), key);
    await picture(page, "viewer-belief");
    await page.click("#close");
  });

  await test("the slider hides what it says", async () => {
    const set = (id, value) => page.$eval(id, (slider, value) => { slider.value = value; slider.dispatchEvent(new Event("input")); }, value);
    const u = await page.evaluate(() => window.viewer.maps()[0].loaded.primitives.values().toArray().flatMap((t) => Array.from({ length: t.count }, (_, i) => t.value[4 * i + 2] / 65535)));
    for (const limit of [0.05, 0.3]) {
      await set("#threshold", limit);
      await settled(page);
      assert.equal(await page.evaluate(() => window.viewer.state.shown), u.filter((v) => Math.fround(v) <= Math.fround(limit)).length);
    }
    await set("#threshold", 0);
    await settled(page);
    assert.ok((await colors(page)).drawn < 0.02);
    await set("#threshold", 1);
    await set("#time", 0.5);
    await settled(page);
    const part = await page.evaluate(() => [window.viewer.state.shown, window.viewer.state.all]);
    assert.ok(part[0] > 0 && part[0] < part[1]);
    await set("#time", 1);
  });

  await test("every colouring, voxels and the view from above", async () => {
    for (const mode of [1, 2, 3, 4, 5]) {
      await page.select("#mode", String(mode));
      await settled(page);
      assert.ok((await colors(page)).drawn > 0.005, `mode ${mode}`);
      if (mode === 3) await picture(page, "viewer-uncertainty");
    }
    await page.select("#mode", "0");
    await page.click('#camera [data-value="top"]');
    await settled(page);
    assert.ok((await colors(page)).drawn > 0.02);
    await picture(page, "viewer-above");
    await page.click('#what [data-value="voxels"]');
    await complete(page);
    await page.click('#camera [data-value="free"]');
    await settled(page);
    assert.ok((await colors(page)).drawn > 0.05);
    await picture(page, "viewer-voxels");
    await page.click('#what [data-value="primitives"]');
  });

  await test("a lost program comes back", async () => {
    const port = new URL(url).port;
    viewer.child.removeAllListeners("exit");
    const gone = new Promise((done) => viewer.child.on("exit", done));
    viewer.child.kill();
    await gone;
    await page.waitForFunction(() => document.getElementById("state").classList.contains("lost"));
    viewer = serve("view", MAP, "--port", port);
    await viewer.url;
    await page.waitForFunction(() => !document.getElementById("state").classList.contains("lost"), { timeout: 15_000 });
    // While it was away, refused connections are the browser's to report.
    for (let i = problems.length; i-- > 0; ) if (/WebSocket connection|ERR_CONNECTION_REFUSED/.test(problems[i])) problems.splice(i, 1);
  });
  await page.close();

  await test("two maps side by side", async () => {
    const two = serve("view", MAP, MAP, "--port", "0");
    const page = await open(await two.url);
    await complete(page);
    await picture(page, "viewer-compare");
    await page.mouse.click(800, 450);
    await settled(page);
    assert.equal(await page.evaluate(() => window.viewer.maps().length), 2);
    await page.close();
    two.child.removeAllListeners("exit");
    two.child.kill();
  });

  await test("the report opens from disk with all its pictures", async () => {
    const page = await browser.newPage();
    await page.setViewport({ width: 1280, height: 900 });
    page.on("console", (message) => problems.push(message.text()));
    page.on("request", (request) => { if (!/^(file|data):/.test(request.url())) problems.push(`asked for ${request.url()}`); });
    await page.goto(`file://${REPORT}`);
    const sizes = await page.$$eval("img", (all) => all.map((img) => [img.complete, img.naturalWidth]));
    assert.ok(sizes.length >= 3 && sizes.every(([done, width]) => done && width > 10), JSON.stringify(sizes));
    assert.ok((await page.$$("svg")).length >= 1);
    await page.screenshot({ path: `${PICTURES}/report.png`, fullPage: true });
    await page.close();
  });
} finally {
  viewer.child.removeAllListeners("exit");
  viewer.child.kill();
  await browser.close();
}
console.log("viewer tests passed");
