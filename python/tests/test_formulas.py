"""The map against the formulas in NumPy."""

import numpy as np
import oracle
import pytest

import e2bki

CLASSES = ["a", "b", "c"]
# Every point speaks for itself: without what its neighbours in the scan say.
ALONE = {"context": 0.0, "class_trust": 0.0}


def pose(yaw, translation):
    matrix = np.eye(4)
    matrix[:2, :2] = [[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]]
    matrix[:3, 3] = translation
    return matrix


@pytest.mark.parametrize("correlation", [0.0, 0.4])
def test_fusion_and_moments_of_one_cluster(rng, correlation):
    # All points in one cube and of one class: one primitive, whose opinion is Dempster's of all of them.
    points = rng.uniform([2.01, 0.01, 0.01], [2.24, 0.24, 0.24], (25, 3)).astype(np.float32)
    evidence = rng.uniform(0, 0.2, (25, 3)).astype(np.float32)
    evidence[:, 1] += 1
    m = e2bki.Map(CLASSES, config=e2bki.Config(gate="off", correlation=correlation, **ALONE))
    report = m.insert(points, evidence=evidence)
    assert report.kept == 25 and len(m) == 1
    g = m.primitives()
    b, u = oracle.fused(*oracle.opinions_of_evidence(evidence), correlation)
    np.testing.assert_allclose(g.uncertainty, [u], rtol=1e-5)
    np.testing.assert_allclose(g.ln_uncertainty, [np.log(u)], rtol=1e-5)
    np.testing.assert_allclose(g.probability[0], b + u / 3, atol=1e-6)
    mean, covariance = oracle.moments(points)
    np.testing.assert_allclose(g.mean[0], mean, atol=1e-9)
    np.testing.assert_allclose(g.covariance[0], covariance, atol=1e-9)
    np.testing.assert_allclose(g.range, np.linalg.norm(points, axis=1).mean(), atol=1e-4)
    assert g.weight[0] == 25 and g.label[0] == 1


def test_every_primitive_is_the_fusion_of_its_cube(scan):
    points, evidence, _ = scan
    world_from_sensor = pose(0.7, [1000.5, -2000.25, 3.5])
    m = e2bki.Map(CLASSES, config=e2bki.Config(gate="off", prune=False, **ALONE))
    m.insert(points, evidence=evidence, world_from_sensor=world_from_sensor)
    world = points.astype(np.float64) @ world_from_sensor[:3, :3].T + world_from_sensor[:3, 3]
    g, side = m.primitives(), m.config.cell_size
    cubes, classes = np.floor(world / side), evidence.argmax(axis=1)
    checked = 0
    for cube, label in {(tuple(c), int(k)) for c, k in zip(cubes, classes)}:
        inside = np.all(cubes == cube, axis=1) & (classes == label)
        mean, covariance = oracle.moments(world[inside])
        nearest = np.where(g.label == label)[0]
        j = nearest[np.linalg.norm(g.mean[nearest] - mean, axis=1).argmin()]
        b, u = oracle.fused(*oracle.opinions_of_evidence(evidence[inside]), m.config.correlation)
        if abs(g.weight[j] - inside.sum()) > 0:
            continue  # a point on the face of a cube may be rounded to the other side
        checked += 1
        np.testing.assert_allclose(g.mean[j], mean, atol=1e-6)
        np.testing.assert_allclose(g.covariance[j], covariance, atol=1e-6)
        np.testing.assert_allclose(g.uncertainty[j], u, rtol=1e-4)
        np.testing.assert_allclose(g.probability[j], b + u / 3, atol=1e-5)
    assert checked > 0.9 * len(g)


