"""The methods of critics: trees of naive Bayes with their choice of words, calibration, logistic
regression, and the words themselves, against scikit-learn and scipy."""

import gzip
import json

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import expit, logsumexp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB

TOLERANCE = 1e-9


@pytest.fixture(scope="module")
def cases(dump, folder):
    return dump("critics", "-taxonomy", folder("FORAGER_TAXONOMY") / "schools-wikipedia.jsonl.gz")


def matrix(rows, columns):
    starts = rows["starts"]
    return csr_matrix((np.array(rows["counts"], dtype=float), np.array(rows["columns"], dtype=int), starts), shape=(len(starts) - 1, columns))


def fisher(x, branch):
    """The index of 1999 of every column of x, shares of words, between the branches."""
    means = [x[branch == b].mean(axis=0) for b in range(branch.max() + 1)]
    spread = sum(((x[branch == b] - means[b]) ** 2).mean(axis=0) for b in range(len(means)))
    between = sum((a - b) ** 2 for i, a in enumerate(means) for b in means[i + 1 :])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(between == 0, 0, between / spread)


def test_every_node_of_the_tree(cases):
    nodes, compared, chosen = 0, 0, 0
    for case in cases["trees"]:
        at = {w: i for i, w in enumerate(case["words"])}
        train, test = matrix(case["train"], len(at)).toarray(), matrix(case["test"], len(at)).toarray()
        labels = np.array(case["labels"])
        leaves = np.zeros((len(test), len(case["classes"])))
        for node in case["nodes"]:
            branch_of = {k: i for i, classes in enumerate(node["branches"]) for k in classes}
            below = np.isin(labels, list(branch_of))
            branch = np.array([branch_of[k] for k in labels[below]])
            x = train[below]
            columns = [at[w] for w in node["words"]]
            there = np.flatnonzero(x.sum(axis=0))
            index = fisher(x / x.sum(axis=1, keepdims=True), branch)
            if case["features"] and case["features"] < len(there):
                assert len(columns) == case["features"]
                others = np.setdiff1d(there, columns)
                # Those left out are no better than the worst that was taken.
                assert index[others].max() <= index[columns].min() * (1 + 1e-9)
                chosen += len(columns)
            else:
                assert sorted(columns) == sorted(there)
            model = MultinomialNB(alpha=1).fit(x[:, columns], branch)
            joint = model.predict_joint_log_proba(test[:, columns])
            assert np.abs(joint - np.array(node["joint"])).max() < TOLERANCE
            for i, classes in enumerate(node["branches"]):
                leaves[:, classes] += (joint[:, i] - logsumexp(joint, axis=1))[:, None]
            nodes, compared = nodes + 1, compared + joint.size
        assert np.abs(np.exp(leaves) - np.array(case["posterior"])).max() < TOLERANCE
    print(f"{nodes} nodes, {compared} log probabilities, {chosen} chosen words")
    assert nodes > 100 and chosen > 300


def sigmoid(scores, right):
    """Platt's sigmoid with his targets (1999), by scipy: slope and intercept."""
    n = right.sum()
    targets = np.where(right, (n + 1) / (n + 2), 1 / (len(right) - n + 2))

    def loss(p):
        z = p[0] * scores + p[1]
        return np.sum(np.logaddexp(0, z) - targets * z)

    def slope(p):
        d = expit(p[0] * scores + p[1]) - targets
        return np.array([d @ scores, d.sum()])

    found = minimize(loss, [0, 0], jac=slope, method="BFGS", options={"gtol": 1e-9})
    a, b = found.x
    return (a, b) if a >= 0 else (0, np.log((n + 1) / (len(right) - n + 1)))


def isotonic(scores, right):
    """The middles and the smoothed shares of the blocks of scikit-learn's isotonic regression."""
    order = np.argsort(scores, kind="stable")
    scores, right = scores[order], right[order]
    fitted = IsotonicRegression().fit(scores, right.astype(float)).predict(scores)
    blocks = []
    for value in np.unique(fitted.round(12)):
        of = np.abs(fitted - value) < 1e-9
        blocks.append([scores[of].mean(), of.sum(), right[of].sum()])
    share = lambda b: (b[2] + 0.5) / (b[1] + 1)
    out = []
    for block in blocks:
        out.append(block)
        while len(out) > 1 and share(out[-2]) >= share(out[-1]):
            (x, n, r), (y, m, s) = out[-2:]
            out[-2:] = [[(x * n + y * m) / (n + m), n + m, r + s]]
    return np.array([b[0] for b in out]), np.array([share(b) for b in out])


