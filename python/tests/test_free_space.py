"""Free, occupied, unknown: a round wall around a sensor, on flat ground."""

import numpy as np
import pytest

import e2bki

WALL, HEIGHT = 12.0, 1.5


def round_wall():
    """What 64 beams over 33.2 degrees see from 1.5 m above ground."""
    elevation, azimuth = np.meshgrid(
        np.radians(np.linspace(16.6, -16.6, 64)), np.arange(1024) * 2 * np.pi / 1024, indexing="ij"
    )
    direction = np.stack(
        [np.cos(azimuth) * np.cos(elevation), np.sin(azimuth) * np.cos(elevation), np.sin(elevation)], -1
    ).reshape(-1, 3)
    to_wall = WALL / np.hypot(direction[:, 0], direction[:, 1])
    with np.errstate(divide="ignore"):
        to_ground = np.where(direction[:, 2] < 0, -(HEIGHT - 0.1) / direction[:, 2], np.inf)
    points = direction * np.minimum(to_wall, to_ground)[:, None]
    return points.astype(np.float32), (to_wall < to_ground).astype(np.int64)


@pytest.fixture(scope="module")
def room():
    m = e2bki.Map(["ground", "wall"], config=e2bki.Config(free_space=True))
    points, labels = round_wall()
    for step in range(3):
        pose = np.eye(4)
        pose[:3, 3] = 0.2 * step, 0, HEIGHT
        m.insert(points, labels=labels, world_from_sensor=pose, time=100.0 + step)
    return m


def test_places_are_free_occupied_or_unknown(room):
    b = room.query([[4.0, 0.1, 1.0], [-WALL + 0.1, 0.05, 1.2], [30.0, 0, 1.0]])
    assert b.state.dtype == np.uint8 and b.state.tolist() == [1, 2, 0]
    assert b.existence[0] == 0 and b.existence[1] > 0.5 and np.isnan(b.existence[2])
    assert b.hits[1] > 0 and b.passes[0] == 3 and b.last_seen[0] == 102 and np.isnan(b.last_seen[2])


def test_what_was_not_seen_for_long_is_forgotten_when_it_is_read(room):
    b = room.query([[4.0, 0.1, 1.0], [-WALL + 0.1, 0.05, 1.2], [30.0, 0, 1.0]])
    state, existence = b.as_of(102.0, 60.0)
    assert state.tolist() == b.state.tolist() and np.array_equal(existence, b.existence, equal_nan=True)
    state, existence = b.as_of(102.0 + 61, 60.0)
    assert state.dtype == np.uint8 and state.tolist() == [0, 0, 0]
    assert 0.2 < existence[0] < 0.3 and 0.5 < existence[1] < b.existence[1] and np.isnan(existence[2])
    # The wall is never forgotten; what is free fades as the class that may have come there.
    assert b.as_of(1e6, [60.0, np.inf])[0].tolist() == [0, 2, 0]
    # The map stays as it is.
    assert room.query([[4.0, 0.1, 1.0]]).state.tolist() == [1]
    for wrong in (0.0, np.nan, [1.0, 2.0, 3.0]):
        with pytest.raises(ValueError, match="half_life"):
            b.as_of(100.0, wrong)
    with pytest.raises(ValueError, match="as_of"):
        b.as_of(np.nan, 1.0)


def test_points_in_free_space_move(room):
    pose = np.eye(4)
    pose[2, 3] = HEIGHT
    points = np.array([[4.0, 0.1, 1.0 - HEIGHT], [-WALL + 0.1, 0.05, 1.2 - HEIGHT]], np.float32)
    moving = room.moving(points, world_from_sensor=pose)
    assert moving.dtype == bool and moving.tolist() == [True, False]
    without = e2bki.Map(["ground", "wall"], config=e2bki.Config(free_space=False))
    assert not without.moving(points, world_from_sensor=pose).any()


def test_cells_from_above_have_the_state_of_the_space_over_the_ground(room):
    b = room.query_bev([[5.0, 1.0], [-WALL + 0.1, 0.05], [30.0, 0]])
    assert b.state.tolist() == [1, 2, 0] and b.label[0] == 0
    # What is as low as the ground meets it.
    ring = [[6.5 * np.cos(a), 6.5 * np.sin(a)] for a in np.linspace(0, 6, 50)]
    assert (room.query_bev(ring, band=(-0.05, 0.05)).state == 2).any()
    assert not (room.query_bev(ring).state == 2).any()
    cells = room.bev(resolution=0.5)
    inside = np.hypot(*cells.center.T) < 9
    assert len(cells.state) == len(cells) and (cells.state[inside] != 2).all() and (cells.state[inside] == 1).mean() > 0.5
    assert (cells.state == 2).sum() > 50
    with pytest.raises(ValueError, match="band"):
        room.bev(band=(2.0, 1.0))


def test_a_map_without_free_space_knows_no_states():
    m = e2bki.Map(["ground", "wall"], config=e2bki.Config(free_space=False))
    points, labels = round_wall()
    m.insert(points, labels=labels, world_from_sensor=np.eye(4))
    assert not m.query([[4.0, 0.1, -0.5]]).state.any() and not m.bev().state.any()


def test_points_in_an_image_come_with_their_scan_and_beams():
    points, labels = round_wall()
    ahead = points[:, 0] > np.abs(points[:, 1])
    places = np.stack(np.meshgrid(np.arange(-9, 10, 2.0), np.arange(-9, 10, 2.0), [0.4, 1.2]), -1).reshape(-1, 3)
    pose = np.eye(4)
    pose[2, 3] = HEIGHT

    def states(points, **given):
        m = e2bki.Map(["ground", "wall"], config=e2bki.Config(free_space=True))
        m.insert(points, world_from_sensor=pose, **given)
        return m.query(places).state

    whole = states(points, labels=labels)
    assert (whole == 1).mean() > 0.5
    part = states(points[ahead], labels=labels[ahead], scan=points)
    assert part.tolist() == whole.tolist()
    rings = np.repeat(np.arange(64)[::-1], 1024)
    named = states(points[ahead], labels=labels[ahead], scan=points, rings=rings)
    assert (named == whole).mean() > 0.98
    frame = e2bki.Frame(points[ahead], labels=labels[ahead], scan=points, world_from_sensor=pose)
    m = e2bki.Map(["ground", "wall"], config=e2bki.Config(free_space=True))
    m.insert(frame)
    assert m.query(places).state.tolist() == whole.tolist()
    with pytest.raises(ValueError, match="rings"):
        states(points[ahead], labels=labels[ahead], scan=points, rings=rings[1:])
    with pytest.raises(ValueError, match="scan"):
        states(points[ahead], labels=labels[ahead], scan=points[:, :2])
