// The program and a page that shows what it serves, for tests, measurements and pictures.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { launch as start } from "./chromium.mjs";

export const { PROGRAM, CHROMIUM, OUT } = process.env;

const running = new Set();
process.on("exit", () => running.forEach((child) => child.kill()));   // whatever went wrong, nothing is left behind

/// Starts `e2bki` and waits for the address that it prints.
export function serve(...words) {
  const child = spawn(PROGRAM, words, { stdio: ["ignore", "pipe", "inherit"] });
  const program = { child, text: "" };
  running.add(child);
  program.url = new Promise((found, failed) => {
    child.stdout.on("data", (part) => {
      program.text += part;
      const match = program.text.match(/open (http:\S+)\n/);
      if (match) found(match[1]);
    });
    child.on("exit", (code) => failed(new Error(`e2bki ended with ${code}: ${program.text}`)));
  });
  program.end = () => new Promise((done) => {
    running.delete(child);
    child.removeAllListeners("exit");
    if (child.exitCode !== null || child.signalCode !== null) done();
    child.on("exit", done);
    child.kill();
  });
  return program;
}

export const launch = () => start(CHROMIUM);
export { pause } from "./chromium.mjs";

/// Everything that is asked for is loaded, counted and drawn.
export const ready = (page) => page.until(() => window.viewer?.ready());

/// Opens a page.
export async function open(browser, url, [width, height] = [560, 400]) {
  const page = await browser.newPage(width, height);
  await page.goto(url);
  return page;
}

/// What the browser complained about, and what of a page came from elsewhere than the program.
export function complaints(page, url) {
  const far = [...page.requests.values()].filter((to) => /^(http|ws)s?:/.test(to) && new URL(to).host !== new URL(url).host);
  return [...page.problems, ...far.map((to) => `asked the network for ${to}`)];
}

/// How much of a part of the picture is drawn, and in how many colours; parts are shares of its width. Where a budget is given,
/// the picture is drawn with so many corners.
export const look = (page, from = 0, to = 1, budget = null) => page.evaluate((from, to, budget) => {
  const { renderer, draw } = window.viewer;
  draw(budget ?? undefined);
  const gl = renderer.getContext(), x = Math.floor(from * gl.drawingBufferWidth), h = gl.drawingBufferHeight;
  const w = Math.floor(to * gl.drawingBufferWidth) - x, bytes = new Uint8Array(4 * w * h), seen = new Set();
  gl.readPixels(x, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
  let drawn = 0;
  for (let i = 0; i < bytes.length; i += 4) {
    seen.add(((bytes[i] >> 3) << 10) | ((bytes[i + 1] >> 3) << 5) | (bytes[i + 2] >> 3));
    if (bytes[i] + bytes[i + 1] + bytes[i + 2] > 150) drawn++;
  }
  return { colors: seen.size, drawn: drawn / (w * h) };
}, from, to, budget);

/// A place of the page where something is to be clicked, nearest to the middle of a part of it.
export async function target(page, from = 0, to = 1) {
  const spot = await page.evaluate((from, to) => {
    const { left, width, height } = document.getElementById("canvas").getBoundingClientRect(), places = [];
    const free = (x, y) => document.elementFromPoint(x, y)?.id === "canvas";
    for (let i = 1; i < 16; i++) for (let j = 1; j < 16; j++) places.push([left + (from + ((to - from) * i) / 16) * width, (j / 16) * height].map(Math.round));
    const middle = [left + ((from + to) / 2) * width, height / 2], far = ([x, y]) => Math.hypot(x - middle[0], y - middle[1]);
    places.sort((a, b) => far(a) - far(b));
    return places.find(([x, y]) => free(x, y) && window.viewer.pick(x, y)) ?? null;
  }, from, to);
  assert.ok(spot, "something is to be clicked");
  return spot;
}
