"""The formulas of the map in NumPy, written for the tests from the paper's equations and nothing else."""

from __future__ import annotations

import numpy as np

QUANTUM_M = 1 / 65536  # positions are rounded to this before they are summed
EIGENVALUE_FLOOR_M2 = 1e-4


def opinions_of_evidence(evidence):
    """Subjective opinions of an evidential network: b = e/S, u = C/S with S = sum(e) + C."""
    e = np.asarray(evidence, dtype=np.float64)
    strength = e.sum(axis=1) + e.shape[1]
    return e / strength[:, None], e.shape[1] / strength


def dempster(belief, uncertainty):
    """Dempster's rule, one opinion after the other, each pair normalised by one minus its conflict."""
    b, u = belief[0].copy(), uncertainty[0]
    for b2, u2 in zip(belief[1:], uncertainty[1:]):
        conflict = b.sum() * b2.sum() - (b * b2).sum()
        b, u = (b * b2 + b * u2 + b2 * u) / (1 - conflict), u * u2 / (1 - conflict)
    return b, u


def fused(belief, uncertainty, correlation):
    """Dempster's rule of witnesses whose errors correlate: the odds b/u + 1 to the power of the share that each counts."""
    b, u = dempster(belief, uncertainty)
    odds = (1 + b / u) ** (1 / (1 + correlation * (len(belief) - 1))) - 1
    u = 1 / (1 + odds.sum())
    return odds * u, u


def moments(points):
    """Mean and (biased) covariance."""
    x = np.round(np.asarray(points, dtype=np.float64) / QUANTUM_M) * QUANTUM_M
    mean = x.mean(axis=0)
    return mean, (x - mean).T @ (x - mean) / len(x)


def chi2_3_quantile(mass):
    """Threshold that holds this share of a 3-D Gaussian: its squared Mahalanobis radius, by bisection."""
    from math import erf, exp, pi, sqrt

    def cdf(t):
        return erf(sqrt(t / 2)) - sqrt(2 * t / pi) * exp(-t / 2)

    low, high = 0.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if cdf(middle) < mass else (low, middle)
    return (low + high) / 2


def ellipsoid(covariance, mass):
    """Semi-axes and axes (rows) of the ellipsoid that holds a share of a Gaussian."""
    values, vectors = np.linalg.eigh(covariance)
    floor = max(EIGENVALUE_FLOOR_M2, 1e-6 * values[2])
    return np.sqrt(chi2_3_quantile(mass) * np.maximum(values, floor)), vectors.T


def distance(point, center, semi_axes, axes):
    """Distance to an ellipsoid's surface, 0 inside: bisection on the Lagrange multiplier."""
    y = np.abs(axes @ (np.asarray(point, dtype=np.float64) - center))
    a2 = semi_axes**2
    if (y**2 / a2).sum() <= 1:
        return 0.0

    def outside(t):
        return (a2 * y**2 / (t + a2) ** 2).sum() - 1

    low, high = 0.0, 1.0
    while outside(high) > 0:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if outside(middle) > 0 else (low, middle)
    t = (low + high) / 2
    return float(np.linalg.norm(y - a2 * y / (t + a2)))


def kernel(d, length, profile="sparse"):
    """The kernel: 1 at 0, 0 from its length on."""
    rho = d / length
    if rho >= 1:
        return 0.0
    if profile == "quadratic":
        return 1 - rho**2
    return max(0.0, (2 + np.cos(2 * np.pi * rho)) * (1 - rho) / 3 + np.sin(2 * np.pi * rho) / (2 * np.pi))


def surfaces(primitives):
    """How the surface runs at every primitive: moments of its class in the half-metre cubes around it, 2 : 1 along each axis."""
    label, mean = primitives["probability"].argmax(axis=1), primitives["mean"]
    weight, cube = primitives["weight"], np.floor(2 * mean)
    found = []
    for j in range(len(mean)):
        apart = np.clip(2 - np.abs(cube - cube[j]), 0, 2).prod(axis=1)
        factor = apart * weight * (label == label[j])
        d = mean - mean[j]
        first = (factor[:, None] * d).sum(axis=0) / factor.sum()
        second = (factor[:, None, None] * (primitives["covariance"] + d[:, :, None] * d[:, None, :])).sum(axis=0)
        shape = second / factor.sum() - np.outer(first, first) + 0.05**2 * np.eye(3)
        found.append(shape / np.linalg.eigvalsh(shape)[-1])
    return np.array(found)


