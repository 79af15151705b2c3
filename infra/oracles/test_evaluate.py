"""The measures of forager critic evaluate against scikit-learn's, on the opinions that it exports."""

import gzip
import json
import os
import subprocess

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, confusion_matrix, log_loss, precision_recall_fscore_support

from conftest import ROOT

TOLERANCE = 1e-9
KINDS = "raw", "tempered", "calibrated"
BINS = 15


@pytest.fixture(scope="module")
def forager(build):
    binary = build / "forager"
    env = {**os.environ, "CGO_ENABLED": "0"}
    subprocess.run(["go", "build", "-o", binary, "./cmd/forager"], cwd=ROOT, env=env, check=True)
    return binary


@pytest.fixture(scope="module")
def subjects(folder, build):
    """The articles with the main subjects of all their topics: some have several."""
    path = build / "subjects.jsonl"
    with gzip.open(folder("FORAGER_TAXONOMY") / "schools-wikipedia.jsonl.gz", "rt") as articles, open(path, "w") as out:
        for i, line in enumerate(articles):
            if i % 3 == 0:
                article = json.loads(line)
                article["topics"] = sorted({t.split("/")[0] for t in article["topics"]})
                print(json.dumps(article), file=out)
    return path


class Opinions:
    """The judgement of every page by its held-out critic, and the report of the command."""

    def __init__(self, forager, build, *args):
        pages = build / "pages.jsonl"
        command = [forager, "--json", "critic", "evaluate", *args, "--no-curve", "--pages", pages, "--force"]
        self.report = json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)
        with open(pages) as lines:
            self.classes = json.loads(next(lines))["classes"]
            self.pages = [json.loads(line) for line in lines]
        place = {c: k for k, c in enumerate(self.classes)}
        self.own = np.zeros((len(self.pages), len(self.classes)), dtype=int)
        for i, page in enumerate(self.pages):
            self.own[i, [place[c] for c in page["own"]]] = 1
        self.posteriors = {kind: np.array([page[kind] for page in self.pages]) for kind in KINDS}


@pytest.fixture(scope="module", params=["bayes", "logistic"])
def opinions(request, forager, subjects, build):
    return Opinions(forager, build, subjects, "--exact", "--model", request.param)


def near(a, b):
    return np.abs(np.asarray(a) - np.asarray(b)).max() < TOLERANCE


def test_scores(opinions):
    y = opinions.own
    page, label = np.nonzero(y)
    weight = 1 / y.sum(axis=1)[page]
    assert (y.sum(axis=1) > 1).sum() > 100  # pages of several classes are among them
    for kind in KINDS:
        p, got = opinions.posteriors[kind], opinions.report[kind]
        assert near(p.sum(axis=1), 1)
        best = p.argmax(axis=1)
        right = y[np.arange(len(y)), best]
        assert near(got["accuracy"], right.mean())
        assert near(got["log_loss"], log_loss(label, p[page], labels=range(y.shape[1]), sample_weight=weight))
        assert near(got["brier"], np.square(p - y / y.sum(axis=1, keepdims=True)).sum(axis=1).mean())
        single = y.sum(axis=1) == 1
        assert near(
            np.square(p[single] - y[single]).sum(axis=1).mean(),
            brier_score_loss(y[single].argmax(axis=1), p[single], labels=range(y.shape[1]), scale_by_half=False),
        )


def test_reliability(opinions):
    y = opinions.own
    for kind in KINDS:
        p, got = opinions.posteriors[kind], opinions.report[kind]
        best, confidence = p.argmax(axis=1), p.max(axis=1)
        right = y[np.arange(len(y)), best]
        bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
        error = sum(abs(right[bins == b].sum() - confidence[bins == b].sum()) for b in range(BINS)) / len(y)
        assert near(got["ece"], error)
        # scikit-learn leaves empty bins out, and its bins are closed on the other side.
        accuracy, mean = calibration_curve(right, np.nextafter(confidence, 2).clip(0, 1), n_bins=BINS)
        full = [b for b in got["reliability"] if b["pages"]]
        assert near([b["accuracy"] for b in full], accuracy)
        assert near([b["confidence"] for b in full], mean)


def test_topics_and_confusions(opinions):
    y, p = opinions.own, opinions.posteriors["calibrated"]
    best = p.argmax(axis=1)
    judged = np.eye(y.shape[1], dtype=int)[best]
    precision, recall, f1, support = precision_recall_fscore_support(y, judged, average=None, zero_division=0)
    for name, values in ("precision", precision), ("recall", recall), ("f1", f1), ("pages", support):
        assert near([t[name] for t in opinions.report["topics"]], values)
    page, label = np.nonzero(y * (1 - y[np.arange(len(y)), best])[:, None])  # of pages that are judged wrongly
    matrix = confusion_matrix(label, best[page], labels=range(y.shape[1]))
    counts = sorted(matrix[matrix > 0], reverse=True)[:20]
    assert [c["pages"] for c in opinions.report["confused"]] == counts
    for c in opinions.report["confused"]:
        of, taken = opinions.classes.index(c["of"]), opinions.classes.index(c["as"])
        assert matrix[of, taken] == c["pages"]


def test_relevance(opinions):
    for key, kind in ("relevance", "calibrated"), ("raw_relevance", "raw"):
        for k, histogram in enumerate(opinions.report[key]):
            p, on = opinions.posteriors[kind][:, k], opinions.own[:, k] == 1
            for name, of in ("on", p[on]), ("off", p[~on]):
                # Tenths are closed below as floats have them, the last one above too.
                assert histogram[name] == np.bincount(np.minimum((of * 10).astype(int), 9), minlength=10).tolist()
