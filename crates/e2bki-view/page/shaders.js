// How ellipsoids, voxels and points are drawn. Filters and colours are decided on the graphics card, so that a slider costs nothing.
import { GLSL3, ShaderMaterial } from "/three.js";

const VERTEX = `
in vec3 place;
#ifdef ELLIPSOID
in vec3 size;
in vec4 turn;
#endif
in vec4 value;   // u_sem, u_spa, u, 4 × variance; of costs the cost instead
in vec2 kind;    // class (32768 more: no longer there), age
uniform sampler2D classes;   // rgb and whether it is shown
uniform int mode;
uniform vec2 range;
uniform float threshold;
uniform float time;
uniform bool gone;           // whether what is no longer there is shown
uniform float side;
uniform float cell;          // side of a cell of the costs
uniform float pixels;        // pixels per metre at distance 1, or everywhere from above
uniform bool flat_view;
out vec3 paint;
out vec3 middle;

vec3 turned(vec4 q, vec3 v) { return v + 2.0 * cross(q.xyz, cross(q.xyz, v) + q.w * v); }

vec3 heat(float t) {
  vec3 a = vec3(84.0, 24.0, 108.0), b = vec3(59.0, 82.0, 139.0), c = vec3(33.0, 145.0, 140.0), d = vec3(94.0, 201.0, 98.0), e = vec3(253.0, 231.0, 37.0);
  t = clamp(t, 0.0, 1.0) * 4.0;
  vec3 mixed = t < 1.0 ? mix(a, b, t) : t < 2.0 ? mix(b, c, t - 1.0) : t < 3.0 ? mix(c, d, t - 2.0) : mix(d, e, t - 3.0);
  return mixed / 255.0;
}

/// From free through costly to what is not driven on.
vec3 traffic(float t) {
  vec3 a = vec3(0.16, 0.62, 0.35), b = vec3(0.95, 0.80, 0.25), c = vec3(0.85, 0.20, 0.16), d = vec3(0.36, 0.10, 0.30);
  t = clamp(t, 0.0, 1.0);
  return t < 0.4 ? mix(a, b, t / 0.4) : t < 0.8 ? mix(b, c, (t - 0.4) / 0.4) : mix(c, d, (t - 0.8) / 0.2);
}

void main() {
  bool left = kind.x > 32767.5;
  vec4 known = texelFetch(classes, ivec2(int(kind.x + 0.5) & 32767, 0), 0);
  float age = kind.y / 65535.0;
  middle = (modelMatrix * vec4(place, 1.0)).xyz;
  if (known.a < 0.5 || age > time || (left ? !gone : value.z > threshold)) {
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);   // outside of everything
    gl_PointSize = 0.0;
    return;
  }
  float shown = mode == 1 ? value.x : mode == 2 ? value.y : mode == 3 ? value.z : mode == 4 ? value.w : age;
  float along = clamp((shown - range.x) / max(range.y - range.x, 1e-9), 0.0, 1.0);
  // Most of a map is quite sure: by the root, the few levels of sureness are told apart too.
  vec3 color = mode == 0 ? known.rgb : heat(mode == 5 ? along : sqrt(along));
#ifdef COSTS
  if (mode == 4) color = traffic(value.w);
#endif
  if (left) color = mix(color, vec3(0.55), 0.65);
  vec4 seen = viewMatrix * vec4(middle, 1.0);
  float metre = flat_view ? pixels : pixels / max(-seen.z, 0.1);   // in pixels, at this distance
#ifdef POINT
  gl_Position = projectionMatrix * seen;
  #if defined(ELLIPSOID)
  float wide = size.y + size.z;
  #elif defined(SCANNED)
  float wide = 0.06;
  #elif defined(COSTS)
  float wide = cell;
  #else
  float wide = side;
  #endif
  gl_PointSize = clamp(0.8 * wide * metre, 1.5, 64.0);
  float light = 0.8;
#else
  #ifdef ELLIPSOID
  vec4 q = normalize(turn);
  vec3 offset = turned(q, position * max(size, 0.75 / metre));   // what is thinner than a pixel would be drawn in shreds
  vec3 up = normalize(turned(q, position / size));
  #elif defined(COSTS)
  vec3 offset = position * cell;
  vec3 up = normal;
  #else
  vec3 offset = position * side;
  vec3 up = normal;
  #endif
  gl_Position = projectionMatrix * viewMatrix * vec4(middle + offset, 1.0);
  float light = 0.7 + 0.24 * up.z + 0.12 * up.x - 0.06 * up.y;
#endif
  paint = color * light;
}`;

const FRAGMENT = `
precision highp float;
in vec3 paint;
in vec3 middle;
uniform bool picking;
out vec4 result;
void main() {
#if defined(POINT) && (defined(ELLIPSOID) || defined(SCANNED))
  if (length(gl_PointCoord - 0.5) > 0.5) discard;
#endif
  result = picking ? vec4(middle, 1.0) : vec4(paint, 1.0);
}`;

const PLAIN_VERTEX = `void main() { gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }`;
const PLAIN_FRAGMENT = `
precision highp float;
uniform vec4 color;
out vec4 result;
void main() { result = color; }`;

const RISK_VERTEX = `
in float risk;
out float danger;
void main() { danger = risk; gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }`;
const RISK_FRAGMENT = `
precision highp float;
in float danger;
out vec4 result;
void main() { result = vec4(mix(vec3(0.35, 0.85, 1.0), vec3(1.0, 0.25, 0.2), clamp(2.0 * danger, 0.0, 1.0)), 1.0); }`;

/// Blue where nothing threatens, red from a risk of one half.
export function risky() {
  return new ShaderMaterial({ glslVersion: GLSL3, vertexShader: RISK_VERTEX, fragmentShader: RISK_FRAGMENT, depthTest: false, side: 2 });
}

/// One colour, for lines and marks: the library's own material for this is many times larger, and is compiled before the first picture.
export function plain(color, opacity = 1) {
  const uniforms = { color: { value: [color >> 16, (color >> 8) & 255, color & 255].map((v) => v / 255).concat(opacity) } };
  return new ShaderMaterial({ glslVersion: GLSL3, vertexShader: PLAIN_VERTEX, fragmentShader: PLAIN_FRAGMENT, uniforms, transparent: opacity < 1 });
}

/// The materials of one map, which share their uniforms: for ellipsoids and voxels, as bodies and as points.
export function materials(uniforms) {
  const make = (defines) => new ShaderMaterial({ glslVersion: GLSL3, vertexShader: VERTEX, fragmentShader: FRAGMENT, uniforms, defines });
  return {
    primitives: { body: make({ ELLIPSOID: 1 }), point: make({ ELLIPSOID: 1, POINT: 1 }) },
    voxels: { body: make({}), point: make({ POINT: 1 }) },
    points: { point: make({ POINT: 1, SCANNED: 1 }) },
    costs: { body: make({ COSTS: 1 }), point: make({ COSTS: 1, POINT: 1 }) },
  };
}
