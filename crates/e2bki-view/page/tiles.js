// Tiles of a map: asked for nearest first, drawn as bodies near by and as points far away.
import { BoxGeometry, DataTexture, FloatType, IcosahedronGeometry, InstancedBufferAttribute, InstancedBufferGeometry, Line, BufferAttribute, BufferGeometry, Mesh, NearestFilter, Points, RGBAFormat, Scene, Sphere, Vector2, Vector3 } from "/three.js";
import { materials, plain } from "/shaders.js";
import { Footprint } from "/footprint.js";
import { Levels, key } from "/levels.js";
import { nearest } from "/order.js";
import { ribbon } from "/way.js";
import { visible } from "/panel.js";

const LAYERS = ["primitives", "voxels", "points", "costs"];
const SHAPES = { fine: welded(new IcosahedronGeometry(1, 1)), plain: welded(new IcosahedronGeometry(1, 0)), box: new BoxGeometry(1, 1, 1), sheet: sheet() };
// How far each shape is drawn, metres.
const REACH = { primitives: [["fine", 40], ["plain", 160], ["point", Infinity]], voxels: [["box", 150], ["point", Infinity]], points: [["point", Infinity]], costs: [["sheet", 150], ["point", Infinity]] };
const CORNERS = { fine: 240, plain: 60, box: 36, sheet: 6, point: 1 };

/// A level square.
function sheet() {
  const place = new Float32Array([-0.5, -0.5, 0, 0.5, -0.5, 0, 0.5, 0.5, 0, -0.5, 0.5, 0]), up = new Float32Array([0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1]);
  const made = new BufferGeometry().setAttribute("position", new BufferAttribute(place, 3)).setIndex([0, 1, 2, 0, 2, 3]);
  return made.setAttribute("normal", new BufferAttribute(up, 3));
}

/// The same shape with vertices that its faces share, each of which is placed once instead of once per face.
function welded(shape) {
  const { array } = shape.attributes.position, known = new Map(), index = [], vertices = [];
  for (let i = 0; i < array.length; i += 3) {
    const vertex = [...array.subarray(i, i + 3)], key = vertex.map((v) => Math.round(1e4 * v)).join();
    if (!known.has(key)) { known.set(key, vertices.length / 3); vertices.push(...vertex); }
    index.push(known.get(key));
  }
  return new BufferGeometry().setAttribute("position", new BufferAttribute(new Float32Array(vertices), 3)).setIndex(index);
}

/// Reads a tile message; throws where it is not one.
export function decode(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < 64 || view.getUint32(0, false) !== 0x45325431) throw new Error("not a tile");
  const what = LAYERS[view.getUint8(5)];
  const count = view.getUint32(20, true);
  let at = 64;
  const array = (Type, per) => { const part = new Type(buffer, at, per * count); at += part.byteLength; return part; };
  const tile = {
    map: view.getUint8(4), what, count, level: view.getUint8(6), x: view.getInt32(8, true), y: view.getInt32(12, true), version: view.getUint32(16, true),
    origin: [24, 32, 40].map((i) => view.getFloat64(i, true)), side: view.getFloat32(48, true), place: array(Float32Array, 3),
  };
  if (what === "primitives") { tile.size = array(Float32Array, 3); tile.turn = array(Int16Array, 4); }
  tile.value = array(Uint16Array, 4);
  tile.kind = array(Uint16Array, 2);
  return tile;
}

/// What is known of every thing of a tile, as the shaders take it.
function columns(tile, Attribute) {
  const all = { place: new Attribute(tile.place, 3), value: new Attribute(tile.value, 4, true), kind: new Attribute(tile.kind, 2) };
  return tile.size ? { ...all, size: new Attribute(tile.size, 3), turn: new Attribute(tile.turn, 4, true) } : all;
}

/// One map: its tiles, its scene, and what of it is shown.
export class MapView {
  constructor(index, about, origin, shared) {
    Object.assign(this, { index, origin });
    this.scene = new Scene();
    this.known = new Map();    // tiles of the map
    this.scanned = new Map();  // tiles of the points
    this.loaded = Object.fromEntries(LAYERS.map((what) => [what, new Map()]));
    this.asked = new Map();
    this.palette = new Float32Array(4 * about.classes.length);
    this.texture = new DataTexture(this.palette, about.classes.length, 1, RGBAFormat, FloatType);
    this.texture.minFilter = this.texture.magFilter = NearestFilter;
    this.uniforms = { ...shared, classes: { value: this.texture }, side: { value: about.resolution }, cell: { value: about.robot?.cell ?? 0.2 } };
    // Voxels of a coarser level are larger.
    this.materials = Array.from({ length: 1 + (about.levels ?? 0) }, (_, level) => materials({ ...this.uniforms, side: { value: about.resolution * 2 ** level } }));
    this.path = new Line(new BufferGeometry(), plain(0xffffff));
    this.path.frustumCulled = false;
    this.footprint = new Footprint(about.robot);
    this.way = ribbon(about.way ?? [], this.origin);
    this.scene.add(this.path, this.footprint.lines, this.way);
    this.describe(about);
  }

