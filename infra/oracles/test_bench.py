"""The benchmark of rankers with a ranker that was not written in Go: the one of docs/bench."""

import json
import subprocess
import sys

from conftest import ROOT


def test_the_ranker_of_the_docs_is_compared(folder, tmp_path):
    command = [sys.executable, ROOT / "docs/bench/ranker.py", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
        try:
            address = service.stdout.readline().split()[-1]
            bench = [ROOT / "build/bin/forager-lab", "experiment", "bench", folder("FORAGER_WEBS") / "tasks.json.gz", "--task", "webkb-uni:course/*"]
            ours = ["--ranker", f"words=http://{address}/", "--rankers", "random,oracle,soft-focus", "--first-draw", "10", "--draws", "2", "--no-cache", "-o", tmp_path]
            done = subprocess.run([*map(str, bench + ours)], capture_output=True, text=True, timeout=600)
        finally:
            service.terminate()
    assert done.returncode == 0, done.stdout + done.stderr
    study = json.loads((tmp_path / "study.json").read_text())
    assert study["origin"]["services"]["words"]["url"] == f"http://{address}/"
    (group,) = study["groups"]
    (ranker,) = (r for r in group["rankers"] if r["ranker"] == "words")
    assert sum(ranker["ends"].values()) == 4 * 2  # tasks, draws
    assert 0 < ranker["measures"]["recall"]["mean"] < 1
    (comparison,) = study["comparisons"]
    assert (comparison["ranker"], comparison["to"], comparison["sites"], comparison["p"]) == ("words", "soft-focus", 4, None)
