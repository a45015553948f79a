// How much is loaded and shown, tile by tile.

/// What one tile holds and what of it is shown, by the same rules as the shader, with a sample of the values that are coloured.
/// Done again only when what is shown changes, so that a map that comes in a hundred tiles is not counted a hundred times.
export function counted(tile, visible, shared, stamp) {
  if (tile.counted?.stamp === stamp) return tile.counted;
  const mode = shared.mode.value, colored = mode > 0 && mode < 5;
  const limit = Math.fround(shared.threshold.value), time = Math.fround(shared.time.value);
  const sums = new Uint32Array(visible.length), sample = new Float32Array(colored ? Math.ceil(tile.count / 7) : 0);
  let shown = 0;
  for (let i = 0; i < tile.count; i++) {
    const label = tile.kind[2 * i] & 32767, left = tile.kind[2 * i] > 32767;
    sums[label]++;
    const passes = left ? shared.gone.value : Math.fround(tile.value[4 * i + 2] / 65535) <= limit;
    if (visible[label] && passes && Math.fround(tile.kind[2 * i + 1] / 65535) <= time) shown++;
    if (colored && i % 7 === 0) sample[i / 7] = tile.value[4 * i + mode - 1] / 65535;
  }
  return (tile.counted = { stamp, sums, shown, sample });
}

/// Of values in parts, a function from shares to the value below which that share of them lies.
export function quantiles(parts) {
  const all = new Float32Array(parts.reduce((n, part) => n + part.length, 0));
  parts.reduce((at, part) => { all.set(part, at); return at + part.length; }, 0);
  all.sort();
  return (share) => all[Math.min(all.length - 1, Math.floor(share * all.length))] ?? 0;
}