  /// What the program says of the map, at the beginning and after a lost connection.
  describe(about) {
    this.about = { ...about, classes: about.classes.map((c) => ({ ...c, color: visible(c.color) })) };
    this.asked.clear();
    about.asked?.forEach((t) => this.asked.set(`primitives ${key(t)}`, true));
    delete about.asked;
    about.tiles.forEach((entry) => this.changed(entry));
    this.levels = about.levels ? new Levels(this.known, about.levels) : null;
    about.points.forEach((entry) => this.changed(entry, "points"));
    this.trajectory = about.trajectory.slice();
    this.drawPath();
  }

  /// What is shown where a layer is asked for: methods without primitives have voxels instead, and those without costs what they have.
  layer(what) {
    const has = what === "costs" && !this.about.robot ? "primitives" : what;
    return has === "primitives" && !this.about.primitives ? "voxels" : has;
  }

  tiles(what) { return what === "points" ? this.scanned : this.known; }

  changed([x, y, version, count, low, high, level = 0], what) {
    const tile = { x, y, level, version, count, low, high };
    this.tiles(what).set(key(tile), tile);
  }

  /// The levels of detail of a layer, if it has any.
  leveled(what) { return what === "points" ? null : this.levels; }

  /// The tiles of a layer that are to be here: all of them, or those that are wanted from where one looks.
  listed(what) { return this.leveled(what)?.wanted ?? [...this.tiles(what).values()]; }

  /// The loaded tiles of a layer that are drawn.
  drawn(what) { return this.leveled(what)?.drawn(this.loaded[what]) ?? [...this.loaded[what].values()]; }

  /// Follows where one looks from, and gives back what is too far out of sight.
  look(what, lens) {
    const levels = this.leveled(what);
    if (!levels) return;
    levels.look({ ...lens, eye: lens.eye.map((v, i) => v + this.origin[i]), target: lens.target.map((v, i) => v + this.origin[i]) });
    for (const tile of levels.drawn(this.loaded[what])) tile.round = levels.round;
    for (const name of levels.spare(this.loaded[what])) { this.drop(this.loaded[what].get(name)); this.loaded[what].delete(name); }
  }

  moved(place) { this.trajectory.push(place); this.drawPath(); }

  drawPath() {
    const points = this.trajectory.flatMap((p) => p.map((v, i) => v - this.origin[i] + (i === 2 ? 0.3 : 0)));
    this.path.geometry.dispose();
    this.path.geometry = new BufferGeometry().setAttribute("position", new BufferAttribute(new Float32Array(points), 3));
    this.path.visible = this.trajectory.length > 1;
    this.footprint.place(this);
    this.until(this.uniforms.time.value);
  }

  /// Shows the way of the sensor up to a share of the run.
  until(time) { this.path.geometry.setDrawRange(0, Math.ceil(time * this.trajectory.length)); }

  /// Asks for the nearest tiles that are missing or out of date, so that no more than `most` are under way.
  want(what, target, most, send) {
    if (this.asked.size >= most) return;
    const missing = this.listed(what).filter((t) => this.loaded[what].get(key(t))?.version !== t.version && !this.asked.has(`${what} ${key(t)}`));
    const ordered = this.leveled(what) ? missing : nearest(missing, this.origin[0] + target.x, this.origin[1] + target.y);
    for (const t of ordered.slice(0, most - this.asked.size)) {
      const { x, y, level } = t, finer = level ? { level } : {};
      if (send({ kind: "tile", map: this.index, what, tile: [x, y], ...finer })) this.asked.set(`${what} ${key(t)}`, true);
    }
  }

  complete(what) { return this.listed(what).every((t) => this.loaded[what].get(key(t))?.version === t.version); }

  missing([x, y], what, level) {
    const name = key({ level, x, y });
    this.asked.delete(`${what} ${name}`);
    this.tiles(what).delete(name);
  }

