// What is under the pointer: a few pixels are drawn with places instead of colours.
import { FloatType, RGBAFormat, WebGLRenderTarget } from "/three.js";

const AIM = 9;   // pixels around the pointer that count as hit
const spot = new WebGLRenderTarget(AIM, AIM, { type: FloatType, format: RGBAFormat });

/// The middle of the ellipsoid, voxel or point at a place of the page, or nothing.
export function pick({ renderer, cameras, shared, maps }, x, y) {
  const { left, width, height } = renderer.domElement.getBoundingClientRect();
  x -= left;
  const part = width / maps.length, side = Math.min(maps.length - 1, Math.floor(x / part));
  const camera = cameras.active;
  camera.setViewOffset(part, height, x - side * part - (AIM - 1) / 2, y - (AIM - 1) / 2, AIM, AIM);
  shared.picking.value = true;
  const map = maps[side];
  map.scene.children.filter((c) => !c.userData.tile).forEach((c) => { c.userData.was = c.visible; c.visible = false; });
  renderer.setRenderTarget(spot);
  renderer.setClearAlpha(0);
  renderer.clear();
  renderer.render(map.scene, camera);
  const found = new Float32Array(4 * AIM * AIM);
  renderer.readRenderTargetPixels(spot, 0, 0, AIM, AIM, found);
  renderer.setRenderTarget(null);
  renderer.setClearAlpha(1);
  camera.clearViewOffset();
  shared.picking.value = false;
  map.scene.children.filter((c) => "was" in c.userData).forEach((c) => { c.visible = c.userData.was; delete c.userData.was; });
  let best = null, nearest = Infinity;
  for (let i = 0; i < AIM * AIM; i++) {
    const away = Math.hypot((i % AIM) - (AIM - 1) / 2, Math.floor(i / AIM) - (AIM - 1) / 2);
    if (found[4 * i + 3] > 0.5 && away < nearest) { nearest = away; best = [...found.slice(4 * i, 4 * i + 3)]; }
  }
  return best;
}
