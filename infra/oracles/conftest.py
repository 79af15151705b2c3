"""What the oracle tests share: the Go side, and the folders of shared data."""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def build() -> Path:
    """A folder for what the tests download and write; kept between runs."""
    folder = ROOT / "build" / "oracles"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def dump(build):
    """dump("robots", "-files", folder) runs the Go side and returns the JSON that it writes."""
    binary = build / "dump"
    env = {**os.environ, "CGO_ENABLED": "0"}
    subprocess.run(["go", "build", "-o", binary, "./infra/oracles/dump"], cwd=ROOT, env=env, check=True)

    def run(*args):
        done = subprocess.run([binary, *map(str, args)], cwd=ROOT, stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="session")
def folder():
    """folder("FORAGER_WEBS") is the folder that an environment variable names; it must be set."""

    def get(variable: str) -> Path:
        value = os.environ.get(variable)
        if not value:
            pytest.fail(f"{variable} is not set: it names a folder of shared data")
        return Path(value)

    return get