  /// Takes a tile over; the old one of the same place goes.
  take(tile) {
    const name = key(tile), old = this.loaded[tile.what].get(name);
    this.asked.delete(`${tile.what} ${name}`);
    if (old) this.drop(old);
    const shapes = { primitives: ["fine", "plain", "point"], voxels: ["box", "point"], points: ["point"], costs: ["sheet", "point"] }[tile.what];
    tile.levels = {};
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    for (let i = 0; i < 3 * tile.count; i++) { low[i % 3] = Math.min(low[i % 3], tile.place[i]); high[i % 3] = Math.max(high[i % 3], tile.place[i]); }
    const middle = new Vector3(...low).add(new Vector3(...high)).multiplyScalar(0.5);
    tile.ball = new Sphere(middle, middle.distanceTo(new Vector3(...high)) + 2);
    const repeated = columns(tile, InstancedBufferAttribute);
    for (const shape of tile.count ? shapes : []) {
      // Points are vertices of one shape: to repeat a shape of one vertex costs as much as to repeat one of forty.
      const points = shape === "point", geometry = points ? new BufferGeometry() : new InstancedBufferGeometry();
      const attributes = points ? columns(tile, BufferAttribute) : repeated, base = points ? { position: attributes.place } : SHAPES[shape].attributes;
      if (!points) { geometry.index = SHAPES[shape].index; geometry.instanceCount = tile.count; }
      for (const name of ["position", "normal"]) if (base[name]) geometry.setAttribute(name, base[name]);
      for (const name in attributes) geometry.setAttribute(name, attributes[name]);
      geometry.boundingSphere = tile.ball;
      const material = this.materials[tile.level][tile.what][points ? "point" : "body"];
      const body = points ? new Points(geometry, material) : new Mesh(geometry, material);
      body.position.set(...tile.origin.map((v, i) => v - this.origin[i]));
      body.visible = false;
      body.userData.tile = true;
      tile.levels[shape] = body;
      this.scene.add(body);
    }
    this.loaded[tile.what].set(name, tile);
    if (tile.what === "costs") this.footprint.place(this);
  }

  drop(tile) {
    for (const body of Object.values(tile.levels)) { this.scene.remove(body); body.geometry.dispose(); }
  }

  /// Gives everything back that the graphics card holds of it.
  dispose() {
    for (const layer of Object.values(this.loaded)) layer.forEach((tile) => this.drop(tile));
    for (const level of this.materials) for (const kinds of Object.values(level)) Object.values(kinds).forEach((material) => material.dispose());
    this.texture.dispose();
    this.path.geometry.dispose();
    this.footprint.dispose();
    this.way.geometry.dispose();
  }

  /// Chooses how each tile is drawn, so that no more vertices are drawn than the machine keeps up with: everything as points,
  /// then the nearest as bodies.
  detail(what, eye, top, budget) {
    this.footprint.lines.visible = what === "costs" && this.footprint.known;
    for (const other of LAYERS) if (other !== what) for (const tile of this.loaded[other].values()) for (const body of Object.values(tile.levels)) body.visible = false;
    const near = this.drawn(what).filter((tile) => tile.count);
    if (this.leveled(what)) for (const tile of this.loaded[what].values()) for (const body of Object.values(tile.levels)) body.visible = false;
    for (const tile of near) {
      const any = Object.values(tile.levels)[0].position;
      tile.far = top ? 0 : Math.max(0, tile.ball.center.clone().add(any).distanceTo(eye) - tile.ball.radius);
    }
    near.sort((a, b) => a.far - b.far);
    // Far points in full would be drawn on top of each other: a fair sample of them does.
    const sampled = (tile) => Math.min(1, Math.max(0.1, (400 * 2 ** tile.level) / Math.max(tile.far, 1)));
    const all = near.reduce((sum, tile) => sum + sampled(tile) * tile.count, 0), scale = Math.min(1, Math.max(0.05, budget / all));
    let left = Math.max(0, budget - scale * all), used = scale * all;
    for (const tile of near) {
      const more = (shape) => CORNERS[shape] * tile.count - scale * sampled(tile) * tile.count;
      const [shape] = REACH[what].find(([shape, reach]) => shape !== "point" && tile.far <= reach * 2 ** tile.level && more(shape) <= left) ?? ["point"];
      for (const name in tile.levels) tile.levels[name].visible = name === shape;
      const { geometry } = tile.levels[shape];
      if (shape === "point") geometry.setDrawRange(0, Math.ceil(tile.count * scale * sampled(tile)));
      else { left -= more(shape); used += more(shape); }
    }
    return used;
  }
}

export { Vector2, Vector3 };
