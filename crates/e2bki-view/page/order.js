// In which order the tiles of a map are asked for, and where one looks first.

/// Side of a tile, metres.
export const TILE = 32;
/// Requests at a time, of all maps together; the program takes 64.
export const UNDER_WAY = 48;

/// The middle of the primitives, by tile.
export function middle(maps) {
  const sum = [0, 0, 0, 0];
  for (const [x, y, , count, low, high, level] of maps.flatMap((about) => about.tiles)) {
    if (level) continue;   // coarser ones have the same again
    [(x + 0.5) * TILE, (y + 0.5) * TILE, (low + high) / 2, 1].forEach((v, i) => (sum[i] += v * count));
  }
  return sum[3] ? sum.slice(0, 3).map((v) => v / sum[3]) : maps[0].trajectory[0] ?? [0, 0, 0];
}

/// Tiles sorted by the distance of their middle from a place, metres.
export function nearest(tiles, x, y) {
  const far = (t) => Math.hypot((t.x + 0.5) * TILE - x, (t.y + 0.5) * TILE - y);
  return tiles.map((t) => [far(t), t]).sort((a, b) => a[0] - b[0]).map(([, t]) => t);
}

/// Where to look first, in the coordinates of the scene, and how much of it: at the way of the sensor, else at the nearest tile to the middle that has much in it.
export function start(maps) {
  const [{ origin, trajectory: way }] = maps, tiles = maps.flatMap((map) => [...map.known.values()]).filter((t) => t.count && !t.level);
  const from = (place) => place.map((v, i) => v - origin[i]);
  if (!tiles.length) return { center: way.length ? from(way[Math.floor(way.length / 2)]) : [0, 0, 0], reach: 60 };
  // Not by spreading: a city has more tiles than a function takes arguments.
  const most = (of, get) => of.reduce((most, t) => Math.max(most, get(t)), -Infinity);
  const heavy = most(tiles, (t) => t.count) / 4, many = tiles.filter((t) => t.count >= heavy);
  const [best] = nearest(many, origin[0], origin[1]);
  const wide = (get) => (most(many, get) + most(many, (t) => -get(t)) + 1) * TILE;
  const reach = Math.min(70, Math.max(25, 0.9 * Math.max(wide((t) => t.x), wide((t) => t.y))));
  const place = way.length ? way[Math.floor(way.length / 2)] : [(best.x + 0.5) * TILE, (best.y + 0.5) * TILE, best.low + 1.5];
  return { center: from(place), reach };
}
