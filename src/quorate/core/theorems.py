"""What the paper's two theorems ask of the number of items, as far as it can be computed.

Both say: from N ≥ N_0 = max K_i on, P(k̂ ≠ k*) is at most a named bound.  Some K_i cannot be computed as printed; each
part is a `Part` that has a value or says why it has none.  Where the proof passes through bounds on the inverse of
the binary entropy H⁻¹ (which lives on [0, ½], while accuracies lie above ½), the step that it is there for is solved
directly: the largest ε with d(c_{k*} − ε, ½) ≥ W_{k*}, and with d(c_k + ε, ½) ≤ W_k for the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from quorate.core.information import gap, k_star, kl_bernoulli, unit_cost
from quorate.errors import SpecError
from quorate.model import FloatArray

_LOG_2: Final = float(np.log(2))
_SPECTRAL_CONSTANT: Final = (72 * 31 * 230) ** 2 * 2**5
_BISECTIONS: Final = 60


@dataclass(frozen=True, slots=True)
class Part:
    """One quantity of a theorem: its decimal logarithm (most are huge), or None and the reason why not."""

    theorem: str
    part: str
    log10: float | None
    reason: str = ""

    @property
    def value(self) -> float | None:
        """The number itself; inf where no number of items is enough, or none that a float can hold."""
        if self.log10 is None:
            return None
        with np.errstate(over="ignore"):
            return float(np.power(10.0, self.log10))


def accuracy_at(divergence: ArrayLike) -> FloatArray:
    """The c ≥ ½ with d(c, ½) = ``divergence``, by bisection; 1 from log 2 on, which no accuracy exceeds.

    >>> accuracy_at([0.0, 0.1308, 0.5, 0.7]).round(3)
    array([0.5  , 0.75 , 0.952, 1.   ])
    """
    target = np.asarray(divergence, np.float64)
    low, high = np.full(target.shape, 0.5), np.ones(target.shape)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        below = kl_bernoulli(middle, 0.5) < target
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(target >= _LOG_2, 1.0, np.where(target <= 0, 0.5, high))


def room(accuracy: ArrayLike, price: ArrayLike) -> FloatArray:
    """ε_k: how far every ĉ_k may be off without k̂ ≠ k*.  Paper: the requirements in both proofs, with H⁻¹ solved.

    1/W_k = 1/d(c_k, ½) − Δ_k/(2 p_k), for k* with + and Δ_min; c_k is the smaller accuracy of class k.  inf where
    even ĉ_k = 1 is no danger.

    >>> room([[0.9, 0.9], [0.8, 0.8], [0.7, 0.7]], [5.0, 3.0, 2.0]).round(3)
    array([0.012, 0.009, 0.026])
    """
    worst, w, best = _worst(accuracy), _evidence(accuracy, price), k_star(unit_cost(accuracy, price))
    off = accuracy_at(w) - worst
    epsilon = np.where(w >= _LOG_2, np.inf, off)
    epsilon[best] = -off[best]
    return np.asarray(np.maximum(epsilon, 0.0))


def symmetric_theorem(accuracy: ArrayLike, price: ArrayLike, gamma: float = 0.25) -> tuple[Part, ...]:
    """N_0(γ) of Theorem 1 (Sym-IMCW), γ in (0, ½).

    >>> for one in symmetric_theorem([[0.9, 0.9], [0.8, 0.8], [0.7, 0.7]], [5.0, 3.0, 2.0]):
    ...     print(one.part, "-" if one.log10 is None else round(one.log10, 1))
    K_1 15.5
    K_2 as printed 14.4
    K_3 as printed -
    K_2 solved 21.1
    K_3 solved 21.5
    N_0 21.5
    """
    if not 0 < gamma < 0.5:
        raise SpecError(f"Theorem 1 got gamma = {gamma!r}.", hint="gamma must lie strictly between 0 and 1/2.")
    c, name = np.asarray(accuracy, np.float64), "Theorem 1"
    if why := _outside(c) or ("" if np.array_equal(c[:, 0], c[:, 1]) else "it is about symmetric classes"):
        return (Part(name, "N_0", None, f"the theorem does not apply: {why}"),)
    edge = c[:, 0] - 0.5
    noise = 18 / np.sort(edge)[-3] ** 3 if np.sort(edge)[-3] > 0 else np.inf
    first = Part(name, "K_1", _power(noise / edge.mean() if edge.mean() > 0 else np.inf, 1 / gamma))
    printed = _printed_entropy(c, price, name, ("K_2", "K_3"), noise, 1 / gamma)
    solved = _solved(c, price, name, ("K_2", "K_3"), noise, 1 / gamma)
    return (first, *printed, *solved, _largest(name, (first, *solved)))


def asymmetric_theorem(
    accuracy: ArrayLike, price: ArrayLike, prior: float = 0.5, gamma_a: float = 0.25, gamma_b: float = 0.25
) -> tuple[Part, ...]:
    """N_0(γ_a, γ_b) of Theorem 2 (Asym-IMCW), γ_a + 2 γ_b ≤ 1; σ_L is the least singular value of all C_a W C_bᵀ.

    >>> for one in asymmetric_theorem([[0.9, 0.8], [0.8, 0.7], [0.7, 0.75]], [5.0, 3.0, 2.0]):
    ...     print(one.part, "-" if one.log10 is None else round(one.log10, 1))
    K_1 103.6
    K_2 -10.8
    K_3 as printed -
    K_4 as printed -
    K_3 solved 10.0
    K_4 solved 9.4
    K_5 5.2
    N_0 103.6
    """
    if not (gamma_a > 0 and gamma_b > 0 and gamma_a + 2 * gamma_b <= 1):
        raise SpecError(
            f"Theorem 2 got gamma_a = {gamma_a!r} and gamma_b = {gamma_b!r}.",
            hint="Both must be above 0 with gamma_a + 2 gamma_b <= 1.",
        )
    c, name = np.asarray(accuracy, np.float64), "Theorem 2"
    if why := _outside(c):
        return (Part(name, "N_0", None, f"the theorem does not apply: {why}"),)
    least, sigma = min(prior, 1 - prior), spread(c, prior)["least singular value"]
    denominator = least**2 * sigma**13
    left = 1 - gamma_a - 2 * gamma_b
    first = Part(
        name,
        "K_1",
        _power(_SPECTRAL_CONSTANT / denominator if denominator > 0 else np.inf, 1 / left) if left > 0 else np.inf,
        "" if left > 0 else "gamma_a + 2 gamma_b = 1 leaves the power 1/0",
    )
    kappa = float((2 * c - 1).min())
    second = Part(name, "K_2", _power(least * sigma / (72 * kappa) if kappa > 0 else np.inf, 1 / gamma_b))
    printed = _printed_entropy(c, price, name, ("K_3", "K_4"), 1.0, 1 / gamma_b)
    solved = _solved(c, price, name, ("K_3", "K_4"), 1.0, 1 / gamma_b)
    others = np.delete(np.abs(c[:, 0] - c[:, 1]) / 2, k_star(unit_cost(c, price)))
    fifth = Part(
        name,
        "K_5",
        _power(1 / others.min() if others.min() > 0 else np.inf, 1 / gamma_b),
        "" if others.min() > 0 else "infinite: a class other than k* is symmetric",
    )
    return (first, second, *printed, *solved, fifth, _largest(name, (first, second, *solved, fifth)))


def misidentified_symmetric(items: float, classes: int, gamma: float = 0.25) -> float:
    """Theorem 1: P(k̂ ≠ k*) ≤ M² exp(−N^(1−2γ)/2), once N ≥ N_0(γ).

    >>> misidentified_symmetric(10_000, classes=5), round(misidentified_symmetric(100, classes=5), 3)
    (4.821874...e-21, 0.168)
    """
    return float(classes**2 * np.exp(-(items ** (1 - 2 * gamma)) / 2))


def misidentified_asymmetric(items: float, classes: int, gamma_a: float = 0.25) -> float:
    """Theorem 2: P(k̂ ≠ k*) ≤ (48+M) exp(1 − N^γ_a), once N ≥ N_0(γ_a, γ_b).

    >>> round(misidentified_asymmetric(10_000, classes=5), 4)
    0.0065
    """
    return float((48 + classes) * np.exp(1 - items**gamma_a))


def items_for_width(
    accuracy: ArrayLike, prior: float = 0.5, width: float = 0.1, delta: float = 0.1
) -> tuple[Part, ...]:
    """N for |ĉ − c| ≤ ``width`` with probability 1−``delta`` (Zhang et al., Theorem 3), per reading of σ_L.

    The paper's remark "N exceeds 3 × 10³³" is had when ‖·‖ is read as the determinant; the theorem that it cites
    means the least singular value.

    >>> c = [(0.94, 0.90), (0.77, 0.87), (0.92, 0.76), (0.88, 0.82), (0.64, 0.66)]
    >>> for one in items_for_width(c):
    ...     print(f"{one.part}: {one.value:.1e}")
    least singular value: 4.5e+29
    determinant: 3.4e+33
    largest singular value: 2.0e+20
    """
    scale = _SPECTRAL_CONSTANT * (1 + np.log((48 + len(np.asarray(accuracy))) / delta))
    weight = width**2 * min(prior, 1 - prior) ** 2
    return tuple(
        Part(
            "Remark, Section VI",
            norm,
            _power(scale / (weight * sigma**13) if sigma > 0 and weight > 0 else np.inf, 1),
        )
        for norm, sigma in spread(accuracy, prior).items()
    )


def spread(accuracy: ArrayLike, prior: float) -> dict[str, float]:
    """min over pairs a ≠ b of ‖C_a W C_bᵀ‖ in three readings of the norm, which the paper does not name.

    >>> {name: round(value, 3) for name, value in spread([[0.9, 0.8], [0.8, 0.7], [0.7, 0.75]], 0.5).items()}
    {'least singular value': 0.112, 'determinant': 0.056, 'largest singular value': 0.503}
    """
    confusion = [np.array([[c0, 1 - c1], [1 - c0, c1]]) for c0, c1 in np.asarray(accuracy, np.float64)]
    weights = np.diag([1 - prior, prior])
    sizes = [np.linalg.svd(a @ weights @ b.T, compute_uv=False) for a, b in combinations(confusion, 2)]
    return {
        "least singular value": float(min(s[-1] for s in sizes)),
        "determinant": float(min(s.prod() for s in sizes)),
        "largest singular value": float(min(s[0] for s in sizes)),
    }


def _outside(c: FloatArray) -> str:
    """Why neither theorem speaks of these classes; empty if they do."""
    if len(c) < 3:
        return "it needs three classes"
    return "a class is wrong more often than right" if (c < 0.5).any() else ""


def _worst(accuracy: ArrayLike) -> FloatArray:
    return np.asarray(np.asarray(accuracy, np.float64).min(axis=1))


def _evidence(accuracy: ArrayLike, price: ArrayLike) -> FloatArray:
    """W_k: for k ≠ k* 1/W_k is (s_k + s_{k*})/(2 p_k), the definition with Δ_k = s_k − s_{k*} put in."""
    p = np.asarray(price, np.float64)
    s = unit_cost(accuracy, p)
    best = k_star(s)
    total = s + s[best]
    total[best] += gap(s)[best]
    w: FloatArray = kl_bernoulli(_worst(accuracy), 0.5)  # what it is where all of this costs nothing: Δ_k = 0
    np.divide(2 * p, total, out=w, where=total > 0)
    return w


def _printed_entropy(
    c: FloatArray, price: ArrayLike, name: str, parts: tuple[str, str], noise: float, power: float
) -> tuple[Part, Part]:
    """The two constants through the printed bounds on H⁻¹(log 2 − W)."""
    w, worst, best = _evidence(c, price), _worst(c), k_star(unit_cost(c, price))
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.maximum(_LOG_2 - w, 0.0)
        upper = worst - np.where(x > 0, x / np.log(1 / x), 0.0)
        lower = np.where(x > 0, x / (2 * np.log(6 / x)), 0.0) - worst
    return (
        _printed(name, parts[0], float(upper[best]), noise, power),
        _printed(name, parts[1], float(np.delete(lower, best).min()), noise, power),
    )


def _printed(name: str, part: str, base: float, noise: float, power: float) -> Part:
    if base > 0:
        return Part(name, f"{part} as printed", _power(noise / base, power))
    why = f"a negative number, {base:.3f}, to a real power: the bounds on the inverse entropy are those of [0, 1/2]"
    return Part(name, f"{part} as printed", None, why)


def _solved(
    c: FloatArray, price: ArrayLike, name: str, parts: tuple[str, str], noise: float, power: float
) -> tuple[Part, Part]:
    """The same two with d(c ∓ ε, ½) = W_k solved for ε: N such that noise · N^(−1/power) ≤ ε."""
    epsilon, best = room(c, price), k_star(unit_cost(c, price))
    own, others = float(epsilon[best]), float(np.delete(epsilon, best).min())
    made = []
    for part, one in zip(parts, (own, others), strict=True):
        reason = "infinite: another class costs as little as k*" if one == 0 else ""
        made.append(Part(name, f"{part} solved", _power(noise / one if one > 0 else np.inf, power), reason))
    return made[0], made[1]


def _largest(name: str, parts: tuple[Part, ...]) -> Part:
    return Part(name, "N_0", max(-np.inf if one.log10 is None else one.log10 for one in parts))


def _power(base: float, power: float) -> float:
    """log₁₀ base^power."""
    return float(power * np.log10(base)) if base > 0 else -np.inf
