// How long until a map is seen, and how it moves. Usage: scripts/test-viewer.sh measure MAP [primitives|voxels [ROUNDS]]
//
// The first picture has every primitive of the map, as a dot at least, and the legend says how many there are of each class. Its time
// is when the browser showed it (Element Timing of the counts, which are written with it), from the moment the page was asked for.
import { launch, open, pause, serve } from "./harness.mjs";

const [map, what = "primitives", rounds = "10"] = process.argv.slice(2), ROUNDS = Number(rounds);
const SETTLED = 2500;   // ms after which a browser has started
const program = serve("view", map, "--port", "0"), url = await program.url;
const median = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];
const running = [], started = [];
try {
  // A browser of its own each time, so that nothing is in its memory yet: one that runs already, and one that is just started.
  for (let round = 1; round <= ROUNDS; round++) {
    running.push(await once(SETTLED, round === ROUNDS));
    started.push(await once(0));
  }
} finally {
  await program.end();
}
for (const [name, all] of [["a browser that runs", running], ["a browser just started", started]]) {
  console.log(`in ${name}, ms after the page was asked for (${ROUNDS} rounds):`);
  for (const [step, meaning] of STEPS()) {
    const times = all.map((round) => round[step]);
    console.log(`  ${meaning.padEnd(46)} median ${median(times).toFixed(0).padStart(5)}, best ${Math.min(...times).toFixed(0).padStart(5)}, worst ${Math.max(...times).toFixed(0).padStart(5)}`);
  }
}

function STEPS() {
  return [
    ["scripts", "all parts of the page are here"], ["script", "they begin to run"], ["hello", "what the map holds is known"], ["tile", "first tile is here"],
    ["sketch", "all tiles are here, counted and sketched"], ["shown", "FIRST PICTURE: the browser shows this"],
    ["context", "the graphics card is ready"], ["drawn", "first picture of the graphics card is drawn"],
  ];
}

/// The times of one visit.
async function once(wait, move) {
  const browser = launch();
  try {
    const page = await open(browser, "about:blank", [1280, 800]);
    await pause(wait);
    await page.goto(url);
    await page.until(() => window.viewer?.state.times.drawn);
    const times = await page.evaluate(async () => {
      const shown = await new Promise((done) => new PerformanceObserver((list) => done(list.getEntries()[0].renderTime)).observe({ type: "element", buffered: true }));
      const scripts = Math.max(...performance.getEntriesByType("resource").map((entry) => entry.responseEnd));
      const { times } = window.viewer.state;
      // Where the first picture did not have everything, the next one counts.
      return { ...times, shown: times.whole ? shown : times.drawn, scripts, counts: document.getElementById("counts").textContent };
    });
    if (move) { console.log(times.counts); await moving(page); }
    return times;
  } finally {
    await browser.close();
  }
}

/// Times pictures while the camera goes along the map.
async function moving(page) {
  if (what === "voxels") {
    const begun = Date.now();
    await page.click('#what [data-value="voxels"]');
    await page.until(() => window.viewer.state.complete);
    console.log(`all voxels after another ${Date.now() - begun} ms`);
  }
  console.log(`${(await page.evaluate(() => window.viewer.state.all)).toLocaleString("en")} ${what}`);
  const frames = await page.evaluate(async () => {
    const { renderer, cameras, state } = window.viewer, gl = renderer.getContext(), took = [], pixel = new Uint8Array(4);
    for (let i = 0; i < 80; i++) {
      cameras.free.position.x += 0.5;
      cameras.controls.free.target.x += 0.5;
      cameras.controls.free.update();
      state.dirty = true;
      const begun = performance.now();
      await new Promise(requestAnimationFrame);
      gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);   // waits until it is drawn
      took.push(performance.now() - begun);
    }
    return { took: took.slice(40), used: state.used };
  });
  console.log(`moving: ${median(frames.took).toFixed(0)} ms a picture (median of 40), ${Math.round(frames.used).toLocaleString("en")} corners`);
}