def reach_of(u, seen_from, surface, config):
    """How far a kernel reaches: beams spread with range, and where kernels follow surfaces that matters on planes only."""
    plain = config.length_scale * config.uncertainty_sensitivity * np.exp(1 - u)
    tens = min(seen_from / 10, 5)
    if config.reach == "uniform" or config.growth == "everywhere":
        return plain * (1 + config.reach_growth * tens)
    third, second, first = np.linalg.eigvalsh(surface)
    return min(plain * (1 + config.reach_growth * (second - third) / first * tens), max(plain, 0.95))


def distance_on(point, mean, cov, surface, reach, config):
    """Distance over reach where kernels follow the surface."""
    across = min(config.reach_across, reach) ** 2
    support = chi2_3_quantile(config.ellipsoid_mass) * cov + across * np.eye(3) + (reach**2 - across) * surface
    d = point - mean
    return float(np.sqrt(d @ np.linalg.solve(support, d)))


def posterior(points, primitives, config):
    """alpha, u_sem, u_spa at points from the primitives' moments, probability and uncertainty alone."""
    count, classes = len(points), primitives["probability"].shape[1]
    alpha = np.full((count, classes), config.prior)
    mass, weighted = np.zeros(count), np.zeros(count)
    names = ("mean", "covariance", "probability", "uncertainty", "weight", "range")
    follows = config.reach == "surface"
    shapes = surfaces(primitives) if follows else primitives["covariance"]
    for mean, cov, p, u, weight, seen_from, surface in zip(*(primitives[name] for name in names), shapes):
        # Points of one primitive are not independent.
        votes = weight / (1 + config.vote_correlation * (weight - 1))
        semi_axes, axes = ellipsoid(cov, config.ellipsoid_mass)
        reach = reach_of(u, seen_from, surface, config)
        # Farther than this from the middle, nothing is left of the kernel.
        near = np.linalg.norm(points - mean, axis=1) <= reach + semi_axes.max()
        for i in np.flatnonzero(near):
            if follows:
                k = votes * kernel(distance_on(points[i], mean, cov, surface, reach, config), 1.0, config.profile)
            else:
                k = votes * kernel(distance(points[i], mean, semi_axes, axes), reach, config.profile)
            alpha[i] += k * p
            mass[i] += k
            weighted[i] += k * u
    total = np.where(mass > 0, mass, 1)
    if config.doubt == "conflict":
        # The odds of the label, as so many independent witnesses of the mean opinion would have them.
        share = np.clip((alpha.max(axis=1) - config.prior) / total, 0, 1)
        wrong, right = (1 - share) ** config.agreement, share**config.agreement
        u_sem = np.where(mass > 0, wrong / (wrong + right), 1.0)
    else:
        u_sem = np.where(mass > 0, weighted / total, 1.0)
    u_spa = (classes - 1) / (classes**2 * (alpha.sum(axis=1) + 1))
    return alpha, u_sem, u_spa, mass


def scores(truth, label, confidence, classes):
    """mIoU over answered queries, strict mIoU, accuracy, Brier score and 15-bin calibration error, in percent."""
    truth, label = np.asarray(truth), np.asarray(label)
    asked = (truth >= 0) & (truth < classes)
    truth, label, confidence = truth[asked], label[asked], np.asarray(confidence)[asked]
    answered = label >= 0
    iou, strict = [], []
    for c in range(classes):
        hit = np.sum((truth == c) & (label == c))
        if np.any(truth[answered] == c):
            iou.append(hit / np.sum(answered & ((truth == c) | (label == c))))
        if np.any(truth == c):
            strict.append(hit / np.sum((truth == c) | (label == c)))
    right = (truth == label)[answered].astype(float)
    sure = np.clip(confidence[answered], 0, 1)
    bins = np.minimum((sure * 15).astype(int), 14)
    gaps = [abs(right[bins == b].sum() - sure[bins == b].sum()) for b in range(15)]
    return {
        "miou": 100 * np.mean(iou),
        "miou_strict": 100 * np.mean(strict),
        "acc": 100 * np.mean(truth == label),
        "bs": 100 * np.mean((right - sure) ** 2),
        "ece": 100 * sum(gaps) / len(right),
    }
