"""What a node publishes: counted, decoded where it matters, timed."""

import json
import signal
import struct
import time

from cdr import POINT, points_of, stamp_of, text_at
from transport import Domain, qos, take


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


def layers_of(message):
    """Names of the layers of a GridMap."""
    _, at = text_at(message, 8)
    at += -at % 8 + 10 * 8
    (count,) = struct.unpack_from("<I", message, 4 + at)
    at += 4
    names = []
    for _ in range(count):
        name, at = text_at(message, at)
        names.append(name)
    return names


def costs_of(message):
    """How many cells of an OccupancyGrid are unknown, can be driven on, and cannot."""
    _, at = text_at(message, 8)
    at += -at % 4 + 8 + 4
    width, height = struct.unpack_from("<II", message, 4 + at)
    at += 8
    at += -at % 8 + 7 * 8
    (count,) = struct.unpack_from("<I", message, 4 + at)
    assert count == width * height, (count, width, height)
    cells = struct.unpack_from(f"<{count}b", message, 8 + at)
    assert all(-1 <= cell <= 100 for cell in cells)
    return {"unknown": cells.count(-1), "free": sum(0 <= cell < 100 for cell in cells), "blocked": cells.count(100)}


def listen(arguments):
    domain = Domain()
    readers = {
        "updates": domain.reader(arguments.prefix + "/voxels_updates", "sensor_msgs/msg/PointCloud2", qos(64)),
        "grids": domain.reader(arguments.prefix + "/occupancy", "nav_msgs/msg/OccupancyGrid", qos(1, True)),
        "layers": domain.reader(arguments.prefix + "/layers", "grid_map_msgs/msg/GridMap", qos(1, True)),
        "costmaps": domain.reader(arguments.prefix + "/costmap", "nav_msgs/msg/OccupancyGrid", qos(1, True)),
        "diagnostics": domain.reader("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", qos(64)),
    }
    counts = {name: 0 for name in readers}
    result = {"points": 0, "bytes": 0, "largest": 0}
    heard, last = [], None
    over = []
    signal.signal(signal.SIGTERM, lambda *_: over.append(True))
    end = time.time() + arguments.seconds
    while not over and time.time() < end:
        domain.wait(readers.values(), 0.1)
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
                elif name == "layers":
                    result["layer_names"] = layers_of(message)
                elif name == "costmaps":
                    result["costs"] = costs_of(message)
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
    # Until nothing has come for some time: a slow computer needs longer to take a large map.
    most, end = time.time() + 120, time.time() + arguments.seconds
    while time.time() < min(end, most):
        time.sleep(0.05)
        labels += len(take(names))
        came = take(reader)
        for message in came:
            messages, largest = messages + 1, max(largest, len(message))
            if stamp_of(message) > last:
                places, last = {}, stamp_of(message)
            count = points_of(message)
            # The last byte says that no point is missing; points may end in the same byte.
            data = message.rfind(b"\x01", len(message) - 4) - count * POINT
            for i in range(count):
                point = message[data + i * POINT : data + (i + 1) * POINT]
                places[point[:12]] = point[16:18]
        if came:
            end = time.time() + arguments.seconds
    print(json.dumps({"messages": messages, "largest": largest, "voxels": len(places), "label_info": labels}), flush=True)


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
