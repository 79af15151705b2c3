"""What a delivered page costs other programs and Forager, in turns on the same processors: the floor (net/http,
html.Parse), Scrapy, Scrapy with a scikit-learn naive Bayes, and forager-lab bench. CPU time of the crawler alone, from its
first request to its last. It drifts by a factor of two and more from hour to hour: compare figures of one run only.

    FORAGER_WEBS=… make bench-others
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from hashlib import sha1
from pathlib import Path
from statistics import median

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

ROOT = Path(__file__).resolve().parents[2]
FORAGER = ROOT / "build" / "bin" / "forager"
WEB = Path(os.environ["FORAGER_WEBS"]) / "webkb.warc.gz"
TASK = "webkb:course/cornell"
ROUNDS = int(os.environ.get("ROUNDS") or 3)
CORES = os.environ.get("CORES") or "2"
SETTINGS = {
    "ROBOTSTXT_OBEY": True,
    "CONCURRENT_REQUESTS": 64,  # as the floor; the eight of a host are Scrapy's default
    "LOG_LEVEL": "WARNING",  # a line a request costs as much as a page
    "TELNETCONSOLE_ENABLED": False,
    "COOKIES_ENABLED": False,  # for them it would fetch a list of domains from elsewhere
}
LISTED, JUDGED, CRAWL, DEAD = "list: Scrapy", "list: Scrapy + naive Bayes", "crawl: Scrapy + naive Bayes", "crawl with dead links: Scrapy + naive Bayes"


def pages():
    """The pages of the web."""
    rows = WEB.with_name("webkb.labels.tsv").read_text().splitlines()
    return [row.split("\t")[0] for row in rows if row.startswith("http:")]


def words(response):
    """The text that the naive Bayes is trained on, and asked about."""
    return " ".join(response.xpath("//text()[not(parent::script or parent::style)]").getall())


def train(examples, web):
    """A naive Bayes from URLs by class; the few that the web does not have are left out."""
    texts, classes = [], []
    for name, url in ((n, u) for n, urls in examples.items() for u in urls if u in web):
        with urllib.request.urlopen(url) as answer:
            texts.append(words(scrapy.http.HtmlResponse(url, headers=dict(answer.headers), body=answer.read())))
        classes.append(name)
    return make_pipeline(CountVectorizer(), MultinomialNB()).fit(texts, classes)


class Focused(scrapy.Spider):
    """Bodies go to files, links are followed in the order of soft focus: by the relevance of the page they stand on."""

    name = "focused"

    def __init__(self, what, folder):
        super().__init__()
        with gzip.open(WEB.with_name("tasks.json.gz")) as file:
            tasks = json.load(file)
        task = next(t for t in tasks["tasks"] if t["name"] == TASK)
        self.bodies, self.links, self.delivered = Path(tempfile.mkdtemp(dir=folder)), LinkExtractor(), 0
        self.follow = what in (CRAWL, DEAD)
        self.urls = task["seeds"][0] if self.follow else pages()
        self.budget = task["budget"] if self.follow else len(self.urls)
        self.web, self.dead = frozenset((folder / "web.urls").read_text().split()), what == DEAD
        self.model = train(tasks["critics"][task["critic"]]["examples"], self.web) if what != LISTED else None
        self.column = self.model.classes_.tolist().index(task["focus_class"]) if self.model else None

    async def start(self):
        self.begun = time.process_time()
        for url in self.urls:
            yield scrapy.Request(url, dont_filter=True, priority=1000)

    def parse(self, response):
        if self.delivered == self.budget:
            raise scrapy.exceptions.CloseSpider("budget")
        self.delivered += 1
        (self.bodies / sha1(response.url.encode()).hexdigest()).write_bytes(response.body)
        if not isinstance(response, scrapy.http.TextResponse):
            return
        relevance = self.model.predict_proba([words(response)])[0, self.column] if self.model else 0
        for link in self.links.extract_links(response):
            if self.follow and link.url.startswith("http:") and (self.dead or link.url in self.web):
                yield scrapy.Request(link.url, priority=int(1000 * relevance))

    def closed(self, reason):
        stats = self.crawler.stats.get_stats()
        requests = stats["downloader/request_count"] - stats["robotstxt/request_count"]
        print(json.dumps([(time.process_time() - self.begun) * 1000 / self.delivered, self.delivered, requests]))


def run(*command, **more):
    """The JSON document that a command prints."""
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=ROOT, **more).stdout)


def measure(folder, proxy):
    """Everything once: what, CPU ms a page, pages, requests."""
    urls = folder / "pages.urls"
    urls.write_text("\n".join(pages()))
    f = run(FORAGER, "bench-floor", urls, "--proxy", proxy)
    for what, key in ("net/http", "fetch"), ("net/http + html.Parse", "parse"):
        yield f"list: {what}", f[f"cpu_ms_per_page_{key}"], f["pages"], len(pages())
    # A request that names its proxy itself would leave those for robots.txt, which Scrapy makes, without one.
    env = os.environ | {"http_proxy": proxy, "https_proxy": proxy, "no_proxy": ""}
    for what in LISTED, JUDGED, CRAWL, DEAD:
        yield what, *run(sys.executable, __file__, what, folder, env=env)
    command = FORAGER, "bench", "--json", "--out", folder / "forager", "--web", WEB, "--task", TASK, "--cores", CORES
    for what, r in zip(("crawl", "crawl with dead links"), run(*command, "--rankers", "soft-focus", "--pages", "60")["runs"][1:]):
        yield f"{what}: forager, all processes", r["cpu_ms_per_page_sum"] - r["cpu_ms_per_page"]["web"], r["pages"], r["requests"]


def main(folder):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(CORES)])
    rows = {}
    command = FORAGER, "serve-web", WEB, "--listen", "127.0.0.1:0", "--urls", folder / "web.urls"
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            proxy = server.stdout.readline().split()[-1]
            for what, *figures in (row for _ in range(ROUNDS) for row in measure(folder, proxy)):
                rows.setdefault(what, []).append(figures)
        finally:
            server.terminate()
    print(f"\n{f'CPU ms a page, median and range of {ROUNDS}':72}{'pages':>8}{'requests':>10}")
    for what, figures in sorted(rows.items()):
        cpu, delivered, requests = zip(*figures)
        print(f"{what:46}{median(cpu):10.2f}{min(cpu):8.2f}–{max(cpu):<7.2f}{median(delivered):8.0f}{median(requests):10.0f}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        process = CrawlerProcess(SETTINGS)
        process.crawl(Focused, what=sys.argv[1], folder=Path(sys.argv[2]))
        process.start()
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))
