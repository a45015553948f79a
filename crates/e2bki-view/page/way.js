// A planned way, as a ribbon just above the ground in the colour of its risk.
import { BufferAttribute, BufferGeometry, Mesh } from "/three.js";
import { risky } from "/shaders.js";

const HALF = 0.1, ABOVE = 0.15;   // metres

/// The ribbon through steps of x, y, z and risk, about an origin.
export function ribbon(steps, origin) {
  const place = [], risk = [], index = [];
  steps.forEach((step, i) => {
    const before = steps[Math.max(0, i - 1)], after = steps[Math.min(steps.length - 1, i + 1)];
    const along = [after[0] - before[0], after[1] - before[1]], length = Math.hypot(...along) || 1;
    for (const side of [-1, 1]) {
      place.push(step[0] - origin[0] - (side * HALF * along[1]) / length, step[1] - origin[1] + (side * HALF * along[0]) / length, step[2] - origin[2] + ABOVE);
      risk.push(step[3]);
    }
    if (i) index.push(2 * i - 2, 2 * i - 1, 2 * i, 2 * i, 2 * i - 1, 2 * i + 1);
  });
  const geometry = new BufferGeometry().setAttribute("position", new BufferAttribute(new Float32Array(place), 3)).setIndex(index);
  const made = new Mesh(geometry.setAttribute("risk", new BufferAttribute(new Float32Array(risk), 1)), risky());
  return Object.assign(made, { frustumCulled: false, renderOrder: 1, visible: steps.length > 1 });
}
