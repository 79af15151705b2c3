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


def test_webs_are_joined(folder, tmp_path):
    webs, out = folder("FORAGER_WEBS"), tmp_path / "union"
    subprocess.run([sys.executable, ROOT / "docs/bench/union.py", webs, out, "tasks.json.gz"], check=True)
    bench = [ROOT / "build/bin/forager-lab", "experiment", "bench", out / "tasks.json.gz", "--task", "webplatform:svg", "--draws", "1"]
    rankers = ["--rankers", "random,oracle,soft-focus,link-value", "--no-cache", "-o", tmp_path / "results"]
    done = subprocess.run([*map(str, bench + rankers)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {web: len((webs / f"{web}.labels.tsv").read_text().splitlines()) for web in ("webkb", "webplatform")}
    joined = len((out / "union.labels.tsv").read_text().splitlines())
    assert joined == sum(pages.values())
    (group,) = json.loads((tmp_path / "results" / "study.json").read_text())["groups"]
    recall = {r["ranker"]: r["measures"]["recall"]["mean"] for r in group["rankers"]}
    # A task fails if it does not have the targets that its file names: those of the other web have other labels.
    assert recall["random"] < recall["link-value"] <= 1, recall