def test_curves(cases):
    shapes = {"sigmoid": 0, "isotonic": 0}
    for case in cases["curves"]:
        scores, right, folds = np.array(case["scores"]), np.array(case["right"]), np.array(case["folds"])
        losses = {"sigmoid": 0, "isotonic": 0}
        for fold in np.unique(folds):
            train, held = folds != fold, folds == fold
            a, b = sigmoid(scores[train], right[train])
            x, y = isotonic(scores[train], right[train])
            for shape, p in ("sigmoid", expit(a * scores[held] + b)), ("isotonic", np.interp(scores[held], x, y)):
                losses[shape] -= np.log(np.where(right[held], p, 1 - p)).sum()
        if abs(losses["sigmoid"] - losses["isotonic"]) > 1e-6:
            assert case["shape"] == min(losses, key=losses.get), losses
        shapes[case["shape"]] += 1
        at = np.linspace(-14, 14, 57)
        if case["shape"] == "sigmoid":
            a, b = sigmoid(scores, right)
            assert np.abs(expit(a * at + b) - expit(case["a"] * at + case["b"])).max() < 1e-6
        else:
            x, y = isotonic(scores, right)
            assert np.abs(np.interp(at, x, y) - np.interp(at, case["x"], case["y"])).max() < 1e-9
    print(shapes)
    assert min(shapes.values()) >= 5


def test_logistic_regression(cases):
    for case in cases["logistic"]:
        x = csr_matrix((case["values"], case["columns"], case["starts"]), shape=(len(case["labels"]), case["features"])).toarray()
        labels, l2 = np.array(case["labels"]), case["l2"]

        def objective(weights, bias):
            z = x @ weights.T + bias
            return (logsumexp(z, axis=1) - z[np.arange(len(labels)), labels]).mean() + l2 / 2 * (weights**2).sum()

        two = labels.max() == 1  # then scikit-learn has one vector for both: half of it each, and half the penalty
        best = LogisticRegression(C=(1 + two) / (l2 * len(labels)), tol=1e-8, max_iter=5000).fit(x, labels)
        weights, bias = best.coef_, best.intercept_
        if two:
            weights, bias = np.array([-weights[0], weights[0]]) / 2, np.array([-bias[0], bias[0]]) / 2
        want, got = objective(weights, bias), objective(np.array(case["weights"]), np.array(case["bias"]))
        print(f"{len(case['bias'])} classes: objective {got:.5f}, scikit-learn's optimum {want:.5f}")
        assert abs(got - want) < 0.001


def test_words(cases, folder):
    """A critic with its own words compared with scikit-learn with its own, on the same folds.

    CountVectorizer drops words of one character and cuts at every apostrophe, hyphen and point;
    test_bayes.py shows that nothing but the words differs.
    """
    texts, labels = [], []
    with gzip.open(folder("FORAGER_TAXONOMY") / "schools-wikipedia.jsonl.gz", "rt") as file:
        for line in file:
            article = json.loads(line)
            texts.append(article["text"])
            labels.append(article["topics"][0].split("/")[0])
    labels, folds = np.array(labels), np.array([a["fold"] for a in cases["articles"]])
    ours = np.mean(labels == np.array([a["found"] for a in cases["articles"]]))
    right = 0
    counts = CountVectorizer().fit_transform(texts)
    for fold in np.unique(folds):
        known = np.asarray(counts[folds != fold].sum(axis=0)).ravel() > 0
        model = MultinomialNB(alpha=1).fit(counts[folds != fold][:, known], labels[folds != fold])
        right += (model.predict(counts[folds == fold][:, known]) == labels[folds == fold]).sum()
    theirs = right / len(labels)
    print(f"accuracy {ours:.4f} with our words, {theirs:.4f} with scikit-learn's")
    assert abs(ours - theirs) < 0.02
