"""What the node looks like from outside of DDS: Foxglove's protocol, and open ports."""

import json
import os
import struct
import time

from cdr import CDR


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
