// The program and a headless browser, for tests, measurements and pictures.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import puppeteer from "puppeteer-core";

export const { PROGRAM, CHROMIUM, OUT } = process.env;
/// Long, because a machine without a graphics card that does other things too may take its time; never waited for in vain.
export const PATIENCE = 180_000;

/// Starts `e2bki` and waits for the address that it prints.
export function serve(...words) {
  const child = spawn(PROGRAM, words, { stdio: ["ignore", "pipe", "inherit"] });
  const program = { child, text: "" };
  program.url = new Promise((found, failed) => {
    child.stdout.on("data", (part) => {
      program.text += part;
      const match = program.text.match(/open (http:\S+)\n/);
      if (match) found(match[1]);
    });
    child.on("exit", (code) => failed(new Error(`e2bki ended with ${code}: ${program.text}`)));
  });
  program.end = () => new Promise((done) => {
    child.removeAllListeners("exit");
    if (child.exitCode !== null) done();
    child.on("exit", done);
    child.kill();
  });
  return program;
}

export const launch = () => puppeteer.launch({
  executablePath: CHROMIUM, headless: true, protocolTimeout: PATIENCE,
  args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"],
});

export const until = (page, test, ...words) => page.waitForFunction(test, { timeout: PATIENCE, polling: 100 }, ...words);
/// Everything that is asked for is loaded, counted and drawn.
export const ready = (page) => until(page, () => window.viewer?.ready());

/// Opens a page; what the browser complains about goes into `problems`.
export async function open(browser, url, problems, [width, height] = [640, 420]) {
  const page = await browser.newPage();
  await page.setViewport({ width, height });
  page.on("console", (message) => { if (["error", "warn"].includes(message.type())) problems.push(message.text()); });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("requestfailed", (request) => problems.push(`${request.url()} failed`));
  const near = (to) => !/^https?:/.test(to) || to.startsWith(new URL(url).origin);
  page.on("request", (request) => { if (!near(request.url())) problems.push(`asked the network for ${request.url()}`); });
  await page.goto(url, { timeout: PATIENCE });
  return page;
}

/// Moves a slider as a hand does.
export const slide = (page, id, value) =>
  page.$eval(id, (slider, value) => { slider.value = value; slider.dispatchEvent(new Event("input")); }, value);

/// How much of a part of the picture is drawn, and in how many colours; parts are shares of its width.
export const look = (page, from = 0, to = 1) => page.evaluate((from, to) => {
  const { renderer, draw, state } = window.viewer;
  state.budget = 3e5;   // the same detail every time, however quick the machine is
  draw();
  const gl = renderer.getContext(), x = Math.floor(from * gl.drawingBufferWidth), h = gl.drawingBufferHeight;
  const w = Math.floor(to * gl.drawingBufferWidth) - x, bytes = new Uint8Array(4 * w * h), seen = new Set();
  gl.readPixels(x, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
  let drawn = 0;
  for (let i = 0; i < bytes.length; i += 4) {
    seen.add(((bytes[i] >> 3) << 10) | ((bytes[i + 1] >> 3) << 5) | (bytes[i + 2] >> 3));
    if (bytes[i] + bytes[i + 1] + bytes[i + 2] > 150) drawn++;
  }
  return { colors: seen.size, drawn: drawn / (w * h) };
}, from, to);

/// A place of the page where something is to be clicked, nearest to the middle of a part of it.
export async function target(page, from = 0, to = 1) {
  const spot = await page.evaluate((from, to) => {
    const { width, height } = document.getElementById("canvas").getBoundingClientRect(), places = [];
    const free = (x, y) => document.elementFromPoint(x, y)?.id === "canvas";
    for (let i = 1; i < 16; i++) for (let j = 1; j < 16; j++) places.push([(from + ((to - from) * i) / 16) * width, (j / 16) * height]);
    const middle = [((from + to) / 2) * width, height / 2], far = ([x, y]) => Math.hypot(x - middle[0], y - middle[1]);
    places.sort((a, b) => far(a) - far(b));
    return places.find(([x, y]) => free(x, y) && window.viewer.pick(Math.round(x), Math.round(y))) ?? null;
  }, from, to);
  assert.ok(spot, "something is to be clicked");
  return spot.map(Math.round);
}
