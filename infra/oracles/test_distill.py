"""The distiller: internal/rank/distill against dense matrices and networkx.

After as many rounds the scores are those of the definition (1999), with matrices. Once they have
converged they are also hubs and authorities of Kleinberg's HITS, as networkx computes them by singular vectors, on the
web whose links u to v weigh sqrt(R(u) R(v)): with h = sqrt(R) h' the two iterations are one.
"""

import networkx
import numpy as np
import pytest


@pytest.fixture(scope="module")
def cases(dump):
    return dump("distill")


def counted(case):
    """The adjacency matrix of the links between different sites, R, and R where a page may be an authority."""
    sites, r = np.array(case["sites"]), np.array(case["r"])
    links = np.zeros((len(r), len(r)))
    for u, v in case["links"]:
        links[u, v] = sites[u] != sites[v]
    return links, r, np.where(r >= case["relevance"], r, 0)


def unit(x):
    return x / np.linalg.norm(x)


def test_definition(cases):
    for case in cases:
        links, r, able = counted(case)
        hubs = np.ones(len(r))
        for _ in range(case["rounds"]):
            authorities = unit(able * (links.T @ hubs))
            hubs = unit(r * (links @ authorities))
        assert np.abs(hubs - case["hubs"]).max() < 1e-9
        assert np.abs(authorities - case["authorities"]).max() < 1e-9
        assert case["converged"] or case["rounds"] <= 50


def test_networkx(cases):
    compared = 0
    for case in cases:
        if not case["converged"]:
            continue
        links, r, able = counted(case)
        web = networkx.from_numpy_array(links * np.sqrt(np.outer(r, able)), create_using=networkx.DiGraph)
        hubs, authorities = (np.array([scores[i] for i in range(len(r))]) for scores in networkx.hits(web, tol=1e-14))
        assert np.abs(unit(np.sqrt(r) * hubs) - case["hubs"]).max() < 1e-6
        assert np.abs(unit(np.sqrt(able) * authorities) - case["authorities"]).max() < 1e-6
        compared += len(r)
    assert compared > 500
