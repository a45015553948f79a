"""The other side of `e2bki live`: CycloneDDS over loopback, with messages of ROS 2 as their bytes.

    peer.py play DRIVE.mcap      publishes the recording: clouds, transforms, names of classes
    peer.py listen               counts what the node publishes until it is told to stop (SIGTERM)
    peer.py join                 what a late joiner gets
    peer.py call SERVICE         calls a std_srvs/Trigger as rmw_cyclonedds does
    peer.py ask PLACES           asks what the map says of points, and prints the classes
    peer.py parameter NAME [V]   reads a parameter, or sets it, as rmw_cyclonedds does
    peer.py foxglove URL         what Foxglove gets
    peer.py reach                whether the node's ports can be reached from outside of loopback
    peer.py latency STAMPS HEARD how long scans took to be told of

Each prints one line of JSON. ROS_DOMAIN_ID is the domain.
"""

import argparse
import json
import os
import signal
import struct
import sys
import time
from dataclasses import dataclass

CONFIG = """<CycloneDDS xmlns="https://cdds.io/config"><Domain Id="any">
<General><Interfaces><NetworkInterface address="127.0.0.1" multicast="false"/></Interfaces><AllowMulticast>false</AllowMulticast>
<MaxMessageSize>65500B</MaxMessageSize><FragmentSize>4000B</FragmentSize></General>
<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>30</MaxAutoParticipantIndex>
<Peers><Peer Address="127.0.0.1"/></Peers></Discovery>
<Internal><SocketReceiveBufferSize min="default" max="4MB"/><SocketSendBufferSize min="default" max="4MB"/>
<Watermarks><WhcHigh>32MB</WhcHigh></Watermarks></Internal></Domain></CycloneDDS>"""
os.environ.setdefault("CYCLONEDDS_URI", CONFIG)

import cyclonedds.idl.annotations as annotate  # noqa: E402
from cyclonedds._clayer import ddspy_take, ddspy_write  # noqa: E402
from cyclonedds.core import InstanceState, ReadCondition, SampleState, ViewState, WaitSet  # noqa: E402
from cyclonedds.domain import DomainParticipant  # noqa: E402
from cyclonedds.idl import IdlStruct  # noqa: E402
from cyclonedds.idl.types import uint8  # noqa: E402
from cyclonedds.pub import DataWriter, Publisher  # noqa: E402
from cyclonedds.qos import Policy, Qos  # noqa: E402
from cyclonedds.sub import DataReader, Subscriber  # noqa: E402
from cyclonedds.topic import Topic  # noqa: E402
from cyclonedds.util import duration  # noqa: E402

ANY = SampleState.Any | ViewState.Any | InstanceState.Any
POINT = 26  # bytes of a point of a map
CDR = b"\x00\x01\x00\x00"


def bytes_of(name):
    """A type of that name whose messages go in and out as bytes; their fields do not matter."""

    @dataclass
    @annotate.final
    class Bytes(IdlStruct, typename=name):
        byte: uint8

    return Bytes


def type_name(ros):
    package, _, name = ros.split("/")
    return f"{package}.msg.dds_.{name}_"


def qos(depth, latched=False, reliable=True):
    return Qos(
        Policy.Reliability.Reliable(duration(milliseconds=500)) if reliable else Policy.Reliability.BestEffort,
        Policy.Durability.TransientLocal if latched else Policy.Durability.Volatile,
        Policy.History.KeepLast(depth),
        Policy.DataRepresentation(use_cdrv0_representation=True, use_xcdrv2_representation=False),
    )


class Domain:
    def __init__(self):
        self.participant = DomainParticipant(int(os.environ.get("ROS_DOMAIN_ID", "0")))

    def topic(self, dds_name, dds_type, quality):
        return Topic(self.participant, dds_name, bytes_of(dds_type), qos=quality)

    def writer(self, name, ros, quality):
        return DataWriter(Publisher(self.participant), self.topic("rt" + name, type_name(ros), quality), qos=quality)

    def reader(self, name, ros, quality):
        return DataReader(Subscriber(self.participant), self.topic("rt" + name, type_name(ros), quality), qos=quality)


def write(writer, message):
    code = ddspy_write(writer._ref, bytes(message))
    if code is not None and code < 0:
        raise RuntimeError(f"cannot write: {code}")


def take(reader):
    """Messages that have come, as bytes."""
    taken = ddspy_take(reader._ref, ANY, 200)
    return [bytes(data) for data, info in taken if info.valid_data] if isinstance(taken, list) else []


