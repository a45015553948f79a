"""Configurations are checked by the library's own table."""

import copy
import math
import pickle

import numpy as np
import pytest

import e2bki
from e2bki import Config


def test_every_field_has_its_default_and_its_attribute():
    usual = Config()
    assert len(Config.fields()) >= 30
    for field in Config.fields():
        assert getattr(usual, field["name"]) == field["default"], field
        assert field["about"] and field["allowed"]
        assert type(field["default"]) in (float, int, bool, str, list)
    assert usual.max_range == math.inf and usual.prune is False and usual.threads == 0
    assert set(usual.to_dict()) == {field["name"] for field in Config.fields()}


def test_presets_and_files():
    for name in Config.presets():
        config = Config(preset=name)
        assert Config.from_toml(config.to_toml()) == config
        assert Config.from_toml(f'preset = "{name}"') == config
    paper = Config(preset="paper-rellis", resolution=0.1)
    assert Config.from_toml("[views]\nresolution = 0.3") == Config.from_toml("resolution = 0.3") == Config(resolution=0.3)
    assert (paper.clusters, paper.clustering, paper.resolution) == (256, "kmeans++", 0.1)
    assert (paper.cluster_count, paper.min_points_per_cluster, paper.max_extent) == ("per-class", 1, math.inf)


def test_numbers_of_any_type():
    a = Config(resolution=np.float32(0.25), clusters=np.int64(5), prune=np.bool_(False), length_scale=1, merge=True)
    b = Config(resolution=0.25, clusters=5, prune=False, length_scale=1.0, merge=True)
    assert a == b and a.prune is False and a.clusters == 5


def test_parameters_that_limit_each_other_may_come_in_any_order():
    a = Config(merge_radius=3.0, consistency_radius=4.0)
    assert a == Config(consistency_radius=4.0, merge_radius=3.0)
    assert a.replace(merge_radius=0.1, consistency_radius=0.2).merge_radius == 0.1


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"resolutoin": 0.1}, ["resolutoin", "did you mean `views.resolution`"]),
        ({"resolution": -1}, ["resolution", "0.005"]),
        ({"resolution": math.nan}, ["resolution"]),
        ({"resolution": "fine"}, ["resolution", "fine"]),
        ({"clusters": 1.5}, ["clusters", "1.5"]),
        ({"clusters": 10**30}, ["clusters"]),
        ({"clusters": -1}, ["clusters"]),
        ({"prune": 1}, ["prune", "true or false"]),
        ({"resolution": True}, ["resolution"]),
        ({"clustering": "dbscan"}, ["clustering", "kmeans++"]),
        ({"merge_radius": 3.0}, ["merge_radius", "consistency_radius"]),
        ({"preset": "best"}, ["best", "paper-urban"]),
        ({"clustering": 'x"\nresolution = 9'}, ["clustering"]),
    ],
)
def test_what_is_wrong_is_said(parameters, words):
    with pytest.raises(e2bki.Error) as caught:
        Config(**parameters)
    for word in words:
        assert word in str(caught.value)


def test_types_that_are_no_parameters():
    for value in ([0.2], None, np.zeros(2), {}):
        with pytest.raises((TypeError, ValueError), match="resolution"):
            Config(resolution=value)
    with pytest.raises(TypeError):
        Config(0.2)
    with pytest.raises(AttributeError, match="resolutoin"):
        Config().resolutoin  # noqa: B018
    with pytest.raises(AttributeError):
        Config().resolution = 0.3


def test_repr_copy_and_pickle():
    config = Config(resolution=0.1, prune=True, clustering="fps", max_range=50)
    assert repr(config) == 'Config(max_range=50.0, clustering="fps", prune=True, resolution=0.1)'
    assert eval(repr(config)) == config == pickle.loads(pickle.dumps(config)) == copy.deepcopy(config)
    assert repr(Config()) == "Config()" and "resolution" in dir(config)
    assert e2bki.Map(["a"], config=config).config == config
