// A city by level of detail: which tiles are wanted from where one looks, and which are drawn until those are here. A tile of a level
// is the sum of the four below it, so that what is far away costs no more than what is near.
import { TILE } from "/order.js";

const WIDE = 700;      // pixels beyond which a tile is seen as the four below it
const FAR = 6000;      // metres beyond which nothing is drawn
const KEPT = 1.5e6;    // things of a layer that stay though nobody looks at them: the way back is short

/// The name of a tile, as it is kept under.
export const key = ({ level = 0, x, y }) => (level ? `${level}:${x},${y}` : `${x},${y}`);

export class Levels {
  /// `known` tiles by their names; `top` is the coarsest level.
  constructor(known, top) {
    Object.assign(this, { known, wanted: [], cut: new Set(), round: 0 });
    this.roots = [...known.values()].filter((t) => t.level === top);
  }

  below({ level, x, y }) {
    const four = [[0, 0], [0, 1], [1, 0], [1, 1]].map(([i, j]) => this.known.get(key({ level: level - 1, x: 2 * x + i, y: 2 * y + j })));
    return level ? four.filter(Boolean) : [];
  }

  /// Chooses what is wanted: coarse before fine, near before far. The eye is in the world's coordinates.
  look({ eye, target, top, pixels, half }) {
    const visited = [], outside = (low, high, at, by = 0) => Math.max(low - at - by, 0, at - by - high);
    this.cut.clear();
    const visit = (tile) => {
      const side = TILE * 2 ** tile.level, [x, y] = [tile.x * side, tile.y * side];
      const from = top ? target : eye, by = top ? half : [0, 0];
      const away = Math.hypot(outside(x, x + side, from[0], by[0]), outside(y, y + side, from[1], by[1]), top ? 0 : outside(tile.low, tile.high, eye[2]));
      if (away > FAR) return;
      visited.push([tile, away]);
      const wide = top ? (away > 0 ? 0 : side * pixels) : (side * pixels) / Math.max(away, 0.1);
      if (tile.level > 0 && wide > WIDE) this.below(tile).forEach(visit);
      else this.cut.add(key(tile));
    };
    this.roots.forEach(visit);
    visited.sort(([a, near], [b, far]) => b.level - a.level || near - far);
    this.wanted = visited.map(([tile]) => tile);
    this.round++;
  }

  /// The loaded tiles that are drawn: those that are wanted, and where they are not here yet a coarser one, or finer ones.
  drawn(loaded) {
    for (const tile of this.wanted) { const here = loaded.get(key(tile)); if (here) here.round = this.round; }
    const together = (parts) => (parts.length && parts.every(Boolean) ? parts.flat() : null);
    const finer = (tile) => { const here = loaded.get(key(tile)); return here ? [here] : together(this.below(tile).map(finer)); };
    const cover = (tile) => {
      if (this.cut.has(key(tile))) return finer(tile);
      const parts = this.below(tile).map(cover), here = loaded.get(key(tile));
      return together(parts) ?? (here ? [here] : parts.filter(Boolean).flat());
    };
    const seen = this.roots.filter((tile) => this.cut.has(key(tile)) || loaded.has(key(tile)) || this.below(tile).some((t) => loaded.has(key(t))));
    return seen.flatMap((tile) => cover(tile) ?? []);
  }

  /// Names of loaded tiles that can go: those longest out of sight, of what is too much.
  spare(loaded) {
    let all = 0;
    for (const tile of loaded.values()) all += tile.count;
    if (all <= KEPT) return [];
    const old = [...loaded].filter(([, tile]) => (tile.round ?? 0) < this.round).sort(([, a], [, b]) => (a.round ?? 0) - (b.round ?? 0));
    return old.filter(([, tile]) => { const goes = all > KEPT; all -= goes ? tile.count : 0; return goes; }).map(([name]) => name);
  }
}
