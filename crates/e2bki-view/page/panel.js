// The belief of a place, and small things of the page. Text goes in as text, never as markup.

export const $ = (id) => document.getElementById(id);

export function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  Object.assign(made, attributes);
  return made;
}

/// A colour that is seen on the dark ground: dark ones are mixed with white.
export function visible(color) {
  const light = (0.3 * color[0] + 0.59 * color[1] + 0.11 * color[2]) / 255, white = Math.max(0, (0.34 - light) / (1 - light));
  return color.map((v) => Math.round(v + (255 - v) * white));
}

export const css = ([r, g, b]) => `rgb(${r},${g},${b})`;
const grouped = new Intl.NumberFormat("en");
export const number = (n) => grouped.format(n);
/// A time in seconds: since 1970 if that is after 2001, of a drive otherwise.
export const moment = (seconds) => (seconds > 1e9 ? new Date(1000 * seconds).toISOString().replace("T", " ").replace(/\..*/, "") : `${number(Math.floor(seconds))} s`);
const digits = (v, n = 4) => (v === null || v === undefined ? "–" : v.toFixed(n));

function bar(name, share, color) {
  const row = element("div", undefined, { className: "bar" });
  const track = element("span", undefined, { className: "track" });
  const fill = element("i");
  fill.style.width = `${(100 * share).toFixed(2)}%`;
  fill.style.background = color;
  track.append(fill);
  row.append(element("span", name, { title: name }), track, element("span", (100 * share).toFixed(1) + " %"));
  return row;
}

function belief(about, said, named) {
  const box = element("div");
  if (named) box.append(element("p", about.name, { className: "map" }));
  const color = said.observed ? css(about.classes[said.label].color) : "#444";
  const heading = element("h2");
  const swatch = element("span", undefined, { className: "swatch" });
  swatch.style.background = color;
  heading.append(swatch, element("span", said.observed ? said.class : "unobserved", { className: "class" }));
  box.append(heading, element("p", "at " + said.at.map((v) => v.toFixed(3)).join(", ") + " m"));
  const facts = element("dl");
  const fact = (name, value, key) => { const dd = element("dd", value); dd.dataset.key = key; facts.append(element("dt", name), dd); };
  fact("confidence", digits(said.observed ? said.confidence : null), "confidence");
  fact("u_sem (network unsure)", digits(said.observed ? said.u_sem : null), "u_sem");
  fact("u_spa (little seen)", digits(said.observed ? said.u_spa : null), "u_spa");
  fact("u", digits(said.u), "u");
  fact("variance", digits(said.observed ? said.variance : null), "variance");
  fact("evidence Σk", digits(said.evidence, 3), "evidence");
  fact("strength S", digits(said.strength, 3), "strength");
  const free = said.free_space;
  if (free) {
    fact("state", free.state, "state");
    fact("existence", digits(free.existence, 3), "existence");
    fact("frames that hit, saw through", `${number(free.hits)}, ${number(free.passes)}`, "counts");
    if (free.last_seen !== null) fact("seen first, last", `${moment(free.first_seen)}, ${moment(free.last_seen)}`, "seen");
  }
  box.append(facts);
  if (said.observed) {
    const all = said.alpha.map((alpha, i) => [alpha / said.strength, i]).sort((a, b) => b[0] - a[0]);
    for (const [share, i] of all.slice(0, 8)) if (share >= 0.001) box.append(bar(about.classes[i].name, share, css(about.classes[i].color)));
  }
  // Methods without primitives have only voxels to tell of.
  if (said.involved !== undefined) box.append(element("p", said.involved ? `${said.involved} primitive${said.involved > 1 ? "s" : ""} reach${said.involved > 1 ? "" : "es"} here:` : "no primitive reaches here"));
  if (said.involved) {
    const table = element("table"), head = element("tr");
    for (const name of ["class", "k", "points", "u", "range m"]) head.append(element("th", name));
    table.append(head);
    for (const p of said.primitives) {
      const row = element("tr");
      for (const cell of [p.class, p.kernel.toFixed(3), number(p.points), p.u.toFixed(3), p.range.toFixed(1)]) row.append(element("td", cell));
      table.append(row);
    }
    box.append(table);
  }
  return box;
}

/// Shows the beliefs of every map at a place.
export function showBeliefs(maps, beliefs) {
  const boxes = beliefs.map((said, i) => said && belief(maps[i].about, said, maps.length > 1)).filter(Boolean);
  $("answers").replaceChildren(...boxes);
  $("belief").classList.toggle("wide", boxes.length > 1);
  $("belief").hidden = boxes.length === 0;
}
