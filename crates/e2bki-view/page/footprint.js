// The robot at the end of the sensor's way, as wide and as long as it is, on the ground.
import { BufferAttribute, BufferGeometry, Line } from "/three.js";
import { TILE } from "/order.js";
import { plain } from "/shaders.js";

/// Height of the cell nearest to a place, of the tile that holds it: a sensor does not see the ground below itself. Nothing if all are farther away than that.
const NEAR = 8;
function ground(map, [x, y]) {
  const tile = map.loaded.costs.get(`${Math.floor(x / TILE)},${Math.floor(y / TILE)}`);
  let best = NEAR, height = null;
  for (let i = 0; tile && i < tile.count; i++) {
    const away = Math.hypot(tile.place[3 * i] + tile.origin[0] - x, tile.place[3 * i + 1] + tile.origin[1] - y);
    if (away < best) { best = away; height = tile.place[3 * i + 2] + tile.origin[2]; }
  }
  return height;
}

export class Footprint {
  constructor(robot) {
    this.robot = robot;
    this.known = false;
    this.lines = new Line(new BufferGeometry(), Object.assign(plain(0xffffff), { depthTest: false }));
    this.lines.visible = this.lines.frustumCulled = false;
    this.lines.renderOrder = 1;
  }

  /// Puts it where the sensor of a map was last, in the direction it came from.
  place(map) {
    const way = map.trajectory, end = way[way.length - 1];
    const height = this.robot && end ? ground(map, end) : null;
    this.known = height !== null;
    if (!this.known) return;
    const from = way.findLast((p) => Math.hypot(end[0] - p[0], end[1] - p[1]) > 0.2) ?? [end[0] - 1, end[1]];
    const heading = Math.atan2(end[1] - from[1], end[0] - from[0]), c = Math.cos(heading), s = Math.sin(heading);
    const corners = [[1, 1], [-1, 1], [-1, -1], [1, -1], [1, 1]].flatMap(([a, b]) => {
      const along = (a * this.robot.length) / 2, across = (b * this.robot.width) / 2;
      return [end[0] + c * along - s * across, end[1] + s * along + c * across, height + 0.1].map((v, i) => v - map.origin[i]);
    });
    this.lines.geometry.dispose();
    this.lines.geometry = new BufferGeometry().setAttribute("position", new BufferAttribute(new Float32Array(corners), 3));
  }

  dispose() { this.lines.geometry.dispose(); }
}
