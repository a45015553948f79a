// The connection to the program: comes back by itself after it was lost.

/// Calls `on.text`, `on.bytes` and `on.state`; returns an object that can send.
export function connect(on) {
  let socket = null, pause = 500;
  const open = () => {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    socket = new WebSocket(`${scheme}://${location.host}/ws${location.search}`);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => { pause = 500; on.state(true); };
    socket.onmessage = (event) => (typeof event.data === "string" ? on.text(JSON.parse(event.data)) : on.bytes(event.data));
    socket.onclose = () => {
      on.state(false);
      setTimeout(open, pause);
      pause = Math.min(2 * pause, 5000);
    };
  };
  open();
  return {
    send(request) {
      if (socket.readyState !== WebSocket.OPEN) return false;
      socket.send(JSON.stringify(request));
      return true;
    },
  };
}
