"""CycloneDDS over loopback, with messages of ROS 2 as their bytes."""

import os
import struct
import sys
import time
from dataclasses import dataclass

from cdr import CDR

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
        self.waiting = None

    def topic(self, dds_name, dds_type, quality):
        return Topic(self.participant, dds_name, bytes_of(dds_type), qos=quality)

    def writer(self, name, ros, quality):
        return DataWriter(Publisher(self.participant), self.topic("rt" + name, type_name(ros), quality), qos=quality)

    def reader(self, name, ros, quality):
        return DataReader(Subscriber(self.participant), self.topic("rt" + name, type_name(ros), quality), qos=quality)

    def wait(self, readers, seconds):
        """Until one of them has something, or the time is over."""
        if self.waiting is None:
            self.waiting = WaitSet(self.participant)
            for reader in readers:
                self.waiting.attach(ReadCondition(reader, ANY))
        self.waiting.wait(duration(milliseconds=1000 * seconds))


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


def wait_offered(reader):
    while not reader.get_matched_publications():
        time.sleep(0.05)


def service(domain, name, kind, request, seconds):
    """Calls a service: the answer. Requests of rmw_cyclonedds carry eight bytes of the client's id and a number."""
    package, base = kind.split("/")
    quality = qos(10)
    asked = domain.topic(f"rq/{name}Request", f"{package}.srv.dds_.{base}_Request_", quality)
    answered = domain.topic(f"rr/{name}Reply", f"{package}.srv.dds_.{base}_Response_", quality)
    writer = DataWriter(Publisher(domain.participant), asked, qos=quality)
    reader = DataReader(Subscriber(domain.participant), answered, qos=quality)
    wait_matched([writer])
    wait_offered(reader)
    time.sleep(0.5)
    body = struct.pack("<Qq", 0x1234, 1) + request
    write(writer, CDR + body + b"\0" * (-len(body) % 4))
    end = time.time() + seconds
    while time.time() < end:
        for message in take(reader):
            if struct.unpack_from("<Qq", message, 4) == (0x1234, 1):
                return message[:4] + message[20:]
        time.sleep(0.02)
    sys.exit(f"{name} does not answer")
