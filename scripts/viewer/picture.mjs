// A picture of the viewer. Usage: scripts/test-viewer.sh picture FOLDER
import { OUT, launch, open, ready, serve, target } from "./harness.mjs";

const program = serve("view", process.env.MAP, "--port", "0"), browser = launch();
try {
  const page = await open(browser, await program.url, [1280, 720]);
  await page.until(() => window.viewer && Object.assign(window.viewer.state, { budget: 2e7, fixed: true }));
  await ready(page);
  await page.clickAt(...(await target(page, 0.4, 0.6)));
  await page.until(() => !document.getElementById("belief").hidden);
  await ready(page);
  await page.screenshot(`${OUT}/viewer.png`);
} finally {
  await browser.close();
  await program.end();
}
