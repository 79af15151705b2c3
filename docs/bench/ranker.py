"""A ranker for "forager-lab experiment bench": an HTTP service that scores the links of pages.

    python3 ranker.py 127.0.0.1:8080

Python 3.8 or newer, no packages. Replace the class Ranker with your own.
"""

import json
import math
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse


class Ranker:
    """The ranker of one crawl. This one learns which words of links lead to relevant pages.

    score is called once for each page with links, in the order of the crawl. page has:

    url, title, description, language, text   of the page; text is its words, a line for each leaf of the DOM
    judgement   raw, tempered and calibrated: the relevance by the critic, 0 to 1; topics: the best classes
    state       the state that was returned for the link by which the page was fetched, "" for seeds
    links       of the page, in its order: each has url and anchor

    It returns a score for each link, any finite number, and a state for each link, a text of at most 256 bytes. Links with the highest
    scores are fetched first. Where the labels of pages follow from their URLs, url is missing.
    """

    def __init__(self, task):
        self.task = task
        self.rewards = {}  # by word: sum of relevance, number of pages

    def score(self, page):
        relevance = page["judgement"]["calibrated"]
        for word in page.get("state", "").split():
            total, n = self.rewards.get(word, (0.0, 0))
            self.rewards[word] = (total + relevance, n + 1)
        scores, states = [], []
        for link in page["links"]:
            words = sorted(set(link.get("anchor", "").lower().split()))
            scores.append(relevance + sum(map(self.value, words)) / max(1, len(words)))
            states.append(" ".join(words).encode()[:256].decode(errors="ignore"))
        return scores, states

    def value(self, word):
        total, n = self.rewards.get(word, (0.0, 0))
        return (total + 0.5) / (n + 2) + 0.1 / math.sqrt(n + 1)


class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    crawls = {}  # rankers by crawl
    lock = threading.Lock()

    def do_POST(self):
        query = parse_qs(urlparse(self.path).query)
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.lock:
            key = query["crawl"][0]
            if key not in self.crawls:
                while len(self.crawls) >= 64:  # more than run at the same time
                    del self.crawls[next(iter(self.crawls))]
                self.crawls[key] = Ranker(query["task"][0])
            ranker = self.crawls[key]
        pages = []
        for page in request["pages"]:
            scores, states = ranker.score(page)
            pages.append({"scores": scores, "states": states})
        body = json.dumps({"pages": pages}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    host, _, port = sys.argv[1].rpartition(":")
    with ThreadingHTTPServer((host, int(port)), Service) as server:
        print(f"listening on {host}:{server.server_port}", flush=True)
        server.serve_forever()
