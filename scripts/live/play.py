"""A recording as a running robot: clouds, transforms, pictures and names of classes, at a rate; and a recorder of what was sent."""

import json
import struct
import time

from cdr import CDR, cdr_text, points_of, stamp_of, text_at
from transport import Domain, qos, wait_matched, write

CLOUD = "sensor_msgs/msg/PointCloud2"
TRANSFORMS = "tf2_msgs/msg/TFMessage"
CALIBRATION = "sensor_msgs/msg/CameraInfo"
PICTURES = {"sensor_msgs/msg/CompressedImage", CALIBRATION}
LATCHED = {"/tf_static", "/label_info"}


def restamped(kind, message, stamp):
    """The message with another stamp."""
    out = bytearray(message)
    if kind != TRANSFORMS:
        struct.pack_into("<iI", out, 4, stamp // 10**9, stamp % 10**9)
        return out
    # Each transform is a header, a name and seven numbers.
    (count,) = struct.unpack_from("<I", message, 4)
    at = 4
    for _ in range(count):
        at += -at % 4
        struct.pack_into("<iI", out, 4 + at, stamp // 10**9, stamp % 10**9)
        _, at = text_at(message, at + 8)
        _, at = text_at(message, at)
        at += -at % 8 + 56
    return out


def labelled(message, classes=7):
    """A PointCloud2 with a field `label` behind the others: real scans have none. Bands of height, so that they make sense in space."""
    frame, at = text_at(message, 8)
    at += -at % 4
    height, width, count = struct.unpack_from("<III", message, 4 + at)
    at += 12
    fields = []
    for _ in range(count):
        name, at = text_at(message, at)
        at += -at % 4
        offset, kind = struct.unpack_from("<IB", message, 4 + at)
        at += 5
        at += -at % 4
        (number,) = struct.unpack_from("<I", message, 4 + at)
        at += 4
        fields.append((name, offset, kind, number))
    if message[4 + at]:
        raise SystemExit("clouds of big-endian numbers cannot be labelled here")
    at += 1
    at += -at % 4
    step, row, size = struct.unpack_from("<III", message, 4 + at)
    data = message[4 + at + 12 :][:size]
    dense = message[4 + at + 12 + size]
    (z,) = [offset for name, offset, kind, _ in fields if (name, kind) == ("z", 7)]
    if row != step * width:
        raise SystemExit("clouds with padded rows cannot be labelled here")
    points = []
    for k in range(height * width):
        point = data[k * step : (k + 1) * step]
        (high,) = struct.unpack_from("<f", point, z)
        points.append(point + struct.pack("<H", int(high / 0.5) % classes if high == high else 0))
    body = bytes(message[4:12]) + cdr_text(frame, 8)
    body += b"\0" * (-len(body) % 4) + struct.pack("<III", height, width, count + 1)
    for name, offset, kind, number in [*fields, ("label", step, 4, 1)]:
        body += cdr_text(name, len(body))
        body += b"\0" * (-len(body) % 4) + struct.pack("<IB", offset, kind)
        body += b"\0" * (-len(body) % 4) + struct.pack("<I", number)
    body += b"\0" + b"\0" * (-(len(body) + 1) % 4) + struct.pack("<II", step + 2, (step + 2) * width)
    data = b"".join(points)
    body += struct.pack("<I", len(data)) + data + bytes([dense])
    return CDR + body + b"\0" * (-len(body) % 4)


def recording(path):
    from mcap.reader import make_reader

    with open(path, "rb") as file:
        for schema, channel, message in make_reader(file).iter_messages():
            yield channel.topic, schema, message.data


class Recorder:
    """Writes what was sent, as it was sent."""

    def __init__(self, path):
        from mcap.writer import Writer

        self.file = open(path, "wb")
        self.writer = Writer(self.file)
        self.writer.start(profile="ros2", library="e2bki test")
        self.channels = {}

    def add(self, topic, schema, message, when):
        if topic not in self.channels:
            number = self.writer.register_schema(schema.name, schema.encoding, schema.data)
            self.channels[topic] = self.writer.register_channel(topic, "cdr", number)
        self.writer.add_message(self.channels[topic], when, bytes(message), when)

    def finish(self):
        self.writer.finish()
        self.file.close()


class Player:
    """A step is a cloud with what was recorded since the one before. There and back again, as long as is asked for."""

    def __init__(self, arguments):
        wanted = {CLOUD, TRANSFORMS} | (PICTURES if arguments.pictures else set())
        messages = [m for m in recording(arguments.drive) if m[1].name in wanted or m[0] in LATCHED]
        self.schemas = {topic: schema for topic, schema, _ in messages}
        self.latched = [(topic, data) for topic, _, data in messages if topic in LATCHED]
        self.steps, before = [], []
        for topic, schema, data in messages:
            if topic in LATCHED:
                continue
            before.append((topic, labelled(data) if arguments.label and schema.name == CLOUD else data))
            if schema.name == CLOUD:
                self.cloud = topic
                self.steps.append(before)
                before = []
        self.recorder = Recorder(arguments.record) if arguments.record else None
        domain = Domain()
        self.writers = {}
        for topic, schema in self.schemas.items():
            fast = schema.name not in (TRANSFORMS,) and topic not in LATCHED
            quality = qos(10 if fast else 100, topic in LATCHED, not arguments.best_effort or topic != self.cloud)
            self.writers[topic] = domain.writer(topic, schema.name, quality)

    def send(self, topic, data):
        if self.recorder:
            self.recorder.add(topic, self.schemas[topic], data, time.time_ns())
        write(self.writers[topic], data)

    def step(self, number, stamp=None, cloud=True):
        """Sends a step, all of it or all but the cloud; returns the stamp of its cloud."""
        order = list(range(len(self.steps)))
        round_trip = order + order[-2:0:-1]
        when = None
        for topic, data in self.steps[round_trip[number % len(round_trip)]]:
            if stamp is not None:
                data = restamped(self.schemas[topic].name, data, stamp)
            if topic == self.cloud:
                when = stamp_of(data)
            if cloud or topic != self.cloud:
                self.send(topic, data)
        return when


def play(arguments):
    player = Player(arguments)
    for topic, data in player.latched:
        player.send(topic, data)
    wait_matched([player.writers[topic] for topic in player.writers if topic not in LATCHED], arguments.patience)
    time.sleep(1.0)
    scans = arguments.scans or len(player.steps)
    first, last = (int(n) for n in arguments.clouds.split(":")) if arguments.clouds else (0, scans)
    begun, used, sent = time.time(), time.process_time(), []
    for k in range(scans):
        time.sleep(max(0.0, begun + k / arguments.rate - time.time()))
        sent.append(player.step(k, time.time_ns() if arguments.now else None, first <= k < last))
    took = time.time() - begun
    # Where the robot goes on to: scans whose points were measured until then wait for it.
    for k in range(scans, scans + 3 if arguments.now else scans):
        time.sleep(1.0 / arguments.rate)
        player.step(k, time.time_ns(), False)
    time.sleep(arguments.linger)
    cloud = dict(player.steps[0])[player.cloud]
    result = {"scans": scans, "points": points_of(cloud), "bytes": len(cloud), "seconds": round(took, 2)}
    result["cpu"] = round((time.process_time() - used) / took, 3)
    if player.recorder:
        player.recorder.finish()
    if arguments.stamps:
        with open(arguments.stamps, "w") as file:
            json.dump(sent, file)
    print(json.dumps(result), flush=True)
