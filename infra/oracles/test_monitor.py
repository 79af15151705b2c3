"""The monitor's interface against what its OpenAPI description promises, by schemathesis: requests of every kind, valid and not."""

import json
import os
import socket
import subprocess
import sys

import pytest
from conftest import ROOT

FORAGER = ROOT / "build" / "bin" / "forager"
CRAWL = """name: held
critic: rules
focus: [Alpha]
seeds: ["http://held.example/"]
budget: {pages: 10}
ranker: soft-focus
politeness: {delay: 1s, contact: tests@example.org}
"""


def address() -> str:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{s.getsockname()[1]}"


@pytest.fixture
def monitor(tmp_path):
    """Address and token of the monitor of a pipeline with one crawl, whose proxy is away: nothing is ever requested of a web server."""
    text = (ROOT / "pipeline.yaml").read_text()
    serves = address()
    for old, new in {
        "127.0.0.1:19092": address(),
        "127.0.0.1:19000": address(),
        "127.0.0.1:18123": address(),
        "data: build/data": "data: data",
        "  fetch:\n": "  fetch:\n    proxy: http://127.0.0.1:1\n",
        "monitor: {": f'monitor: {{address: "{serves}", ',
    }.items():
        assert old in text, old
        text = text.replace(old, new)
    (tmp_path / "pipeline.yaml").write_text(text)
    (tmp_path / "crawl.yaml").write_text(CRAWL)
    (tmp_path / "critic.rules").write_text('Alpha: text has "alpha"\nBeta: text has "beta"\n')

    def forager(*args):
        return subprocess.run([FORAGER, *args], cwd=tmp_path, stdout=subprocess.PIPE, check=True, text=True).stdout

    # npm's folder is found above the working directory
    os.symlink(ROOT / "node_modules", tmp_path / "node_modules")
    try:
        forager("up")
        forager("critic", "rules", "critic.rules", "--name", "rules")
        forager("crawl", "start", "crawl.yaml")
        yield serves, json.loads((tmp_path / "data" / "secrets" / "monitor.json").read_text())["password"]
    finally:
        forager("down")


def test_responses_are_as_described(monitor, tmp_path):
    serves, token = monitor
    # Requests that name the crawl by chance are rare.
    (tmp_path / "schemathesis.toml").write_text('[parameters]\ncrawl = "held"\n')
    program = [sys.executable, "-m", "schemathesis.cli", "run", f"http://{serves}/api/v1/openapi.json"]
    # What a description allows may still be refused: a ranker that does not exist, a crawl that has been stopped. And null is taken for
    # a property that is absent.
    excluded = "--exclude-checks=positive_data_acceptance,negative_data_rejection"
    options = ["--max-examples=15", "--seed=1", "--workers=1", "--wait-for-schema=60", "--request-timeout=60", excluded]
    described = json.loads((ROOT / "internal/monitor/api/openapi.json").read_text())["paths"].values()
    # The crawl is deleted last: the requests of all other operations are about it.
    for which, operations in {"exclude": sum(map(len, described)) - 1, "include": 1}.items():
        done = subprocess.run(
            [*program, *options, f"--{which}-operation-id=delete-crawl", "-H", f"Authorization: Bearer {token}"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        assert f"Tested: {operations}" in done.stdout, done.stdout
