// The first picture, made without the graphics card, which takes its time to be ready: everything that was loaded, as dots in the
// colours of their classes, where they will be.
import { Matrix4 } from "/three.js";

/// Draws maps side by side as a camera sees them; `pixels` per metre at distance 1.
export function sketch(canvas, maps, camera, what, pixels) {
  const { clientWidth: width, clientHeight: height } = canvas, part = Math.floor(width / maps.length);
  Object.assign(canvas, { width, height });
  const pen = canvas.getContext("2d", { alpha: false, willReadFrequently: true }), picture = pen.createImageData(width, height);
  const sheet = { colors: new Uint32Array(picture.data.buffer).fill(0xff1d1916), depth: new Float32Array(width * height), width, height };
  camera.updateMatrixWorld();
  const seen = new Matrix4().multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse);
  maps.forEach((map, i) => {
    for (const tile of map.drawn(map.layer(what))) dots(sheet, map, tile, seen, i * part, part, pixels);
  });
  pen.putImageData(picture, 0, 0);
}

/// Puts the dots of a tile on a part of the sheet, the nearer before the farther.
function dots({ colors, depth, width, height }, map, tile, seen, left, part, pixels) {
  const [ox, oy, oz] = tile.origin.map((v, i) => v - map.origin[i]);
  const [a, b, , c, d, e, , f, g, h, , k, l, m, , n] = seen.elements;
  const ink = map.about.classes.map(({ color: [r, g, b] }) => (255 << 24) | ((0.8 * b) << 16) | ((0.8 * g) << 8) | (0.8 * r));
  for (let i = 0; i < tile.count; i++) {
    if (tile.kind[2 * i] > 32767) continue;   // no longer there
    const x = tile.place[3 * i] + ox, y = tile.place[3 * i + 1] + oy, z = tile.place[3 * i + 2] + oz;
    const far = c * x + f * y + k * z + n;
    if (far < 0.1) continue;
    const wide = tile.size ? tile.size[3 * i + 1] + tile.size[3 * i + 2] : map.about.resolution * 2 ** tile.level;
    const half = Math.min(16, Math.max(0.75, (0.4 * wide * pixels) / far)), nearness = 1 / far;
    const u = left + (0.5 + (0.5 * (a * x + d * y + g * z + l)) / far) * part, v = (0.5 - (0.5 * (b * x + e * y + h * z + m)) / far) * height;
    const right = Math.min(left + part, Math.round(u + half)), bottom = Math.min(height, Math.round(v + half));
    for (let q = Math.max(0, Math.round(v - half)); q < bottom; q++) {
      for (let p = Math.max(left, Math.round(u - half)), at = q * width + p; p < right; p++, at++) {
        if (depth[at] < nearness) { depth[at] = nearness; colors[at] = ink[tile.kind[2 * i]]; }
      }
    }
  }
}
