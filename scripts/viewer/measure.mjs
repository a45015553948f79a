// How long until a map is seen, and how it moves. Usage: scripts/test-viewer.sh measure MAP [primitives|voxels]
import { launch, open, serve } from "./harness.mjs";

const [map, what = "primitives"] = process.argv.slice(2), ROUNDS = 5;
const program = serve("view", map, "--port", "0"), url = await program.url;
const median = (all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)];
const first = [], whole = [];
try {
  // A browser of its own each time: nothing is in its memory yet.
  for (let round = 1; round <= ROUNDS; round++) {
    const browser = launch(), page = await open(browser, url, [1280, 800]);
    await page.until(() => window.viewer?.state.complete && window.viewer.state.firstDrawn);
    const times = await page.evaluate(() => ({ first: window.viewer.state.firstDrawn, whole: window.viewer.state.complete }));
    first.push(times.first);
    whole.push(times.whole);
    if (round === ROUNDS) await moving(page);
    await browser.close();
  }
} finally {
  await program.end();
}
const all = (times) => `median ${median(times).toFixed(0)} ms, best ${Math.min(...times).toFixed(0)}, worst ${Math.max(...times).toFixed(0)}`;
console.log(`opened to first picture of the map: ${all(first)}`);
console.log(`opened to all of it: ${all(whole)}`);

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
