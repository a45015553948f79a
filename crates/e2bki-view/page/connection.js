// The connection to the program: begun before the rest of the page is read, comes back by itself after it was lost.
import { UNDER_WAY, middle, nearest } from "/order.js";

let socket = null, pause = 500, on = null, waiting = [];

/// What comes before somebody listens is kept for them, and what they will want of it first is asked for.
function open() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  socket = new WebSocket(`${scheme}://${location.host}/ws${location.search}`);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => { pause = 500; on?.state(true); };
  socket.onmessage = ({ data }) => {
    const message = typeof data === "string" ? JSON.parse(data) : data;
    if (on) deliver(message);
    else waiting.push(message.kind === "hello" ? early(message) : message);
  };
  socket.onclose = () => {
    waiting = [];
    on?.state(false);
    setTimeout(open, pause);
    pause = Math.min(2 * pause, 5000);
  };
}
open();

const deliver = (message) => (message instanceof ArrayBuffer ? on.bytes(message) : on.text(message));

function send(request) {
  if (socket.readyState !== WebSocket.OPEN) return false;
  socket.send(JSON.stringify(request));
  return true;
}

/// Asks for the primitives that will be looked at first, and notes of which.
function early(hello) {
  const [x, y] = middle(hello.maps), each = Math.floor(UNDER_WAY / hello.maps.length);
  hello.maps.forEach((about, map) => {
    // What of a city is wanted depends on where one looks from.
    const tiles = about.primitives && !about.levels ? nearest(about.tiles.map(([x, y]) => ({ x, y })), x, y).slice(0, each) : [];
    about.asked = tiles.filter((t) => send({ kind: "tile", map, what: "primitives", tile: [t.x, t.y] }));
  });
  return hello;
}

/// Calls `handlers.text`, `.bytes` and `.state` from now on; returns an object that can send.
export function connect(handlers) {
  on = handlers;
  if (socket.readyState === WebSocket.OPEN) on.state(true);
  // Not before the listener has what is returned here.
  queueMicrotask(() => waiting.splice(0).forEach(deliver));
  return { send };
}
