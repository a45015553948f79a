"""Messages of ROS 2 as their bytes."""

import struct

POINT = 26  # bytes of a point of a map
CDR = b"\x00\x01\x00\x00"


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


def cdr_text(text, at):
    """A text of CDR behind `at` bytes."""
    data = text.encode() + b"\0"
    return b"\0" * (-at % 4) + struct.pack("<I", len(data)) + data