def test_ellipsoids_are_those_of_the_covariances(street):
    g = street.primitives()
    for j in range(0, len(g), max(1, len(g) // 200)):
        semi_axes, axes = oracle.ellipsoid(g.covariance[j], street.config.ellipsoid_mass)
        np.testing.assert_allclose(g.semi_axes[j], semi_axes, rtol=1e-4, atol=1e-6)
        # Axes may point either way, and any way where two are equally long.
        shape = axes.T @ np.diag(semi_axes**2) @ axes
        ours = g.axes[j].T @ np.diag(g.semi_axes[j] ** 2) @ g.axes[j]
        np.testing.assert_allclose(ours, shape, atol=1e-6)
    names = ("mean", "covariance", "probability", "weight")
    shapes = oracle.surfaces({name: getattr(g, name) for name in names})
    reach = [oracle.reach_of(*of, street.config) for of in zip(g.uncertainty, g.range, shapes)]
    # How flat a surface is comes from a root, which makes the rounding of moments larger where it is not flat.
    rtol = 1e-5 if street.config.growth == "everywhere" else 2e-3
    np.testing.assert_allclose(g.reach, reach, rtol=rtol)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"reach": "uniform"},
        {"profile": "quadratic", "growth": "planes", "reach_growth": 0.8},
        {"length_scale": 0.5, "prior": 0.1, "ellipsoid_mass": 0.5},
        {"doubt": "ignorance", "vote_correlation": 1.0, "reach_growth": 0.0},
    ],
)
def test_the_posterior_is_the_kernel_sum_over_all_primitives(scan, rng, parameters):
    points, evidence, _ = scan
    m = e2bki.Map(CLASSES, config=e2bki.Config(**parameters))
    m.insert(points, evidence=evidence)
    g = m.primitives()
    arrays = {name: getattr(g, name) for name in ("mean", "covariance", "probability", "uncertainty", "weight", "range")}
    places = rng.uniform([1.5, -1.5, -0.6], [4.5, 1.5, 0.6], (150, 3))
    alpha, u_sem, u_spa, mass = oracle.posterior(places, arrays, m.config)
    b = m.query(places)
    np.testing.assert_allclose(b.alpha, alpha, rtol=1e-3, atol=2e-4)
    # Where the kernel is about to vanish, single precision decides whether anything is left.
    clear = (mass > 1e-4) | (mass == 0)
    assert clear.sum() > 100
    np.testing.assert_array_equal(b.observed[clear], (mass > 0)[clear])
    sure = mass > 1e-2
    np.testing.assert_allclose(b.u_sem[sure], u_sem[sure], rtol=1e-2, atol=1e-6)
    np.testing.assert_allclose(b.u_spa, u_spa, rtol=1e-3)
    np.testing.assert_allclose(b.u[sure], np.minimum(u_sem + u_spa, 1)[sure], rtol=1e-2)
    assert np.all(b.u[~b.observed] == 1) and np.all(b.label[~b.observed] == -1)
    margin = np.sort(alpha, axis=1)
    decided = sure & (margin[:, -1] - margin[:, -2] > 1e-3)
    np.testing.assert_array_equal(b.label[decided], alpha.argmax(axis=1)[decided])


def test_what_a_belief_says_fits_its_alpha(street):
    b = street.voxels(resolution=0.3)
    alpha, strength = b.alpha, b.alpha.sum(axis=1)
    np.testing.assert_allclose(b.strength, strength, rtol=1e-4)
    np.testing.assert_allclose(b.probability.sum(axis=1), 1, rtol=1e-4)
    # Evidence too small to show beside the prior makes a tie of α, not of the evidence.
    np.testing.assert_array_equal(alpha[np.arange(len(b)), b.label], alpha.max(axis=1))
    p = alpha.max(axis=1) / strength
    np.testing.assert_allclose(b.confidence, p, rtol=1e-4)
    np.testing.assert_allclose(b.variance, p * (1 - p) / (strength + 1), atol=1e-6)
    assert np.all(b.observed) and len(b) == len(b.center)


