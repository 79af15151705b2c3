"""Naive Bayes: internal/classify/bayes, the critic and the apprentice against scikit-learn's MultinomialNB;
and the apprentice's logistic regression against its published update and, where it learns the same again
and again, against what scikit-learn's LogisticRegression finds at once.

All are given the same count matrices. scikit-learn takes its vocabulary from the columns that it
is given, so columns without a count in training are left out, as they are no words there.
"""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import MultinomialNB

TOLERANCE = 1e-9


@pytest.fixture(scope="module")
def cases(dump, folder):
    return dump("bayes", "-taxonomy", folder("FORAGER_TAXONOMY") / "schools-wikipedia.jsonl.gz")


def matrix(rows, columns):
    starts = rows["starts"]
    data = np.array(rows["counts"] or [], dtype=float), np.array(rows["columns"] or [], dtype=int), starts
    return csr_matrix(data, shape=(len(starts) - 1, columns))


def pair(case):
    """The training and the test matrix over the words of training."""
    columns = 1 + max([0, *(case["train"]["columns"] or []), *(case["test"]["columns"] or [])])
    train, test = matrix(case["train"], columns), matrix(case["test"], columns)
    known = np.asarray(train.sum(axis=0)).ravel() > 0
    return train[:, known], test[:, known]


def test_generated_matrices(cases):
    compared = 0
    for case in cases["generated"]:
        train, test = pair(case)
        if train.shape[1] == 0:
            continue
        model = MultinomialNB(alpha=1).fit(train, case["labels"])
        joint = np.array(case["joint"])
        assert np.abs(model.predict_joint_log_proba(test) - joint).max() < TOLERANCE
        compared += joint.size
    assert compared > 5000


def test_articles_and_critic(cases):
    """Every article of the taxonomy, judged by a model of the other folds."""
    articles = cases["articles"]
    labels, folds = np.array(articles["labels"]), np.array(articles["folds"])
    words = matrix(articles["rows"], 1 + max(articles["rows"]["columns"]))
    joint, posterior = np.array(articles["joint"]), np.array(articles["posterior"])
    worst, worst_posterior, right = 0, 0, 0
    for fold in np.unique(folds):
        train, test = words[folds != fold], words[folds == fold]
        known = np.asarray(train.sum(axis=0)).ravel() > 0
        model = MultinomialNB(alpha=1).fit(train[:, known], labels[folds != fold])
        want = model.predict_joint_log_proba(test[:, known])
        # The logarithms reach 10⁵, where neighbouring doubles are 1.5e-11 apart and sums of
        # thousands of terms, in whatever order, cannot agree to 1e-9: there 13 digits must.
        worst = max(worst, (np.abs(want - joint[folds == fold]) / np.maximum(1, np.abs(want) * 1e-4)).max())
        worst_posterior = max(worst_posterior, np.abs(model.predict_proba(test[:, known]) - posterior[folds == fold]).max())
        predicted = posterior[folds == fold].argmax(axis=1)
        assert (model.predict(test[:, known]) == predicted).all()
        right += (predicted == labels[folds == fold]).sum()
    print(f"{len(labels)} articles: log probabilities differ by {worst:.1e} (or that times |log|/10⁴), posteriors by {worst_posterior:.1e}, ")
    print(f"accuracy of both {right / len(labels):.4f}")
    assert worst < TOLERANCE and worst_posterior < TOLERANCE


def test_apprentice(cases):
    compared = 0
    for case in cases["apprentice"]:
        train, test = pair(case)
        high = np.array(case["r"]) >= case["cut"]
        if train.shape[1] == 0 or high.all() or not high.any():
            continue
        prior = [(1 + (~high).sum()) / (2 + len(high)), (1 + high.sum()) / (2 + len(high))]
        model = MultinomialNB(alpha=1, class_prior=prior).fit(train, high)
        assert np.abs(model.predict_proba(test)[:, 1] - case["high"]).max() < TOLERANCE
        compared += len(case["high"])
    assert compared > 500


def ftrl(x, high, rate, l1, l2):
    """McMahan et al. 2013, algorithm 1, β = 1, written with whole vectors; column 0 is a bias without penalties."""
    x = np.hstack([np.ones((len(x), 1)), x])
    l1, l2 = np.r_[0, np.full(x.shape[1] - 1, l1)], np.r_[0, np.full(x.shape[1] - 1, l2)]
    z, n = np.zeros(x.shape[1]), np.zeros(x.shape[1])

    def weights():
        return np.where(np.abs(z) <= l1, 0, -(z - np.sign(z) * l1) / ((1 + np.sqrt(n)) / rate + l2))

    for row, y in zip(x, high):
        w = weights()
        g = (expit(row @ w) - y) * row
        z += g - (np.sqrt(n + g * g) - np.sqrt(n)) / rate * w
        n += g * g
    return weights()


def test_apprentice_proximal(cases):
    compared = worst = 0
    for case in cases["apprentice"]:
        p = case["proximal"]
        columns = 1 + max([0, *(case["train"]["columns"] or []), *(case["test"]["columns"] or [])])
        train, test = matrix(case["train"], columns).toarray(), matrix(case["test"], columns).toarray()
        w = ftrl(train, np.array(case["r"]) >= case["cut"], p["rate"], p["l1"], p["l2"])
        assert set(np.flatnonzero(w[1:])) <= set(p["columns"] or [])
        assert abs(expit(w[0]) - p["bias"]) < 1e-12
        want = w[1:][np.array(p["columns"] or [], dtype=int)]
        worst = max([worst, *(np.abs(want - np.array(p["weights"] or [])) / np.maximum(1, np.abs(want)))])
        # A model's weights are rounded to 2⁻³⁸ and a row has hundreds of tokens.
        assert np.abs(expit(w[0] + test @ w[1:]) - p["high"]).max() < 1e-8
        compared += len(want)
    print(f"{compared} weights differ by {worst:.1e} at most")
    assert worst < 1e-12 and compared > 1000


def test_apprentice_logistic(cases):
    """One leap after the other it comes near the best weights; steps that shrink never quite end there."""
    worst_loss = worst = 0
    for case in cases["repeated"]:
        train, labels, high = matrix(case["train"], 6), np.array(case["labels"]), np.array(case["high"])
        best = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(train, labels).predict_proba(train)[:, 1]
        assert np.ptp(best) > 0.3
        worst_loss = max(worst_loss, log_loss(labels, high) / log_loss(labels, best) - 1)
        worst = max(worst, np.abs(high - best).max())
    print(f"{len(cases['repeated'])} cases: the loss is {worst_loss:.1e} above the least, probabilities differ by {worst:.3f} at most")
    assert len(cases["repeated"]) == 10 and -1e-6 < worst_loss < 1e-3 and worst < 0.05
