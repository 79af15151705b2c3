"""Cosines of texts: internal/page/tfidf against scikit-learn's TfidfTransformer and cosine_similarity.

scikit-learn's weight of a word is log(N/f) + 1; here it is log(N/f), and words that no document of the corpus
has weigh nothing.
"""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics.pairwise import cosine_similarity


@pytest.fixture(scope="module")
def cases(dump):
    return dump("cosine")


def test_cosines(cases):
    compared = 0
    for case in cases:
        corpus, texts = np.array(case["corpus"], dtype=float), np.array(case["texts"], dtype=float)
        known = corpus.any(axis=0)
        weigh = TfidfTransformer(smooth_idf=False, norm="l2").fit(corpus[:, known])
        weigh.idf_ = weigh.idf_ - 1
        vectors = weigh.transform(texts[:, known])
        want = cosine_similarity(vectors)
        assert np.abs(want - case["cosines"]).max() < 1e-12
        np.fill_diagonal(want, 0)
        assert np.abs(want.max(axis=1) - case["largest"]).max() < 1e-12
        compared += (want > 0).sum()
    assert compared > 4000
