// How long until a map is seen, and how it moves. Usage: scripts/test-viewer.sh measure MAP [primitives|voxels]
import { launch, open, serve, until } from "./harness.mjs";

const [map, what = "primitives"] = process.argv.slice(2);
const program = serve("view", map, "--port", "0"), url = await program.url;
const median = (all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)];
const first = [], whole = [];
try {
  for (let round = 0; round < 5; round++) {
    const browser = await launch(), page = await open(browser, url, [], [1280, 800]);
    await until(page, () => window.viewer?.state.complete && window.viewer.state.firstDrawn);
    const times = await page.evaluate(() => window.viewer.state);
    first.push(times.firstDrawn);
    whole.push(times.complete);
    if (round === 4) {
      if (what === "voxels") {
        await page.click('#what [data-value="voxels"]');
        await until(page, () => window.viewer.state.complete);
      }
      console.log(`${(await page.evaluate(() => window.viewer.state.all)).toLocaleString("en")} ${what}`);
      const frames = await page.evaluate(async () => {
        const { renderer, cameras, state } = window.viewer, gl = renderer.getContext(), took = [], pixel = new Uint8Array(4);
        for (let i = 0; i < 60; i++) {
          cameras.free.position.x += 0.5;
          cameras.controls.free.target.x += 0.5;
          cameras.controls.free.update();
          state.dirty = true;
          const begun = performance.now();
          await new Promise(requestAnimationFrame);
          gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);   // waits until it is drawn
          took.push(performance.now() - begun);
        }
        return { took: took.slice(20), budget: state.budget, used: state.used };
      });
      console.log(`moving: ${median(frames.took).toFixed(0)} ms a picture (median of 40), ${Math.round(frames.used).toLocaleString("en")} corners`);
    }
    await browser.close();
  }
} finally {
  await program.end();
}
const all = (times) => `median ${median(times).toFixed(0)} ms, best ${Math.min(...times).toFixed(0)}, worst ${Math.max(...times).toFixed(0)}`;
console.log(`opened to first picture of the map: ${all(first)}`);
console.log(`opened to all of it: ${all(whole)}`);
