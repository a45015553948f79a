// The viewer: what the program sends is drawn, what the user does decides what is asked for.
import { Color, GridHelper, Mesh, SphereGeometry, Vector2, Vector3, WebGLRenderer } from "/three.js";
import { connect } from "/connection.js";
import { graphics } from "/context.js";
import { sketch } from "/sketch.js";
import { Cameras } from "/camera.js";
import { $, css, element, moment, number, showBeliefs } from "/panel.js";
import { pick as pickFrom } from "/pick.js";
import { counted, quantiles } from "/count.js";
import { MapView, decode } from "/tiles.js";
import { UNDER_WAY, middle, start } from "/order.js";
import { plain } from "/shaders.js";
import { Pace } from "/pace.js";

let renderer = null, pace = null;   // not before the first picture, which needs neither
const cameras = new Cameras($("stage"));
// ms until the first picture, and between pictures, where a map takes that long to come in: drawing takes the time that loading needs.
const FIRST = 1200, LOADING = 700;
const shared = {
  mode: { value: 0 }, range: { value: [0, 1] }, threshold: { value: 1 }, time: { value: 1 }, gone: { value: false }, pixels: { value: 1 }, flat_view: { value: false }, picking: { value: false },
};
let markers = [];
const state = { show: null, maps: [], what: "primitives", hidden: new Set(), dirty: true, budget: 2e6, fixed: false, complete: null, times: { script: performance.now() }, playing: null, playMs: 12_000, live: false };
const pick = (x, y) => (renderer && state.maps.length ? pickFrom({ renderer, cameras, shared, maps: state.maps }, x, y) : null);
let beliefs = [], asking = 0;

/// When something was there for the first time, ms since the page was asked for.
function once(name) { state.times[name] ??= performance.now(); }

// --- what the program says -------------------------------------------------------------------------------------------
const line = connect({
  state(open) {
    $("state").textContent = open ? "" : "connection lost; trying again …";
    $("state").classList.toggle("lost", !open);
  },
  text(message) {
    if (message.kind === "hello") hello(message);
    else if (message.kind === "changed") changes(state.maps[message.map], message);
    else if (message.kind === "missing") { state.maps[message.map].missing(message.tile, message.what, message.level); state.recount = true; }
    else if (message.kind === "live") live(message);
    else if (message.kind === "answer") answer(message);
    else if (message.kind === "error") $("state").textContent = message.what;
    state.dirty = true;
  },
  bytes(buffer) {
    const tile = decode(buffer);
    once("tile");
    state.maps[tile.map].take(tile);
    state.came = true;
    want();
    // A browser that has just begun is slow to ask for pictures.
    if (!renderer && here()) first();
  },
});

function changes(map, { tiles = [], points = [] }) {
  tiles.forEach((entry) => map.changed(entry));
  points.forEach((entry) => map.changed(entry, "points"));
  relisted();
}

/// After the tiles of a map became others: they are counted again, and points can be chosen where there are any.
function relisted() {
  state.recount = true;
  $("what").querySelector('[data-value="points"]').disabled = state.maps.every((map) => !map.scanned.size);
  $("what").querySelector('[data-value="costs"]').disabled = state.maps.every((map) => !map.about.robot);
}

function hello(message) {
  once("hello");
  state.live = message.live;
  if (message.show === state.show) message.maps.forEach((about, i) => state.maps[i].describe(about));
  else begin(message);
  relisted();
  $("state").textContent = message.done ? "complete" : message.live ? "live" : `${message.maps[0].frames} frames`;
}

/// Another program than before, or the first: of what was shown nothing stays, even where the map has the same name.
function begin(message) {
  const names = (maps) => maps.map((about) => about.name).join();
  const origin = middle(message.maps).map((v) => Math.round(v)), before = state.maps[0]?.origin;
  const sameView = before && before.join() === origin.join() && names(state.maps.map((map) => map.about)) === names(message.maps);
  state.maps.forEach((map) => map.dispose());
  Object.assign(state, { show: message.show, complete: null, maps: message.maps.map((about, i) => new MapView(i, about, origin, shared)) });
  markers = state.maps.map((map) => {
    const marker = new Mesh(new SphereGeometry(1, 16, 12), Object.assign(plain(0xffffff, 0.85), { depthTest: false }));
    marker.visible = false;
    marker.renderOrder = 1;
    map.scene.add(marker, grid());
    return marker;
  });
  $("belief").hidden = true;
  document.body.classList.toggle("beside", state.maps.length > 1);
  $("names").replaceChildren(...state.maps.map((map, i) => {
    const name = element("span", map.about.name);
    name.style.left = state.maps.length > 1 ? `calc(${(100 * i) / state.maps.length}% + 12px)` : "280px";
    return name;
  }));
  if (!sameView) home();
  legend();
  want();
  pace?.begin(things());
}

