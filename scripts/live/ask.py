"""Services, parameters and questions."""

import json
import struct
import sys
import time

from cdr import CDR, POINT, cdr_text, points_of, stamp_of, text_at
from transport import Domain, qos, service, take, wait_matched, wait_offered, write


def call(arguments):
    """Calls a std_srvs/Trigger, which has nothing to say."""
    answer = service(Domain(), arguments.service.strip("/"), "std_srvs/Trigger", b"\0", arguments.seconds)
    text, _ = text_at(answer, 1)
    print(json.dumps({"success": bool(answer[4]), "message": text}), flush=True)


def parameter(arguments):
    domain, name = Domain(), arguments.node.strip("/")
    text = cdr_text(arguments.name, 4)
    if arguments.value is None:
        answer = service(domain, f"{name}/get_parameters", "rcl_interfaces/GetParameters", struct.pack("<I", 1) + text, arguments.seconds)
        count, kind = struct.unpack_from("<IB", answer, 4)
        (value,) = struct.unpack_from("<d", answer, 4 + 4 + 4 + 8)
        print(json.dumps({"count": count, "type": kind, "value": value}), flush=True)
        return
    # Parameter: name, then type, bool, int64, double, and six empty texts and lists.
    body = struct.pack("<I", 1) + text + struct.pack("<BB", 3, 0)
    body += b"\0" * (-len(body) % 8) + struct.pack("<qd", 0, arguments.value)
    body += struct.pack("<I", 1) + b"\0" + b"\0" * 3 + struct.pack("<IIIII", 0, 0, 0, 0, 0)
    answer = service(domain, f"{name}/set_parameters", "rcl_interfaces/SetParameters", body, arguments.seconds)
    count, done = struct.unpack_from("<IB", answer, 4)
    reason, _ = text_at(answer, 5)
    print(json.dumps({"count": count, "done": bool(done), "reason": reason}), flush=True)


def ask(arguments):
    """Points as a PointCloud2 in the map's frame; the answer has a class for each."""
    domain = Domain()
    places = [[float(v) for v in place.split(",")] for place in arguments.places]
    writer = domain.writer(arguments.prefix + "/questions", "sensor_msgs/msg/PointCloud2", qos(10))
    reader = domain.reader(arguments.prefix + "/answers", "sensor_msgs/msg/PointCloud2", qos(10))
    wait_matched([writer])
    wait_offered(reader)
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
                first = message.rfind(b"\x01", len(message) - 4) - count * POINT
                classes = [struct.unpack_from("<H", message, first + i * POINT + 16)[0] for i in range(count)]
                print(json.dumps({"classes": classes}), flush=True)
                return
        time.sleep(0.02)
    sys.exit("no answer")
