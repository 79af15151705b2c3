"""Positive-unlabelled learning: internal/classify/pulearning against scikit-learn, scipy and the papers' formulas.

The classifiers are scikit-learn's LogisticRegression with sample weights; the prior (Garg et al. 2021,
Algorithm 1), the discarding (Algorithm 2) and the presence-only likelihood (Ward et al. 2009) are
written here once more, from the papers.
"""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

FOLDS = 5


@pytest.fixture(scope="module")
def cases(dump):
    return dump("positive")


def rows(x):
    return np.array(x, dtype=float).reshape(len(x), -1)


def classifier(on, weight, off, l2):
    """The score function of a weighted, penalised logistic regression."""
    x = np.vstack([on, off])
    y = np.r_[np.ones(len(on)), np.zeros(len(off))]
    w = np.r_[np.full(len(on), weight / len(on)), np.full(len(off), (1 - weight) / len(off))]
    model = LogisticRegression(C=1 / l2, tol=1e-10, solver="newton-cholesky", max_iter=1000).fit(x, y, sample_weight=w)
    return model.decision_function, model


def both(u, n):
    return np.vstack([u, n]) if len(n) else u


def discard(p, u, n, prior, rounds, l2):
    score, model = classifier(p, 0.5, both(u, n), l2)
    keep = max(1, int((1 - prior) * len(u) + 0.5))
    for _ in range(rounds):
        kept = np.sort(np.argsort(score(u), kind="stable")[:keep])
        score, model = classifier(p, prior, both(u[kept], n), l2)
    return score, model


def held_out(p, u, n, learn):
    scores = [np.zeros(len(x)) for x in (p, u, n)]
    for fold in range(FOLDS):
        score, _ = learn(*(x[np.arange(len(x)) % FOLDS != fold] for x in (p, u, n)))
        for x, s in zip((p, u, n), scores):
            own = np.arange(len(x)) % FOLDS == fold
            if own.any():
                s[own] = score(x[own])
    return scores


def best_bin(p, u, delta=0.1, gamma=0.01):
    slack = np.sqrt(np.log(4 / delta) / 2 / len(u)) + np.sqrt(np.log(4 / delta) / 2 / len(p))
    best = min(
        ((u >= c).mean() / (p >= c).mean() + (1 + gamma) * slack / (p >= c).mean(), -c)
        for c in np.r_[p, u]
        if (p >= c).any()
    )
    c = -best[1]
    quotient = (u >= c).mean() / (p >= c).mean()
    return np.clip(quotient, 1 / (len(u) + 1), len(u) / (len(u) + 1))


def cautious(prior, n):
    return min(prior, (n * prior + 20 * 0.1) / (n + 20))


def curve(p, u, prior):
    mean, unit = u.mean(), u.std()

    def likelihood(x):
        slope = np.exp(x[0])
        f = lambda s: 1 / (1 + np.exp(-(slope * (s - mean) / unit + x[1])))
        on, any_ = f(p), f(u)
        belief = (slope - x[0]) / len(p)  # a gamma distribution of shape 2 and mode 1
        return belief - np.log(on / (on + prior)).mean() - np.log(prior / (any_ + prior)).mean()

    x = minimize(likelihood, [0, np.log(prior / (1 - prior))], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14, "maxiter": 10000}).x
    slope = np.exp(x[0]) / unit
    return slope, x[1] - slope * mean


def test_learn(cases):
    for case in cases:
        p, u = rows(case["positives"]), rows(case["unlabelled"])
        n = rows(case["negatives"]) if case["negatives"] else np.zeros((0, p.shape[1]))
        l2, rounds = case["l2"], case["rounds"]
        first = held_out(p, u, n, lambda p, u, n: classifier(p, 0.5, both(u, n), l2))
        share = min(best_bin(first[0], first[1]), 0.5)
        scores = held_out(p, u, n, lambda p, u, n: discard(p, u, n, share, rounds, l2))
        mine = [np.array(case["held_out"][k] or []) for k in ("Positives", "Unlabelled", "Negatives")]
        for got, want in zip(mine, scores):
            assert np.abs(got - want).max(initial=0) < 1e-3
        assert cautious(best_bin(mine[0], mine[1]), len(p)) == pytest.approx(case["prior"], abs=1e-12)
        _, model = discard(p, u, n, share, rounds, l2)
        assert np.abs(model.coef_[0] - case["weights"]).max() < 1e-3
        assert model.intercept_[0] == pytest.approx(case["bias"], abs=1e-3)
        slope, intercept = curve(mine[0], mine[1], case["prior"])
        assert slope == pytest.approx(case["curve"]["Slope"], rel=1e-4)
        assert intercept == pytest.approx(case["curve"]["Intercept"], rel=1e-4, abs=1e-4)
        f = lambda s: 1 / (1 + np.exp(-(slope * s + intercept)))
        risk = (f(mine[1]) ** 2).mean() + case["prior"] * (1 - 2 * f(mine[0])).mean()
        assert max(0, risk) == pytest.approx(case["brier"], abs=1e-4)
    print(f"{len(cases)} samples; priors {[round(c['prior'], 3) for c in cases]}")