function grid() {
  const lines = new GridHelper(640, 20);
  lines.material = plain(0x262c33);
  lines.rotation.x = Math.PI / 2;
  const low = state.maps.flatMap((map) => map.about.tiles).reduce((least, t) => Math.min(least, t[4]), Infinity);
  lines.position.z = low < Infinity ? low - state.maps[0].origin[2] - 0.5 : -3;
  return lines;
}

function home() {
  const { center, reach } = start(state.maps);
  cameras.home(new Vector3(...center), reach);
  state.dirty = true;
}

function live(message) {
  const map = state.maps[0];
  if (message.at) {
    if (map.trajectory.length < 2) { cameras.home(new Vector3(...message.at.map((v, i) => v - map.origin[i])), 60); }
    map.moved(message.at);
  }
  $("state").textContent = message.done ? "complete" : "live";
  $("live").textContent = `frame ${message.frames} · ${number(message.primitives)} primitives · ${message.waiting} tiles waiting · ${message.dropped} dropped`;
}

function answer(message) {
  if (message.id !== asking) return;
  beliefs[message.map] = message.belief;
  state.answered = message.belief.at;
  showBeliefs(state.maps, beliefs);
}

const NAMES = { primitives: "ellipsoids", voxels: "voxels", points: "points", costs: "cells" };

// --- legend, colours, counts ------------------------------------------------------------------------------------------
function classNames() { return [...new Map(state.maps.flatMap((map) => map.about.classes).map((c) => [c.name, c.color]))]; }

function legend() {
  $("legend").replaceChildren(...classNames().map(([name, color]) => {
    const row = element("li", undefined, { tabIndex: 0, role: "switch" });
    const chip = element("i");
    chip.style.background = css(color);
    row.dataset.name = name;
    row.append(chip, element("span", name), element("span", "0"));
    const flip = () => { state.hidden.has(name) ? state.hidden.delete(name) : state.hidden.add(name); paint(); };
    row.onclick = flip;
    row.onkeydown = (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); flip(); } };
    return row;
  }));
  paint();
}

/// Writes colours and visibility of the classes to the graphics card.
function paint() {
  for (const map of state.maps) {
    map.about.classes.forEach((c, i) => map.palette.set([...c.color.map((v) => v / 255), state.hidden.has(c.name) ? 0 : 1], 4 * i));
    map.texture.needsUpdate = true;
  }
  for (const row of $("legend").children) {
    const off = state.hidden.has(row.dataset.name);
    row.classList.toggle("off", off);
    row.setAttribute("aria-checked", String(!off));
  }
  state.recount = true;
  state.dirty = true;
}

const short = (v) => String(Number(v.toPrecision(2)));

/// Counts what is loaded and what of it is shown; sets the range of the colours.
function count() {
  const totals = new Map(), samples = [], mode = shared.mode.value;
  const stamp = JSON.stringify([mode, shared.threshold.value, shared.time.value, shared.gone.value, ...state.hidden]);
  let shown = 0, all = 0;
  for (const map of state.maps) {
    const names = map.about.classes.map((c) => c.name), visible = names.map((name) => !state.hidden.has(name));
    for (const tile of map.drawn(map.layer(state.what))) {
      const of = counted(tile, visible, shared, stamp);
      shown += of.shown;
      all += tile.count;
      samples.push(of.sample);
      names.forEach((name, i) => totals.set(name, (totals.get(name) ?? 0) + of.sums[i]));
    }
  }
  for (const row of $("legend").children) {
    const total = totals.get(row.dataset.name) ?? 0;
    row.lastChild.textContent = number(total);
    row.classList.toggle("empty", total === 0);
  }
  const sum = (of) => state.maps.reduce((n, map) => n + of(map, map.layer(state.what)), 0);
  const done = here();
  const tiles = sum((map, what) => map.listed(what).length), have = sum((map, what) => Math.min(map.loaded[what].size, map.listed(what).length));
  const layers = new Set(state.maps.map((map) => NAMES[map.layer(state.what)])), name = [...layers].join(" and ");
  $("counts").textContent = `${number(shown)} of ${number(all)} ${name} shown` + (done ? "" : ` · tile ${have} of ${tiles}`);
  Object.assign(state, { shown, all });
  state.complete = done ? state.complete ?? performance.now() : null;
  const at = quantiles(samples), cost = state.what === "costs" && mode === 4;
  shared.range.value = mode === 5 || cost ? [0, 1] : [at(0.02), Math.max(at(0.98), at(0.02) + 1e-4)];
  $("ramp").hidden = mode === 0;
  $("ramp").classList.toggle("cost", cost);
  const [low, high] = shared.range.value.map((v) => v * (mode === 4 ? 0.25 : 1));
  const ends = cost ? ["free", "", "no"] : mode === 5 ? ["first", "", "last"] : ["≤ " + short(low), short(low + 0.25 * (high - low)), "≥ " + short(high)];
  ["low", "middle", "high"].forEach((end, i) => ($(`ramp-${end}`).textContent = ends[i]));
}