def wait_matched(writers, seconds=30.0):
    end = time.time() + seconds
    while not all(writer.get_matched_subscriptions() for writer in writers):
        if time.time() > end:
            sys.exit("nobody listens")
        time.sleep(0.05)


def stamp_of(message):
    seconds, nanoseconds = struct.unpack_from("<iI", message, 4)
    return seconds * 10**9 + nanoseconds


def text_at(message, at):
    """A text of CDR, and where it ends; `at` counts from the end of the four bytes in front."""
    at += -at % 4
    (length,) = struct.unpack_from("<I", message, 4 + at)
    return message[8 + at : 7 + at + length].decode(), at + 4 + length


def points_of(message):
    """Number of points and width of a point of a PointCloud2."""
    _, at = text_at(message, 8)
    at += -at % 4
    height, width = struct.unpack_from("<II", message, 4 + at)
    return height * width


def restamped(message, offset, stamp):
    out = bytearray(message)
    struct.pack_into("<iI", out, offset, stamp // 10**9, stamp % 10**9)
    return out


def restamped_transforms(message, stamp):
    """Transforms with another stamp; each is a header, a name and seven numbers."""
    (count,) = struct.unpack_from("<I", message, 4)
    out, at = bytearray(message), 4
    for _ in range(count):
        at += -at % 4
        struct.pack_into("<iI", out, 4 + at, stamp // 10**9, stamp % 10**9)
        _, at = text_at(message, at + 8)
        _, at = text_at(message, at)
        at += -at % 8 + 56
    return out


def recording(path):
    from mcap.reader import make_reader

    with open(path, "rb") as file:
        for schema, channel, message in make_reader(file).iter_messages():
            yield channel.topic, schema.name, message.log_time, message.data


def play(arguments):
    messages = list(recording(arguments.drive))
    domain = Domain()
    latched = {"/tf_static", "/label_info"}
    kinds = {topic: kind for topic, kind, _, _ in messages if topic in latched | {"/tf", "/points"}}
    reliable = not arguments.best_effort
    writers = {
        topic: domain.writer(topic, kind, qos(10 if topic == "/points" else 100, topic in latched, reliable or topic != "/points"))
        for topic, kind in kinds.items()
    }
    for topic, _, _, data in messages:
        if topic in latched:
            write(writers[topic], data)
    wait_matched([writers["/points"], writers["/tf"]])
    time.sleep(1.0)
    # A step is a cloud with the transforms of its time. There and back again, as long as is asked for.
    steps, before = [], []
    for topic, _, _, data in messages:
        if topic == "/tf":
            before.append(data)
        elif topic == "/points":
            steps.append((before, data))
            before = []
    order = list(range(len(steps)))
    scans = arguments.scans or len(steps)
    round_trip = order + order[-2:0:-1]
    first, last = (int(n) for n in arguments.clouds.split(":")) if arguments.clouds else (0, scans)
    begun, used, sent = time.time(), time.process_time(), []
    for k in range(scans):
        time.sleep(max(0.0, begun + k / arguments.rate - time.time()))
        transforms, cloud = steps[round_trip[k % len(round_trip)]]
        if arguments.now:
            now = time.time_ns()
            transforms = [restamped_transforms(t, now) for t in transforms]
            cloud = restamped(cloud, 4, now)
        sent.append(stamp_of(cloud))
        for t in transforms:
            write(writers["/tf"], t)
        if first <= k < last:
            write(writers["/points"], cloud)
    took = time.time() - begun
    time.sleep(arguments.linger)
    result = {"scans": scans, "points": points_of(steps[0][1]), "bytes": len(steps[0][1]), "seconds": round(took, 2)}
    result["cpu"] = round((time.process_time() - used) / took, 3)
    if arguments.stamps:
        with open(arguments.stamps, "w") as file:
            json.dump(sent, file)
    print(json.dumps(result), flush=True)


def diagnostics_of(message):
    """Level, message and values of the first status of a DiagnosticArray."""
    _, at = text_at(message, 8)
    at += -at % 4 + 4
    level = message[4 + at]
    at += 1
    texts = []
    for _ in range(3):
        text, at = text_at(message, at)
        texts.append(text)
    at += -at % 4
    (count,) = struct.unpack_from("<I", message, 4 + at)
    at += 4
    values = {}
    for _ in range(count):
        key, at = text_at(message, at)
        values[key], at = text_at(message, at)
    return level, texts[1], values


def listen(arguments):
    domain = Domain()
    readers = {
        "updates": domain.reader(arguments.prefix + "/voxels_updates", "sensor_msgs/msg/PointCloud2", qos(64)),
        "grids": domain.reader(arguments.prefix + "/occupancy", "nav_msgs/msg/OccupancyGrid", qos(1, True)),
        "diagnostics": domain.reader("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", qos(64)),
    }
    waiting = WaitSet(domain.participant)
    for reader in readers.values():
        waiting.attach(ReadCondition(reader, ANY))
    counts = {name: 0 for name in readers}
    result = {"points": 0, "bytes": 0, "largest": 0}
    heard, last = [], None
    over = []
    signal.signal(signal.SIGTERM, lambda *_: over.append(True))
    end = time.time() + arguments.seconds
    while not over and time.time() < end:
        waiting.wait(duration(milliseconds=100))
        for name, reader in readers.items():
            for message in take(reader):
                counts[name] += 1
                result["largest"] = max(result["largest"], len(message))
                if name == "updates":
                    heard.append((stamp_of(message), time.time_ns()))
                    result["points"] += points_of(message)
                    result["bytes"] += len(message)
                elif name == "diagnostics":
                    last = diagnostics_of(message)
    result.update(counts)
    result["status"] = last and {"level": last[0], "message": last[1], **last[2]}
    if arguments.heard:
        with open(arguments.heard, "w") as file:
            json.dump(heard, file)
    print(json.dumps(result), flush=True)


def join(arguments):
    domain = Domain()
    reader = domain.reader(arguments.prefix + "/voxels", "sensor_msgs/msg/PointCloud2", qos(64, True))
    names = domain.reader(arguments.prefix + "/label_info", "vision_msgs/msg/LabelInfo", qos(1, True))
    # Messages of one stamp are one picture of the map: the last one counts.
    places, messages, largest, labels, last = {}, 0, 0, 0, 0
    end = time.time() + arguments.seconds
    while time.time() < end:
        time.sleep(0.05)
        labels += len(take(names))
        for message in take(reader):
            messages, largest = messages + 1, max(largest, len(message))
            if stamp_of(message) > last:
                places, last = {}, stamp_of(message)
            count = points_of(message)
            data = message.find(b"\x01", len(message) - 4) - count * POINT
            for i in range(count):
                point = message[data + i * POINT : data + (i + 1) * POINT]
                places[point[:12]] = point[16:18]
    print(json.dumps({"messages": messages, "largest": largest, "voxels": len(places), "label_info": labels}), flush=True)


def call(arguments):
    """Requests of rmw_cyclonedds carry eight bytes of the client's id and a number in front."""
    domain, name = Domain(), arguments.service.strip("/")
    quality = qos(10)
    asked = domain.topic(f"rq/{name}Request", "std_srvs.srv.dds_.Trigger_Request_", quality)
    answered = domain.topic(f"rr/{name}Reply", "std_srvs.srv.dds_.Trigger_Response_", quality)
    writer = DataWriter(Publisher(domain.participant), asked, qos=quality)
    reader = DataReader(Subscriber(domain.participant), answered, qos=quality)
    wait_matched([writer])
    while not reader.get_matched_publications():
        time.sleep(0.05)
    time.sleep(0.5)
    write(writer, CDR + struct.pack("<QqB", 0x1234, 1, 0) + b"\0\0\0")
    end = time.time() + arguments.seconds
    while time.time() < end:
        for message in take(reader):
            client, number, success = struct.unpack_from("<QqB", message, 4)
            if (client, number) == (0x1234, 1):
                text, _ = text_at(message, 17)
                print(json.dumps({"success": bool(success), "message": text}), flush=True)
                return
        time.sleep(0.02)
    sys.exit("no answer")


def service(domain, name, kind, request, seconds):
    """Calls a service: the body of the answer. Requests of rmw_cyclonedds carry eight bytes of the client's id and a number."""
    package, base = kind.split("/")
    quality = qos(10)
    asked = domain.topic(f"rq/{name}Request", f"{package}.srv.dds_.{base}_Request_", quality)
    answered = domain.topic(f"rr/{name}Reply", f"{package}.srv.dds_.{base}_Response_", quality)
    writer = DataWriter(Publisher(domain.participant), asked, qos=quality)
    reader = DataReader(Subscriber(domain.participant), answered, qos=quality)
    wait_matched([writer])
    while not reader.get_matched_publications():
        time.sleep(0.05)
    time.sleep(0.5)
    body = struct.pack("<Qq", 0x1234, 1) + request
    write(writer, CDR + body + b"\0" * (-len(body) % 4))
    end = time.time() + seconds
    while time.time() < end:
        for message in take(reader):
            if struct.unpack_from("<Qq", message, 4) == (0x1234, 1):
                return message
        time.sleep(0.02)
    sys.exit(f"{name} does not answer")


def cdr_text(text, at):
    """A text of CDR behind `at` bytes."""
    data = text.encode() + b"\0"
    return b"\0" * (-at % 4) + struct.pack("<I", len(data)) + data


def parameter(arguments):
    domain, name = Domain(), arguments.node.strip("/")
    front = 16 + 4
    text = cdr_text(arguments.name, front)
    if arguments.value is None:
        answer = service(domain, f"{name}/get_parameters", "rcl_interfaces/GetParameters", struct.pack("<I", 1) + text, arguments.seconds)
        count, kind = struct.unpack_from("<IB", answer, 4 + 16)
        (value,) = struct.unpack_from("<d", answer, 4 + 16 + 4 + 4 + 8)
        print(json.dumps({"count": count, "type": kind, "value": value}), flush=True)
        return
    # Parameter: name, then type, bool, int64, double, and six empty texts and lists.
    body = struct.pack("<I", 1) + text
    at = 16 + len(body)
    body += struct.pack("<BB", 3, 0)
    at = 16 + len(body)
    body += b"\0" * (-at % 8) + struct.pack("<qd", 0, arguments.value)
    body += struct.pack("<I", 1) + b"\0" + b"\0" * 3 + struct.pack("<IIIII", 0, 0, 0, 0, 0)
    answer = service(domain, f"{name}/set_parameters", "rcl_interfaces/SetParameters", body, arguments.seconds)
    count, done = struct.unpack_from("<IB", answer, 4 + 16)
    reason, _ = text_at(answer, 16 + 5)
    print(json.dumps({"count": count, "done": bool(done), "reason": reason}), flush=True)


def ask(arguments):
    """Points as a PointCloud2 in the map's frame; the answer has a class for each."""
    domain = Domain()
    places = [[float(v) for v in place.split(",")] for place in arguments.places]
    writer = domain.writer(arguments.prefix + "/questions", "sensor_msgs/msg/PointCloud2", qos(10))
    reader = domain.reader(arguments.prefix + "/answers", "sensor_msgs/msg/PointCloud2", qos(10))
    wait_matched([writer])
    while not reader.get_matched_publications():
        time.sleep(0.05)
    time.sleep(0.5)
    body = struct.pack("<iI", 123, 456) + cdr_text(arguments.frame, 8)
    body += b"\0" * (-len(body) % 4) + struct.pack("<III", 1, len(places), 3)
    for number, axis in enumerate("xyz"):
        body += cdr_text(axis, len(body))
        body += b"\0" * (-len(body) % 4) + struct.pack("<IB", 4 * number, 7)
        body += b"\0" * (-len(body) % 4) + struct.pack("<I", 1)
    body += b"\0" + b"\0" * (-(len(body) + 1) % 4) + struct.pack("<II", 12, 12 * len(places))
    data = b"".join(struct.pack("<fff", *place) for place in places)
    body += struct.pack("<I", len(data)) + data + b"\1"
    end = time.time() + arguments.seconds
    write(writer, CDR + body + b"\0" * (-len(body) % 4))
    while time.time() < end:
        for message in take(reader):
            if stamp_of(message) == 123 * 10**9 + 456:
                count = points_of(message)
                first = message.find(b"\x01", len(message) - 4) - count * POINT
                classes = [struct.unpack_from("<H", message, first + i * POINT + 16)[0] for i in range(count)]
                print(json.dumps({"classes": classes}), flush=True)
                return
        time.sleep(0.02)
    sys.exit("no answer")


def foxglove(arguments):
    from websockets.sync.client import connect

    wanted = set(arguments.topics)
    with connect(arguments.url, subprotocols=["foxglove.sdk.v1"], max_size=None, origin="https://app.foxglove.dev") as socket:
        about = json.loads(socket.recv(timeout=arguments.seconds))
        channels, heard = {}, {}
        end = time.time() + arguments.seconds
        while time.time() < end and wanted - set(heard):
            try:
                message = socket.recv(timeout=0.5)
            except TimeoutError:
                continue
            if isinstance(message, bytes):
                opcode, subscription, _ = struct.unpack_from("<BIQ", message)
                assert opcode == 1 and message[13:17] == CDR, message[:20]
                heard[channels[subscription]["topic"]] = len(message) - 13
                continue
            told = json.loads(message)
            if told["op"] == "advertise":
                for channel in told["channels"]:
                    channels[channel["id"]] = channel
                    socket.send(json.dumps({"op": "subscribe", "subscriptions": [{"id": channel["id"], "channelId": channel["id"]}]}))
    kinds = {c["topic"]: (c["schemaName"], c["encoding"], c["schemaEncoding"], len(c["schema"]) > 0) for c in channels.values()}
    print(json.dumps({"name": about["name"], "missing": sorted(wanted - set(heard)), "bytes": heard, "topics": kinds}), flush=True)


def reach(arguments):
    """Ports of the domain that are open at an address of this computer that is not loopback: a closed one refuses."""
    import socket

    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    probe.connect(("192.0.2.1", 9))
    address = probe.getsockname()[0]

    def is_open(port):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.connect((address, port))
            sender.settimeout(0.05)
            try:
                for _ in range(3):
                    sender.send(b"?")
                    try:
                        sender.recv(1)
                    except TimeoutError:
                        pass
            except ConnectionRefusedError:
                return False
        return True

    first = 7400 + 250 * int(os.environ.get("ROS_DOMAIN_ID", "0"))
    ports = [port for port in range(first, first + 40) if is_open(port)]
    print(json.dumps({"address": address, "open": ports, "closed": 40 - len(ports)}), flush=True)


def latency(arguments):
    """From the stamp of every scan to when the first update with it, or with a later one, came."""
    with open(arguments.stamps) as file:
        stamps = json.load(file)
    with open(arguments.heard) as file:
        heard = json.load(file)
    late, at = [], 0
    for stamp in stamps:
        while at < len(heard) and heard[at][0] < stamp:
            at += 1
        if at < len(heard):
            late.append((heard[at][1] - stamp) / 1e6)
    late.sort()
    share = {f"p{q}_ms": round(late[min(len(late) - 1, q * len(late) // 100)], 1) for q in (50, 95, 100)} if late else {}
    print(json.dumps({"scans": len(stamps), "told": len(late), **share}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    player = commands.add_parser("play")
    player.add_argument("drive")
    player.add_argument("--rate", type=float, default=10.0)
    player.add_argument("--scans", type=int)
    player.add_argument("--now", action="store_true", help="stamps of now instead of those of the recording")
    player.add_argument("--stamps", help="file for the stamps of the scans")
    player.add_argument("--clouds", metavar="FIRST:LAST", help="only these clouds, with all transforms")
    player.add_argument("--best-effort", action="store_true")
    player.add_argument("--linger", type=float, default=2.0)
    player.set_defaults(run=play)
    for name, run in [("listen", listen), ("join", join)]:
        listener = commands.add_parser(name)
        listener.add_argument("--prefix", default="/map")
        listener.add_argument("--seconds", type=float, default=5.0)
        listener.add_argument("--heard", help="file for the stamps of updates and when they came")
        listener.set_defaults(run=run)
    latencies = commands.add_parser("latency")
    latencies.add_argument("stamps")
    latencies.add_argument("heard")
    latencies.set_defaults(run=latency)
    asker = commands.add_parser("ask")
    asker.add_argument("places", nargs="+", metavar="X,Y,Z")
    asker.add_argument("--frame", default="map")
    asker.add_argument("--prefix", default="/map")
    asker.add_argument("--seconds", type=float, default=10.0)
    asker.set_defaults(run=ask)
    setter = commands.add_parser("parameter")
    setter.add_argument("name")
    setter.add_argument("value", type=float, nargs="?")
    setter.add_argument("--node", default="/e2bki")
    setter.add_argument("--seconds", type=float, default=10.0)
    setter.set_defaults(run=parameter)
    onlooker = commands.add_parser("foxglove")
    onlooker.add_argument("url")
    onlooker.add_argument("topics", nargs="+")
    onlooker.add_argument("--seconds", type=float, default=15.0)
    onlooker.set_defaults(run=foxglove)
    commands.add_parser("reach").set_defaults(run=reach)
    caller = commands.add_parser("call")
    caller.add_argument("service")
    caller.add_argument("--seconds", type=float, default=10.0)
    caller.set_defaults(run=call)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
