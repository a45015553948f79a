// In which order the tiles of a map are asked for.

/// Side of a tile, metres.
export const TILE = 32;
/// Requests at a time, of all maps together; the program takes 64.
export const UNDER_WAY = 48;

/// The middle of the primitives, by tile.
export function middle(maps) {
  const sum = [0, 0, 0, 0];
  for (const [x, y, , count, low, high] of maps.flatMap((about) => about.tiles)) {
    [(x + 0.5) * TILE, (y + 0.5) * TILE, (low + high) / 2, 1].forEach((v, i) => (sum[i] += v * count));
  }
  return sum[3] ? sum.slice(0, 3).map((v) => v / sum[3]) : maps[0].trajectory[0] ?? [0, 0, 0];
}

/// Tiles sorted by the distance of their middle from a place, metres.
export function nearest(tiles, x, y) {
  const far = (t) => Math.hypot((t.x + 0.5) * TILE - x, (t.y + 0.5) * TILE - y);
  return tiles.map((t) => [far(t), t]).sort((a, b) => a[0] - b[0]).map(([, t]) => t);
}
