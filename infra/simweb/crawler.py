"""A focused crawler to begin with: python3 crawler.py PROXY TOPIC TAUGHT CRAWLED PAGES

It learns from examples of the web with the seed TAUGHT which words are typical of TOPIC, and crawls the web
with the seed CRAWLED: first what pages full of such words link to.
"""

import heapq
import itertools
import json
import math
import re
import sys
from collections import Counter
from urllib.parse import urlencode, urljoin
from urllib.request import HTTPError, HTTPRedirectHandler, ProxyHandler, build_opener


class Stay(HTTPRedirectHandler):
    """Redirects are not followed at once: their targets may be known already."""

    def redirect_request(self, *_):
        return None


proxy, topic, taught, crawled, budget = *sys.argv[1:5], int(sys.argv[5])
web, direct = build_opener(ProxyHandler({"http": proxy}), Stay), build_opener(ProxyHandler({}))


def examples(of, seed, n):
    return json.load(direct.open(f"{proxy}/.examples?" + urlencode({"topic": of, "seed": seed, "n": n})))


def page(url):
    html = web.open(url, timeout=10).read().decode("utf-8", "replace")
    return html, set(re.findall(r"[a-z]{4,}", re.sub(r"<[^>]*>", " ", html.lower())))


pro, contra = (Counter(w for url in examples(of, taught, 60) for w in page(url)[1]) for of in (topic, "Other"))
weight = {w: math.log((pro[w] + 1) / (contra[w] + 1)) for w in pro | contra}
found, order = set(examples(topic, crawled, 5)), itertools.count()
frontier = [(0.0, next(order), url) for url in sorted(found)]
while frontier and budget > 0:
    worth, _, at = heapq.heappop(frontier)
    budget -= 1
    try:
        html, words = page(at)
        worth = -math.fsum(weight.get(w, 0) for w in words) / (len(words) or 1)
        hrefs = re.findall(r'<a href="([^"#]+)', html)
    except HTTPError as answer:  # a redirect, or a 404
        hrefs = answer.headers.get_all("Location", [])
    for url in (urljoin(at, href) for href in hrefs):
        if url.startswith("http:") and url not in found:
            found.add(url)
            heapq.heappush(frontier, (worth, next(order), url))
