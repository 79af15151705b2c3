"""The synthetic web, used by a crawler that was not written here: what its README shows works unchanged."""

import json
import os
import re
import socket
import subprocess

from conftest import ROOT

# Machines that run the tests need not have curl: its last argument is the URL.
CURL = """curl() {
  python3 -c 'import shutil, sys, urllib.request as u; shutil.copyfileobj(u.urlopen(sys.argv[1]), sys.stdout.buffer)' "${@: -1}"
}
"""
END = "trap 'kill $(jobs -p) 2>&- || true' EXIT\n"


def test_the_readme_judges_a_crawler(tmp_path):
    readme = (ROOT / "infra/simweb/README.md").read_text()
    section = readme[readme.index("## Judge a crawler by it") :]
    script = re.search(r"```sh\n(.*?)```", section, re.DOTALL)[1]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    script = script.replace("127.0.0.1:18081", address).replace("serve-simweb ", f"serve-simweb --listen {address} ")
    (tmp_path / "infra").symlink_to(ROOT / "infra")
    env = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    env["PATH"] = f"{ROOT / 'build/bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", END + CURL + script], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    on_topic, fetched = map(int, re.search(r"harvest rate: (\d+) of (\d+) pages", done.stdout).groups())
    assert f"{on_topic} pages on the topic among {fetched}" in section

    # The log agrees with the labels, and a focused crawler is worth its words.
    labels = [json.loads(line) for line in (tmp_path / "labels.jsonl").open()]
    topics = {truth["url"]: truth["topic"] for truth in labels}
    assert len(topics) == 100_000
    log = [json.loads(line) for line in (tmp_path / "fetched.jsonl").open()]
    assert len({line["url"] for line in log}) == len(log) == fetched
    assert all(topics[line["url"]] == line["topic"] for line in log)
    topic = re.search(r"^topic=(\S+)$", script, re.MULTILINE)[1]
    there_are = int(re.search(r"of (\d+) there are", done.stdout)[1])
    assert there_are == sum(t == topic for t in topics.values())
    assert on_topic / fetched > 5 * there_are / len(topics)
