// Foxglove's own client code (npm @foxglove/ws-protocol, rosmsg, rosmsg2-serialization) against the node's server: subscribes to
// topics, reads their definitions and decodes every message by them. Prints one line of JSON.
//   node foxglove.cjs MODULES URL SECONDS TOPIC…
const [modules, url, seconds, ...topics] = process.argv.slice(2);
const { createRequire } = require("module");
const from = createRequire(require("path").resolve(modules, "package.json"));
const { FoxgloveClient } = from("@foxglove/ws-protocol");
const { parse } = from("@foxglove/rosmsg");
const { MessageReader } = from("@foxglove/rosmsg2-serialization");
const WebSocket = from("ws");

const heard = {};
const readers = new Map();
const finish = () => {
  const missing = topics.filter((topic) => !(topic in heard)).sort();
  console.log(JSON.stringify({ missing, heard }));
  process.exit(missing.length > 0 ? 1 : 0);
};
const socket = new WebSocket(url, [FoxgloveClient.SUPPORTED_SUBPROTOCOL], { origin: "https://app.foxglove.dev" });
const client = new FoxgloveClient({ ws: socket });
client.on("error", (error) => {
  console.log(JSON.stringify({ error: String(error.message ?? error) }));
  process.exit(2);
});
client.on("advertise", (channels) => {
  for (const channel of channels) {
    if (!topics.includes(channel.topic)) continue;
    const reader = new MessageReader(parse(channel.schema, { ros2: true }));
    readers.set(client.subscribe(channel.id), { topic: channel.topic, kind: channel.schemaName, reader });
  }
});
// What is told of a message: enough to see that every field was where its definition says.
const summary = {
  "sensor_msgs/msg/PointCloud2": (m) => ({ frame: m.header.frame_id, points: m.width * m.height, whole: m.data.length === m.row_step * m.height, fields: m.fields.map((f) => f.name).join(" ") }),
  "nav_msgs/msg/OccupancyGrid": (m) => ({ frame: m.header.frame_id, cells: m.data.length, whole: m.data.length === m.info.width * m.info.height }),
  "grid_map_msgs/msg/GridMap": (m) => ({ frame: m.header.frame_id, layers: m.layers.length, whole: m.data.every((d) => d.data.length === d.layout.dim[0].size * d.layout.dim[1].size) }),
  "vision_msgs/msg/LabelInfo": (m) => ({ frame: m.header.frame_id, names: m.class_map.map((c) => c.class_name).join(" "), whole: m.class_map.length > 0 }),
  "diagnostic_msgs/msg/DiagnosticArray": (m) => ({ values: m.status[0].values.length, whole: m.status.length === 1 && m.status[0].name.length > 0 }),
};
client.on("message", ({ subscriptionId, data }) => {
  const { topic, kind, reader } = readers.get(subscriptionId);
  const message = reader.readMessage(data);
  heard[topic] = { kind, messages: (heard[topic]?.messages ?? 0) + 1, ...(summary[kind]?.(message) ?? { whole: true }) };
  if (topics.every((wanted) => wanted in heard)) finish();
});
setTimeout(finish, 1000 * Number(seconds));