// --- what the user does -----------------------------------------------------------------------------------------------
const changed = () => { state.recount = true; state.dirty = true; };
$("gone").onchange = (event) => { shared.gone.value = event.target.checked; changed(); };
function setMode(mode) { shared.mode.value = mode; $("mode").value = String(mode); }
$("mode").onchange = (event) => { shared.mode.value = Number(event.target.value); changed(); };
$("threshold").oninput = (event) => { shared.threshold.value = Number(event.target.value); $("threshold-value").textContent = "u ≤ " + shared.threshold.value.toFixed(2); changed(); };
$("time").oninput = (event) => {
  shared.time.value = Number(event.target.value);
  state.maps.forEach((map) => map.until(shared.time.value));
  const span = state.maps[0]?.about.span, share = shared.time.value;
  $("time-value").textContent = share >= 1 ? "all" : span ? `until ${moment(span[0] + share * (span[1] - span[0]))}` : `first ${(100 * share).toFixed(0)} %`;
  changed();
};
/// Runs through the timeline; a second press stops.
$("play").onclick = () => {
  if (state.playing) { state.playing = null; return; }
  const from = shared.time.value >= 1 ? 0 : shared.time.value;
  const run = state.playing = { from, begun: performance.now() };
  const step = (now) => {
    if (state.playing !== run) { $("play").textContent = "▶"; return; }
    $("time").value = Math.min(1, run.from + (now - run.begun) / state.playMs);
    $("time").dispatchEvent(new Event("input"));
    if (shared.time.value >= 1) state.playing = null;
    requestAnimationFrame(step);
  };
  $("play").textContent = "■";
  requestAnimationFrame(step);
};
$("all").onclick = () => { state.hidden.clear(); paint(); };
$("none").onclick = () => { classNames().forEach(([name]) => state.hidden.add(name)); paint(); };
$("home").onclick = home;
$("close").onclick = () => { $("belief").hidden = true; markers.forEach((m) => (m.visible = false)); state.dirty = true; };
$("shot").onclick = () => {
  draw();
  renderer.domElement.toBlob((blob) => {
    const link = element("a", undefined, { href: URL.createObjectURL(blob), download: "e2bki.png" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
};
function choose(group, act) {
  $(group).onclick = ({ target }) => {
    if (!target.dataset.value) return;
    for (const button of $(group).querySelectorAll("[data-value]")) button.classList.toggle("on", button === target);
    act(target.dataset.value);
    changed();
  };
}
choose("what", (value) => {
  // Costs are looked at by their cost, and the others by what they were before.
  const costs = value === "costs", before = state.what === "costs";
  if (costs && !before) { state.usual = shared.mode.value; setMode(4); }
  if (!costs && before) setMode(state.usual ?? 0);
  $("fourth").textContent = costs ? "cost, with the robot's width" : "variance";
  Object.assign(state, { what: value, complete: null });
});
choose("camera", (value) => cameras.show(value === "top"));
for (const controls of Object.values(cameras.controls)) controls.addEventListener("change", () => (state.dirty = true));
addEventListener("resize", () => (state.dirty = true));

let pressed = null;
$("stage").addEventListener("pointerdown", (event) => (pressed = [event.clientX, event.clientY]));
$("stage").addEventListener("pointerup", (event) => {
  if (event.button === 0 && pressed && Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) < 4) click(event.clientX, event.clientY);
});

/// Asks every map for its belief at what was clicked.
function click(x, y) {
  const place = pick(x, y);
  state.dirty = true;
  if (!place) return;
  ask(place.map((v, i) => v + state.maps[0].origin[i]));
}

function ask(at) {
  asking += 1;
  beliefs = [];
  state.maps.forEach((map, i) => {
    markers[i].position.set(...at.map((v, k) => v - map.origin[k]));
    markers[i].visible = true;
    line.send({ kind: "query", id: asking, map: i, at });
  });
  state.dirty = true;
}

/// Asks for what is missing, shared between the maps.
function want() {
  const most = Math.floor(UNDER_WAY / state.maps.length);
  look();
  for (const map of state.maps) map.want(map.layer(state.what), cameras.target, most, line.send);
}

/// Tells maps with levels of detail where one looks from.
function look() {
  const { clientWidth: width, clientHeight: height } = $("stage"), pixels = cameras.pixels(height), half = [width, height].map((v) => v / pixels / 2);
  const lens = { eye: cameras.active.position.toArray(), target: cameras.target.toArray(), top: cameras.top, pixels, half };
  for (const map of state.maps) map.look(map.layer(state.what), lens);
}

/// How many things the maps hold that are to be seen.
const things = () => state.maps.flatMap((map) => map.listed(map.layer(state.what))).reduce((sum, tile) => sum + tile.count, 0);

// --- drawing ----------------------------------------------------------------------------------------------------------
function draw(budget = state.budget) {
  const { clientWidth: width, clientHeight: height } = $("stage"), size = renderer.getSize(new Vector2());
  if (size.x !== width || size.y !== height) renderer.setSize(width, height, false);
  const count = Math.max(1, state.maps.length), part = width / count;
  cameras.resize(part, height);
  shared.flat_view.value = cameras.top;
  shared.pixels.value = cameras.pixels(height) * renderer.getPixelRatio();
  const eye = cameras.active.position;
  state.used = 0;
  look();
  state.maps.forEach((map, i) => {
    if (map.levels) state.recount = true;   // what is drawn depends on where one looks from
    state.used += map.detail(map.layer(state.what), eye, cameras.top, budget / count);
    // The mark of the place that was asked about is the same size at any distance.
    const near = cameras.top ? 1 : markers[i].position.distanceTo(eye);
    markers[i].scale.setScalar((7 * near) / cameras.pixels(height));
    renderer.setViewport(i * part, 0, part, height);
    renderer.setScissor(i * part, 0, part - (i < count - 1 ? 2 : 0), height);
    renderer.render(map.scene, cameras.active);
  });
  scaleBar(height);
  return state.used;
}

function scaleBar(height) {
  const pixels = cameras.scale(height);
  let length = 0.01;
  for (const step of [2, 2.5, 2, 2, 2.5, 2, 2, 2.5, 2, 2, 2.5, 2, 2, 2.5, 2, 2, 2.5, 2]) { if (length * pixels > 90) break; length *= step; }
  $("scale").style.width = `${length * pixels}px`;
  $("scale").firstChild.textContent = `${Number(length.toPrecision(2))} m` + (cameras.top ? "" : " at the centre");
}

/// Everything that is asked for has come.
const here = () => state.maps.every((map) => map.complete(map.layer(state.what)));

/// The first picture is worth waiting for, but not for ever.
const waits = (now) => !state.times.hello || !(here() || now - state.times.hello > FIRST);

function turn(now) {
  requestAnimationFrame(turn);
  want();
  if (state.came && (here() || now - Math.max(pace?.before ?? 0, state.times.hello) > LOADING)) {
    state.came = false;
    changed();
  }
  if (!renderer) { if (!waits(now)) first(); return; }
  if (state.recount) { state.recount = false; count(); }
  if (!state.dirty) { pace.rest(now); return; }
  state.dirty = false;
  pace.picture(now, () => {
    $("sketch").hidden = true;
    if (state.complete !== null) once("drawn");
  });
}

/// The first picture; while it is looked at, the graphics card is made ready for the next.
function first() {
  if (state.times.sketch) return;
  count();
  const { clientWidth: width, clientHeight: height } = $("stage");
  cameras.resize(width / state.maps.length, height);
  sketch($("sketch"), state.maps, cameras.active, state.what, cameras.pixels(height));
  scaleBar(height);
  once("sketch");
  if (here()) once("whole");
  requestAnimationFrame(() => setTimeout(() => {
    try { beginDrawing(); } catch (error) { $("state").textContent = error.message; throw error; }
  }));
}

function beginDrawing() {
  const { canvas, context } = graphics();
  once("context");
  renderer = new WebGLRenderer({ canvas, context });
  renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
  renderer.setClearColor(new Color(0x16191d));
  renderer.setScissorTest(true);
  pace = new Pace(state, context, draw);
  pace.begin(things());
  state.dirty = true;
}
requestAnimationFrame(turn);

/// Whether everything that is asked for is here, counted and drawn.
const ready = () => state.maps.length > 0 && $("sketch").hidden && here() && !state.dirty && !state.recount && !state.came;

// For tests and for the curious.
window.viewer = { ready, state, cameras, shared, ask, pick, draw, get renderer() { return renderer; }, maps: () => state.maps };
