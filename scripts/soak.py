"""Ten clients that ask a running viewer, and a watch on the mapper's memory: soak.py ADDRESS PID SECONDS [BEFORE].

Needs nothing but Python. Fails if the resident memory of the last quarter is more than 2 % above that of the second
quarter, or the median latency of an answer more than 10 %; the first quarter is left to warm up. BEFORE: so many seconds of
the same before the ones that count, for a budget that takes longer to fill: until then a map has to grow.
"""

import base64
import json
import os
import random
import socket
import statistics
import struct
import sys
import threading
import time

CLIENTS = 10
# Questions of each client in a second.
RATE = 2.0


class Client:
    """A WebSocket client: text messages out, any messages in."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        assert host in ("127.0.0.1", "localhost", "[::1]"), "loopback only"
        self.socket = socket.create_connection((host.strip("[]"), int(port)), timeout=30)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            "GET /ws HTTP/1.1",
            f"Host: {address}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Version: 13",
            f"Origin: http://{address}",
        ]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.rest = b""
        while b"\r\n\r\n" not in self.rest:
            self.rest += self._more()
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        assert b"101" in head.split(b"\r\n")[0], head.decode()

    def _more(self):
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionError("the viewer closed the connection")
        return data

    def _take(self, count):
        while len(self.rest) < count:
            self.rest += self._more()
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def ask(self, message):
        data, mask = json.dumps(message).encode(), os.urandom(4)
        head = bytes([0x81]) + (bytes([0x80 | len(data)]) if len(data) < 126 else bytes([0xFE]) + struct.pack(">H", len(data)))
        self.socket.sendall(head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))

    def hear(self):
        """The next message: its kind (1 text, 2 bytes) and contents."""
        first, second = self._take(2)
        length = second & 0x7F
        if length >= 126:
            length = struct.unpack(">H", self._take(2))[0] if length == 126 else struct.unpack(">Q", self._take(8))[0]
        return first & 0x0F, self._take(length)


def client(address, number, until, answers, faults):
    """Asks for beliefs near where the vehicle is, one at a time, and notes how long each answer takes."""
    try:
        asker, at, count = Client(address), [0.0, 0.0, 0.0], 0
        chance = random.Random(number)
        while time.time() < until:
            count += 1
            place = [at[0] + chance.uniform(-20, 20), at[1] + chance.uniform(-20, 20), at[2] - 1.5]
            begun = time.time()
            asker.ask({"kind": "query", "id": count, "map": 0, "at": place})
            while True:
                kind, data = asker.hear()
                if kind == 8:
                    raise ConnectionError("the viewer closed the connection")
                said = json.loads(data) if kind == 1 else {}
                if said.get("kind") == "live" and said.get("at"):
                    at = said["at"]
                if said.get("id") == count:
                    break
            answers.append((begun, time.time() - begun))
            time.sleep(max(0.0, 1.0 / RATE - (time.time() - begun)))
    except Exception as fault:  # reported by the main thread
        faults.append(f"client {number}: {fault!r}")


def resident_mb(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main():
    address, pid, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    begun = time.time() + (float(sys.argv[4]) if len(sys.argv) > 4 else 0.0)
    answers, faults, memory = [], [], []
    threads = [
        threading.Thread(target=client, args=(address, number, begun + seconds, answers, faults), daemon=True)
        for number in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    while time.time() < begun + seconds and not faults:
        memory.append((time.time(), resident_mb(pid)))
        time.sleep(1.0)
    for thread in threads:
        thread.join(timeout=60)

    def quarter(values, number):
        low, high = begun + seconds * number / 4, begun + seconds * (number + 1) / 4
        return [value for when, value in values if low <= when < high]

    for fault in faults:
        print(f"error: {fault}")
    failed = bool(faults)
    for name, unit, values, scale, most in [
        ("resident memory", "MB", memory, 1.0, 1.02),
        ("latency of an answer", "ms", answers, 1e3, 1.10),
    ]:
        medians = [statistics.median(quarter(values, number)) * scale if quarter(values, number) else float("nan") for number in range(4)]
        grown = medians[3] / medians[1]
        print(f"{name}, {unit}, by quarter: {', '.join(f'{m:.1f}' for m in medians)}; last to second {100 * (grown - 1):+.1f} %")
        failed |= not grown <= most
    print(f"answers: {len(answers)}")
    sys.exit(1 if failed else 0)


main()
