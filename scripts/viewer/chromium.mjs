// Headless Chromium over its own debugging pipe (the DevTools protocol): what the tests need of it, without packages.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/// Long, because a machine without a graphics card that does other things too may take its time; never waited for in vain.
export const PATIENCE = 120_000;
const FLAGS = [
  "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--no-first-run", "--mute-audio", "--hide-scrollbars", "--disable-dev-shm-usage",
  "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--disable-sync", "--force-color-profile=srgb",
  "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist",
];

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));
function within(promise, what) {
  let timer;
  const late = new Promise((_, failed) => (timer = setTimeout(() => failed(new Error(`${what}: nothing after ${PATIENCE / 1000} s`)), PATIENCE)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/// Starts a browser.
export function launch(program) {
  const profile = mkdtempSync(join(tmpdir(), "e2bki-chromium-"));
  const child = spawn(program, [...FLAGS, `--user-data-dir=${profile}`], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const waiting = new Map(), pages = new Map(), gone = new Promise((done) => child.on("exit", done));
  let last = 0, rest = "";
  child.on("error", (error) => waiting.forEach(({ failed }) => failed(error)));
  child.on("exit", () => waiting.forEach(({ failed }) => failed(new Error("the browser ended"))));
  child.stdio[3].on("error", () => {});   // said by the end of the browser
  child.stdio[4].setEncoding("utf8").on("data", (part) => {
    const messages = (rest + part).split("\0");
    rest = messages.pop();
    for (const { id, result, error, sessionId, method, params } of messages.map((text) => JSON.parse(text))) {
      if (id === undefined) { pages.get(sessionId)?.on(method, params); continue; }
      const { done, failed } = waiting.get(id) ?? {};
      waiting.delete(id);
      if (error) failed?.(new Error(error.message)); else done?.(result);
    }
  });
  const send = (method, params = {}, sessionId = undefined) => {
    const id = ++last;
    const answer = new Promise((done, failed) => waiting.set(id, { done, failed }));
    child.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return within(answer, method);
  };
  return {
    async newPage(width, height) {
      const { targetId } = await send("Target.createTarget", { url: "about:blank" });
      const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
      const page = new Page((method, params) => send(method, params, sessionId), () => send("Target.closeTarget", { targetId }));
      pages.set(sessionId, page);
      for (const part of ["Page", "Runtime", "Network", "Log"]) await page.send(`${part}.enable`);
      await page.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
      return page;
    },
    async close() {
      send("Browser.close").catch(() => {});
      if ((await Promise.race([gone, pause(5000).then(() => "late")])) === "late") { child.kill("SIGKILL"); await gone; }
      rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}

class Page {
  /// What the browser complained about, and every address that was asked for.
  problems = [];
  requests = new Map();
  loaded = () => {};

  constructor(send, close) { Object.assign(this, { send, close }); }

  on(method, params) {
    if (method === "Page.loadEventFired") this.loaded();
    else if (method === "Runtime.exceptionThrown") this.problems.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    else if (method === "Runtime.consoleAPICalled" && ["error", "warning", "assert"].includes(params.type)) this.problems.push(params.args.map((a) => a.value ?? a.description).join(" "));
    else if (method === "Log.entryAdded" && ["error", "warning"].includes(params.entry.level)) this.problems.push(`${params.entry.text} ${params.entry.url ?? ""}`);
    else if (method === "Network.requestWillBeSent") this.requests.set(params.requestId, params.request.url);
    else if (method === "Network.loadingFailed" && !params.canceled) this.problems.push(`${this.requests.get(params.requestId)} failed: ${params.errorText}`);
  }

  async go(method, params) {
    const done = within(new Promise((loaded) => (this.loaded = loaded)), method);
    const { errorText } = await this.send(method, params);
    if (errorText) throw new Error(`${params.url}: ${errorText}`);
    await done;
  }
  goto(url) { return this.go("Page.navigate", { url }); }
  reload() { return this.go("Page.reload", {}); }

  /// Runs a function in the page; returns its value.
  async evaluate(work, ...words) {
    const expression = `(${work})(...${JSON.stringify(words)})`;
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true, userGesture: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /// Waits until a function gives something true in the page.
  async until(test, ...words) {
    const said = `async (...words) => Boolean(await (${test})(...words))`;   // whatever it gives need not be sent
    for (const begun = Date.now(); Date.now() - begun < PATIENCE; await pause(20)) if (await this.evaluate(said, ...words)) return;
    throw new Error(`not within ${PATIENCE / 1000} s: ${test}`);
  }

  async clickAt(x, y) {
    await this.send("Input.dispatchMouseEvent", { type: "mouseMoved", x, y });
    for (const type of ["mousePressed", "mouseReleased"]) await this.send("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
  }

  /// Clicks the middle of an element, which must be what is there: nothing may cover it.
  async click(selector) {
    const spot = await this.evaluate((selector) => {
      const element = document.querySelector(selector);
      element.scrollIntoView({ block: "nearest" });
      const { left, top, width, height } = element.getBoundingClientRect(), x = left + width / 2, y = top + height / 2;
      return element.contains(document.elementFromPoint(x, y)) ? [x, y] : null;
    }, selector);
    if (!spot) throw new Error(`${selector} cannot be clicked`);
    await this.clickAt(...spot);
  }

  /// Chooses an option or moves a slider, as a hand does.
  set(selector, value, event) {
    return this.evaluate((selector, value, event) => {
      const control = document.querySelector(selector);
      control.value = value;
      control.dispatchEvent(new Event(event, { bubbles: true }));
    }, selector, value, event);
  }

  async screenshot(path, whole = false) {
    const { cssContentSize: { width, height } } = await this.send("Page.getLayoutMetrics");
    const more = whole ? { captureBeyondViewport: true, clip: { x: 0, y: 0, width, height, scale: 1 } } : {};
    const { data } = await this.send("Page.captureScreenshot", { format: "png", ...more });
    writeFileSync(path, Buffer.from(data, "base64"));
  }
}
