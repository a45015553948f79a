"""The viewer and the report from Python: what a browser would get."""

import base64
import json
import os
import socket
import struct
import urllib.request

import numpy as np
import pytest

import e2bki


class Browser:
    """A WebSocket in a few lines: what the page says and hears."""

    def __init__(self, viewer):
        self.socket = socket.create_connection(("127.0.0.1", viewer.port), timeout=30)
        key = base64.b64encode(os.urandom(16)).decode()
        head = f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{viewer.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        self.socket.sendall(f"{head}Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        self.file = self.socket.makefile("rb")
        assert b" 101 " in self.file.readline()
        while self.file.readline() != b"\r\n":
            pass
        self.hello = self.hear()

    def hear(self):
        first, length = self.file.read(2)
        if length == 126:
            (length,) = struct.unpack(">H", self.file.read(2))
        elif length == 127:
            (length,) = struct.unpack(">Q", self.file.read(8))
        data = self.file.read(length)
        return json.loads(data) if first & 15 == 1 else data

    def say(self, **request):
        text = json.dumps(request).encode()
        assert len(text) < 126
        self.socket.sendall(bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text)

    def tile(self, what, entry, index=0):
        """How much a tile holds, and its bytes; news in between are left out."""
        self.say(kind="tile", map=index, what=what, tile=entry[:2])
        while not isinstance(data := self.hear(), bytes):
            assert data["kind"] in ("changed", "live"), data
        assert data[:4] == b"E2T1"
        return struct.unpack("<I", data[20:24])[0], data

    def belief(self, at, index=0):
        self.say(kind="query", id=1, map=index, at=at)
        while (said := self.hear())["kind"] != "answer":
            pass
        return said["belief"]

    def close(self):
        self.file.close()
        self.socket.close()


def test_a_map_is_shown_until_it_is_closed(street, frames):
    with street.view(port=0, frames=frames) as viewer:
        assert f":{viewer.port}/" in viewer.url and viewer.url in repr(viewer) and not viewer.closed
        with urllib.request.urlopen(viewer.url, timeout=30) as page:
            assert page.status == 200 and b"e2bki viewer" in page.read()
        browser = Browser(viewer)
        (about,) = browser.hello["maps"]
        assert sum(tile[3] for tile in about["tiles"]) == len(street) and len(about["trajectory"]) == len(frames)
        assert sum(browser.tile("primitives", tile)[0] for tile in about["tiles"]) == len(street)
        assert sum(browser.tile("points", tile)[0] for tile in about["points"]) > 1000
        place = street.primitives().mean[7].tolist()
        np.testing.assert_array_equal(browser.belief(place)["alpha"], street.query([place]).alpha[0])
        browser.close()
    assert viewer.closed and "closed" in repr(viewer)
    viewer.close()
    with pytest.raises(OSError):
        urllib.request.urlopen(viewer.url, timeout=5)


def test_a_live_map_is_followed(drive, frames):
    m = e2bki.Map(drive.classes)
    m.insert(frames[0])
    with m.view(live=True, port=0) as viewer:
        assert "live" in repr(viewer)
        browser = Browser(viewer)
        for frame in frames[1:]:
            m.insert(frame)
        m.remove_outside([-1e4] * 3, high=[1e4] * 3)  # sends all
        browser.close()
        late = Browser(viewer)
        tiles = {tuple(tile[:2]): tile[3] for tile in late.hello["maps"][0]["tiles"]}
        while sum(tiles.values()) < len(m):  # what is still on its way
            news = late.hear()
            tiles.update((tuple(tile[:2]), tile[3]) for tile in news.get("tiles", []))
        assert sum(tiles.values()) == len(m)
        late.close()
    m.insert(frames[0])  # the map goes on without


def test_methods_side_by_side(drive, frames, street, tmp_path):
    other = e2bki.baselines.SBki(drive.classes)
    for frame in frames:
        other.insert(frame)
    with e2bki.view(street, other, port=0, names=["ours", "theirs"]) as viewer:
        browser = Browser(viewer)
        ours, theirs = browser.hello["maps"]
        assert (ours["name"], theirs["name"]) == ("ours", "theirs") and ours["primitives"] and not theirs["primitives"]
        voxels = other.voxels()
        assert sum(browser.tile("voxels", tile, 1)[0] for tile in theirs["tiles"]) == len(voxels)
        at = voxels.center[3].tolist()
        np.testing.assert_array_equal(browser.belief(at, 1)["alpha"], other.query([at]).alpha[0])
        browser.close()
    street.save(tmp_path / "a.e2bki")
    with e2bki.view(tmp_path / "a.e2bki", port=0) as first, e2bki.view(street, port=first.port) as second:
        assert second.port != first.port  # a taken port gives the next free one


def test_what_cannot_be_shown(street, tmp_path):
    for call in (lambda: e2bki.view(), lambda: e2bki.view(street, street, street), lambda: e2bki.view(7)):
        with pytest.raises(TypeError):
            call()
    for options in ({"host": "nowhere"}, {"names": ["a", "b"]}, {"resolution": 0.0}):
        with pytest.raises(ValueError):
            street.view(port=0, **options)
    with pytest.raises(OSError):
        street.view(host="203.0.113.1", port=0)
    with pytest.raises(OSError):
        e2bki.view(tmp_path / "nothing.e2bki")
    with pytest.raises(TypeError):
        e2bki.view(street, street, live=True, port=0)


def test_a_report_is_one_file(street, tmp_path):
    street.report(tmp_path / "map.html", title="A street", trajectory=np.zeros((2, 3)))
    text = (tmp_path / "map.html").read_text()
    assert text.count("data:image/png;base64,") == 3 and "A street" in text and "cell_size" in text
    with pytest.raises(ValueError, match="nowhere"):
        street.report(tmp_path / "nowhere" / "map.html")


def test_every_command_can_be_run(tmp_path):
    assert e2bki.run(["demo", "--frames", "2", "--out", str(tmp_path / "demo"), "--report", str(tmp_path / "r.html")]) == 0
    assert (tmp_path / "demo" / "map.e2bki").exists() and (tmp_path / "r.html").stat().st_size > 10_000
    assert e2bki.run(["check", str(tmp_path / "demo" / "map.e2bki")]) == 0
    assert e2bki.run(["no-such-command"]) == 2
