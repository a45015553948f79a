"""Services, parameters and questions, as rmw_cyclonedds asks them."""

import json
import struct
import sys
import time

from wire import (
    CDR,
    POINT,
    DataReader,
    DataWriter,
    Domain,
    Publisher,
    Subscriber,
    cdr_text,
    points_of,
    qos,
    stamp_of,
    take,
    text_at,
    wait_matched,
    write,
)


def call(arguments):
    """Calls a std_srvs/Trigger, which has nothing to say."""
    answer = service(Domain(), arguments.service.strip("/"), "std_srvs/Trigger", b"\0", arguments.seconds)
    text, _ = text_at(answer, 17)
    print(json.dumps({"success": bool(answer[4 + 16]), "message": text}), flush=True)


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
                first = message.rfind(b"\x01", len(message) - 4) - count * POINT
                classes = [struct.unpack_from("<H", message, first + i * POINT + 16)[0] for i in range(count)]
                print(json.dumps({"classes": classes}), flush=True)
                return
        time.sleep(0.02)
    sys.exit("no answer")
