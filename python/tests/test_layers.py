"""Grids for planners, and ways on them."""

import numpy as np
import pytest

import e2bki


@pytest.fixture(scope="module")
def field():
    """Ten by ten metres of road with a wall across it that leaves a gap at one end: at the other it ends with the road."""
    x, y = np.meshgrid(np.arange(2.0, 12.0, 0.1), np.arange(-5.0, 5.0, 0.1))
    ground = np.stack([x.ravel(), y.ravel(), np.full(x.size, -1.0)], axis=1)
    y, z = np.meshgrid(np.arange(-5.0, 2.0, 0.05), np.arange(-1.0, 0.5, 0.05))
    wall = np.stack([np.full(y.size, 7.0), y.ravel(), z.ravel()], axis=1)
    m = e2bki.Map(e2bki.Classes(["road", "wall"], costs={"road": 0, "wall": 100}))
    for part, label in ((ground, 0), (wall, 1)):
        m.insert(part, labels=np.full(len(part), label), world_from_sensor=np.eye(4))
    return m


def test_layers_are_arrays_where_the_cells_are(field):
    layers = field.layers(resolution=0.2, region=(2, -5, 12, 5))
    assert layers["height"].shape == layers["occupancy"].shape == (50, 50)
    assert layers["probability"].shape == (50, 50, 2)
    assert layers["corner"] == pytest.approx((2.0, -5.0)) and layers["resolution"] == 0.2
    row, column = int((0 + 5) / 0.2), int((4 - 2) / 0.2)
    assert layers["height"][row, column] == pytest.approx(-1.0, abs=0.03)
    assert layers["state"][row, column] == 1 and layers["class"][row, column] == 0
    wall = slice(int((7 - 2) / 0.2) - 1, int((7 - 2) / 0.2) + 2)
    assert np.nanmax(layers["lethal"][row, wall]) > 0.9
    assert (layers["occupancy"][row, wall] == 100).any()


def test_a_way_goes_through_the_gap(field):
    way = field.plan((4, -2), (10, -2), robot={"width": 0.5})
    assert way["length"] > 8
    crossing = way["points"][np.argmin(np.abs(way["points"][:, 0] - 7))]
    assert crossing[1] > 2
    assert len(way["cost"]) == len(way["risk"]) == len(way["points"])
    with pytest.raises(e2bki.Error, match="obstacle"):
        field.plan((7, 0), (10, 0))
    with pytest.raises(e2bki.Error, match="outside"):
        field.plan((4, 0), (100, 0))


def test_what_nobody_said_is_an_error_or_said(field):
    m = e2bki.Map(["road", "lava"])
    m.insert(np.ones((50, 3)), labels=np.zeros(50, int))
    with pytest.raises(e2bki.Error, match="`road`, `lava`.*with unknown=\"lethal\"") as refused:
        m.layers()
    assert "--" not in str(refused.value)
    assert m.layers(unknown="lethal")["taken_for_obstacles"] == ["road", "lava"]
    assert m.layers(robot={"costs": {"road": 0, "lava": 100}})["taken_for_obstacles"] == []
    with pytest.raises(e2bki.Error, match="width"):
        m.layers(robot={"width": -1})
    with pytest.raises(e2bki.Error, match="unknown"):
        m.layers(unknown="free")
    with pytest.raises(FileNotFoundError):
        m.layers(robot="no-such-robot.toml")


def test_properties_of_classes_survive(field):
    import pickle

    classes = e2bki.Classes.named("offroad7")
    assert classes.costs["paved"] == 0 and classes.costs["object"] == 100
    again = pickle.loads(pickle.dumps(classes))
    assert again == classes and again.costs == classes.costs and again.movable == classes.movable
