"""Zenoh as rmw_zenoh speaks it, over loopback, with messages of ROS 2 as their bytes."""

import os
import struct
import sys
import threading
import time
import uuid

import zenoh

from cdr import CDR

# Hashes of definitions (REP 2016), by rosbags and, for services, from ROS 2 itself.
HASHES = {
    "sensor_msgs/msg/PointCloud2": "9198cabf7da3796ae6fe19c4cb3bdd3525492988c70522628af5daa124bae2b5",
    "sensor_msgs/msg/CompressedImage": "15640771531571185e2efc8a100baf923961a4d15d5569652e6cb6691e8e371a",
    "sensor_msgs/msg/CameraInfo": "b3dfd68ff46c9d56c80fd3bd4ed22c7a4ddce8c8348f2f59c299e73118e7e275",
    "nav_msgs/msg/OccupancyGrid": "8d348150c12913a31ee0ec170fbf25089e4745d17035792a1ba94d6f0bc0cfc7",
    "grid_map_msgs/msg/GridMap": "343b0e72887541beda6b035cc053f2d6fffaad9d6dcb2773c15a808dfca31fde",
    "vision_msgs/msg/LabelInfo": "3d37df4015cdf660cc851c51897f2acd957e1ca6205ba0a99aebffb9406b0783",
    "diagnostic_msgs/msg/DiagnosticArray": "5a8a36efb05fb25070fa0fb3810290c0e6cd4862b54a8fb975a1ee8dc55a333e",
    "tf2_msgs/msg/TFMessage": "e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087",
    "std_srvs/srv/Trigger": "eeff2cd6fa5ad9d27cdf4dec64818317839b62f212a91e6b5304b634b2062c5f",
    "rcl_interfaces/srv/GetParameters": "bf9803d5c74cf989a5de3e0c2e99444599a627c7ff75f97b8c05b01003675cbc",
    "rcl_interfaces/srv/SetParameters": "56eed9a67e169f9cb6c1f987bc88f868c14a8fc9f743a263bc734c154015d7e0",
}


def settings(mode):
    config = zenoh.Config()
    endpoint = os.environ["ZENOH_ENDPOINT"]
    config.insert_json5("mode", f'"{mode}"')
    config.insert_json5("scouting/multicast/enabled", "false")
    config.insert_json5("timestamping/enabled", "true")
    config.insert_json5("listen/endpoints", f'["{endpoint}"]' if mode == "router" else '["tcp/127.0.0.1:0"]')
    if mode != "router":
        config.insert_json5("connect/endpoints", f'["{endpoint}"]')
    return config


def router(_):
    """What rmw_zenohd is: tells peers of each other. Until it is told to stop."""
    with zenoh.open(settings("router")):
        print("{}", flush=True)
        threading.Event().wait()


def qos(depth, latched=False, reliable=True):
    return depth, latched, reliable


class Domain:
    def __init__(self):
        self.number = os.environ.get("ROS_DOMAIN_ID", "0")
        self.session = zenoh.open(settings("peer"))
        self.tokens = []
        self.came = threading.Condition()

    def key(self, name, ros):
        package, of, base = ros.split("/")
        return f"{self.number}/{name.strip('/')}/{package}::{of}::dds_::{base}_/RIHS01_{HASHES[ros]}"

    def tell(self, role, name, ros, quality):
        """The token by which the graph of ROS knows of it."""
        _, kind, of = self.key(name, ros).rsplit("/", 2)
        depth, latched, reliable = quality
        number, mangled = len(self.tokens), name.replace("/", "%")
        words = f"{'' if reliable else 2}:{1 if latched else ''}:,{depth}:,:,:,,"
        token = f"@ros2_lv/{self.number}/{self.session.info.zid()}/0/{number}/{role}/%/%/peer/{mangled}/{kind}/{of}/{words}"
        self.tokens.append(self.session.liveliness().declare_token(token))

    def writer(self, name, ros, quality):
        self.tell("MP", name, ros, quality)
        depth, latched, reliable = quality
        cache = zenoh.ext.CacheConfig(max_samples=depth) if latched else None
        block = zenoh.CongestionControl.BLOCK if reliable else zenoh.CongestionControl.DROP
        return Writer(
            self,
            name,
            zenoh.ext.declare_advanced_publisher(
                self.session, self.key(name, ros), congestion_control=block, cache=cache, publisher_detection=latched
            ),
        )

    def reader(self, name, ros, quality):
        self.tell("MS", name, ros, quality)
        return Reader(self, name, ros, quality)

    def wait(self, readers, seconds):
        with self.came:
            self.came.wait_for(lambda: any(reader.messages for reader in readers), seconds)


class Writer:
    def __init__(self, domain, name, publisher):
        # The session ends when nobody has it any more.
        self.domain, self.name, self.publisher, self.sent, self.gid = domain, name, publisher, 0, uuid.uuid4().bytes

    def listeners(self):
        """Tokens of those who listen, as the graph of ROS has them."""
        tokens = f"@ros2_lv/{self.domain.number}/*/*/*/MS/*/*/*/{self.name.replace('/', '%')}/**"
        return [reply for reply in self.domain.session.liveliness().get(tokens, timeout=2.0) if reply.ok]


class Reader:
    def __init__(self, domain, name, ros, quality):
        depth, latched, _ = quality
        self.domain, self.messages = domain, []
        history = zenoh.ext.HistoryConfig(detect_late_publishers=True, max_samples=depth) if latched else None
        self.key = domain.key(name, ros)
        self.subscriber = zenoh.ext.declare_advanced_subscriber(domain.session, self.key, self.take, history=history)

    def take(self, sample):
        # Who reads it looks at what goes with it, as rmw_zenoh does: a number, a time, and the sender.
        number, _, length = struct.unpack_from("<qqB", sample.attachment.to_bytes())
        assert number > 0 and length == 16 and len(sample.attachment) == 33
        with self.domain.came:
            self.messages.append(sample.payload.to_bytes())
            self.domain.came.notify_all()


def write(writer, message):
    writer.sent += 1
    attachment = struct.pack("<qqB", writer.sent, time.time_ns(), 16) + writer.gid
    writer.publisher.put(bytes(message), attachment=attachment)


def take(reader):
    """Messages that have come, as bytes."""
    with reader.domain.came:
        taken, reader.messages = reader.messages, []
    return taken


def wait_matched(writers, seconds=30.0):
    end = time.time() + seconds
    while not all(writer.listeners() for writer in writers):
        if time.time() > end:
            sys.exit("nobody listens")
        time.sleep(0.05)


def wait_offered(_):
    time.sleep(0.5)


def service(domain, name, kind, request, seconds):
    """Calls a service: the answer."""
    package, base = kind.split("/")
    gid, attachment = uuid.uuid4().bytes, struct.pack("<qqB", 7, time.time_ns(), 16)
    key = domain.key(name, f"{package}/srv/{base}")
    end = time.time() + seconds
    while time.time() < end:
        for reply in domain.session.get(key, payload=CDR + request, attachment=attachment + gid, timeout=seconds):
            if reply.ok:
                returned = reply.ok.attachment.to_bytes()
                assert returned[:8] == attachment[:8] and returned[17:] == gid
                return reply.ok.payload.to_bytes()
        time.sleep(0.1)
    sys.exit(f"{name} does not answer")
