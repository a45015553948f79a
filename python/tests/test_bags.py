"""Recordings: read as datasets, and written so that other people's readers understand them."""

import subprocess
import sys

import numpy as np
import pytest

import e2bki


def program(*arguments):
    done = subprocess.run([sys.executable, "-m", "e2bki", *map(str, arguments)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A simulated drive as MCAP, its map, and the map as MCAP."""
    folder = tmp_path_factory.mktemp("bags")
    drive, saved, recorded = folder / "drive.mcap", folder / "map.e2bki", folder / "map.mcap"
    program("simulate", "--world", "offroad", "--frames", 2, "--format", "mcap", "--out", drive)
    program("map", drive, "-o", saved, "--record", recorded)
    return drive, saved, recorded


def test_a_recording_is_a_dataset(recording):
    drive, saved, _ = recording
    dataset = e2bki.Dataset(drive, pictures=True)
    assert len(dataset) == 2 and dataset.format == "bag"
    m = e2bki.Map(dataset.classes)
    for frame in dataset:
        assert frame.picture is not None and len(frame.points) > 1000
        m.insert(frame)
    assert len(m) == len(e2bki.load(saved))
    with pytest.raises(ValueError, match="/points"):
        e2bki.Dataset(drive, topic="/nothing")


def fields_of(message):
    kinds = {2: "u1", 4: "<u2", 6: "<u4", 7: "<f4", 8: "<f8"}
    names = [f.name for f in message.fields]
    formats = [kinds[f.datatype] for f in message.fields]
    offsets = [f.offset for f in message.fields]
    kind = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": message.point_step})
    return np.frombuffer(bytes(message.data), dtype=kind)


EXPECTED = {
    "/map/primitives": "sensor_msgs/msg/PointCloud2",
    "/map/voxels": "sensor_msgs/msg/PointCloud2",
    "/map/occupancy": "nav_msgs/msg/OccupancyGrid",
    "/map/grid_map": "grid_map_msgs/msg/GridMap",
    "/map/layers": "grid_map_msgs/msg/GridMap",
    "/map/costmap": "nav_msgs/msg/OccupancyGrid",
    "/map/ellipsoids": "visualization_msgs/msg/MarkerArray",
    "/map/label_info": "vision_msgs/msg/LabelInfo",
    "/tf": "tf2_msgs/msg/TFMessage",
    "/diagnostics": "diagnostic_msgs/msg/DiagnosticArray",
}


def check(messages, saved):
    """Messages by topic against the map file."""
    m = e2bki.load(saved)
    points = fields_of(messages["/map/primitives"][-1])
    assert len(points) == len(m)
    assert set(points.dtype.names) == {"x", "y", "z", "rgb", "class", "p", "u"}
    assert (points["p"] > 0).all() and (points["u"] >= 0).all() and (points["u"] <= 1).all()
    grid = messages["/map/occupancy"][-1]
    cells = np.array(grid.data, dtype=np.int8).reshape(grid.info.height, grid.info.width)
    assert ((cells >= -1) & (cells <= 100)).all() and (cells >= 0).any()
    layers = messages["/map/grid_map"][-1]
    assert list(layers.layers) == ["class", "p", "u", "u_sem", "u_spa", "cost"]
    # By columns from the corner of the largest x and y: turned over, it is the grid of cells.
    cost = np.array(layers.data[5].data, dtype=np.float32).reshape(grid.info.height, grid.info.width)[::-1, ::-1]
    assert np.array_equal(np.isnan(cost), cells < 0) and np.array_equal(cost[cells >= 0], cells[cells >= 0])
    center = layers.info.pose.position
    assert center.x == pytest.approx(grid.info.origin.position.x + layers.info.length_x / 2, abs=1e-6)
    grid, layers = messages["/map/costmap"][-1], messages["/map/layers"][-1]
    cells = np.array(grid.data, dtype=np.int8).reshape(grid.info.height, grid.info.width)
    assert {"height", "slope", "obstacle", "state", "cost", "risk_cost"} <= set(layers.layers)
    state = layers.data[list(layers.layers).index("state")].data
    state = np.array(state, dtype=np.float32).reshape(grid.info.height, grid.info.width)[::-1, ::-1]
    assert np.array_equal(state == 0, cells < 0) and (cells == 100).any() and ((cells >= 0) & (cells < 50)).any()
    shapes = messages["/map/ellipsoids"][-1].markers
    assert shapes[0].action == 3 and len(shapes) > 100
    turn = shapes[1].pose.orientation
    assert turn.x**2 + turn.y**2 + turn.z**2 + turn.w**2 == pytest.approx(1)
    assert [c.class_name for c in messages["/map/label_info"][0].class_map] == list(m.classes.names)
    assert len(messages["/tf"]) == 2 and messages["/tf"][0].transforms[0].child_frame_id == "lidar"
    assert {v.key for v in messages["/diagnostics"][0].status[0].values} >= {"frame", "primitives"}


def test_the_map_is_read_by_mcap_ros2_support(recording):
    reader = pytest.importorskip("mcap.reader", reason="mcap-ros2-support is not installed")
    decoder = pytest.importorskip("mcap_ros2.decoder", reason="mcap-ros2-support is not installed")
    _, saved, recorded = recording
    messages = {}
    with open(recorded, "rb") as file:
        opened = reader.make_reader(file, decoder_factories=[decoder.DecoderFactory()], validate_crcs=True)
        summary = opened.get_summary()
        assert summary.statistics.message_count == sum(summary.statistics.channel_message_counts.values())
        for schema, channel, _, message in opened.iter_decoded_messages():
            assert schema.name == EXPECTED[channel.topic]
            messages.setdefault(channel.topic, []).append(message)
    assert set(messages) == set(EXPECTED)
    check(messages, saved)


def test_the_recordings_are_read_by_rosbags(recording):
    highlevel = pytest.importorskip("rosbags.highlevel", reason="rosbags is not installed")
    from pathlib import Path

    from rosbags.typesys import Stores, get_typestore

    drive, saved, recorded = recording
    for path in (drive, recorded):
        messages = {}
        with highlevel.AnyReader([Path(path)], default_typestore=get_typestore(Stores.ROS2_HUMBLE)) as reader:
            for connection, _, raw in reader.messages():
                message = reader.deserialize(raw, connection.msgtype)
                messages.setdefault(connection.topic, []).append(message)
        if path == recorded:
            check(messages, saved)
        else:
            assert len(messages["/points"]) == 2 and "/camera/camera_info" in messages


@pytest.mark.parametrize("compression", ["NONE", "LZ4", "ZSTD"])
def test_recordings_of_other_programs_are_read(tmp_path, recording, compression):
    """The drive written again by PyPI's `mcap`, with every compression."""
    writer = pytest.importorskip("mcap.writer", reason="mcap-ros2-support is not installed")
    from mcap.reader import make_reader

    drive, saved, _ = recording
    again = tmp_path / "again.mcap"
    with open(drive, "rb") as source, open(again, "wb") as target:
        out = writer.Writer(target, compression=getattr(writer.CompressionType, compression), chunk_size=300_000)
        out.start("ros2", "test")
        schemas, channels = {}, {}
        for schema, channel, message in make_reader(source).iter_messages():
            if schema.id not in schemas:
                schemas[schema.id] = out.register_schema(schema.name, schema.encoding, schema.data)
            if channel.id not in channels:
                channels[channel.id] = out.register_channel(
                    channel.topic, channel.message_encoding, schemas[schema.id], channel.metadata
                )
            out.add_message(channels[channel.id], message.log_time, message.data, message.publish_time)
        out.finish()
    program("map", again, "-o", tmp_path / "again.e2bki")
    assert (tmp_path / "again.e2bki").read_bytes() == saved.read_bytes()