def test_views_agree_with_queries(street):
    voxels = street.voxels()
    np.testing.assert_allclose(street.query(voxels.center).alpha, voxels.alpha, rtol=1e-4, atol=1e-6)
    live = street.live_voxels()
    assert len(live) == len(voxels)
    order, theirs = (np.lexsort(np.round(v.center / 0.1).T) for v in (voxels, live))
    np.testing.assert_array_equal(voxels.label[order], live.label[theirs])
    np.testing.assert_allclose(voxels.u[order], live.u[theirs], atol=1e-3)
    cells = street.bev()
    assert cells.center.shape[1] == 2
    np.testing.assert_allclose(street.query_bev(cells.center).u, cells.u, atol=1e-4)
    with pytest.raises(e2bki.Error, match="most likely class"):
        live.alpha  # noqa: B018


def test_logits_probabilities_and_dirichlet_are_the_same_evidence(scan):
    points, evidence, _ = scan

    def alpha(**semantics):
        m = e2bki.Map(CLASSES, config=e2bki.Config(gate="off"))
        m.insert(points, **semantics)
        return m.query(points).alpha

    expected = alpha(evidence=evidence)
    np.testing.assert_allclose(alpha(dirichlet=evidence + 1), expected, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(alpha(logits=np.log(evidence), logit_kind="evidential"), expected, rtol=0.05, atol=0.01)
    b, u = oracle.opinions_of_evidence(evidence)
    p = b + u[:, None] / 3
    np.testing.assert_allclose(alpha(probabilities=p, uncertainty=u), expected, rtol=1e-3, atol=1e-4)
    softmax = alpha(logits=np.log(p))
    np.testing.assert_allclose(softmax, alpha(probabilities=p), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("reading", ["decomposed", "variance"])
def test_metrics_are_those_of_numpy(street, frames, reading):
    places = np.concatenate([f.world_points for f in frames[::2]])
    truth = np.concatenate([f.truth for f in frames[::2]])
    # Some places with nothing, some without truth.
    places = np.concatenate([places, places[:200] + [0, 0, 80]])
    truth = np.concatenate([truth, truth[:200]])
    b = street.query(places)
    confidence = {"decomposed": 1 - b.u, "variance": 1 - np.clip(b.variance / 0.25, 0, 1)}[reading]
    expected = oracle.scores(truth, b.label, confidence, len(street.classes))
    score = e2bki.metrics.evaluate(truth, b, confidence=reading)
    by_hand = e2bki.metrics.evaluate(truth, b.label, confidence=confidence, classes=len(street.classes))
    for name, value in expected.items():
        assert getattr(score, name) == pytest.approx(value, abs=1e-6), name
        assert getattr(by_hand, name) == pytest.approx(value, abs=1e-6), name
    assert score.queries == np.sum(truth >= 0) and score.occupied == np.sum((truth >= 0) & b.observed)
    assert sum(entry.share for entry in score.reliability) == pytest.approx(100)


def test_counting_is_counting(scan):
    points, _, labels = scan
    m = e2bki.baselines.SCsm(CLASSES)
    m.insert(points, labels=labels)
    voxels, side = m.voxels(), m.resolution
    cubes = np.floor(points.astype(np.float64) / side)
    for center, alpha in zip(voxels.center, voxels.alpha):
        inside = np.all(cubes == np.floor(center / side), axis=1)
        counts = np.bincount(labels[inside], minlength=3)
        np.testing.assert_allclose(alpha - 0.001, counts, atol=1e-4)


def test_bayesian_kernel_inference_sums_the_kernel(scan):
    points, _, labels = scan
    m = e2bki.baselines.SBki(CLASSES)
    m.insert(points, labels=labels)
    voxels = m.voxels()
    for center, alpha in list(zip(voxels.center, voxels.alpha))[::20]:
        d = np.linalg.norm(points.astype(np.float64) - center, axis=1)
        sums = [sum(oracle.kernel(x, 0.2) for x in d[labels == c]) for c in range(3)]
        np.testing.assert_allclose(alpha - 0.001, sums, atol=1e-3)
