// A picture of the viewer. Usage: scripts/test-viewer.sh picture FOLDER
import { OUT, launch, open, ready, serve, target, until } from "./harness.mjs";

const program = serve("view", process.env.MAP, "--port", "0"), browser = await launch();
try {
  const page = await open(browser, await program.url, [], [1280, 720]);
  await until(page, () => window.viewer && (window.viewer.state.budget = 2e7));
  await ready(page);
  await page.mouse.click(...(await target(page, 0.4, 0.6)));
  await until(page, () => !document.getElementById("belief").hidden);
  await page.screenshot({ path: `${OUT}/viewer.png` });
} finally {
  await browser.close();
  await program.end();
}
