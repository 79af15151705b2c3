"""How fast a flat critic is compared with scikit-learn (CountVectorizer or HashingVectorizer and MultinomialNB):
training and scoring from raw text, the same bytes in the same run, CPU time of one core.

    FORAGER_TAXONOMY=… make bench-critic
"""

import gzip
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

for name in "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS":  # before numpy reads them
    os.environ[name] = "1"

from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer  # noqa: E402
from sklearn.naive_bayes import MultinomialNB  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
HASHED = {"n_features": 2**20, "alternate_sign": False, "norm": None}


def articles():
    with gzip.open(Path(os.environ["FORAGER_TAXONOMY"]) / "schools-wikipedia.jsonl.gz", "rt") as file:
        for line in file:
            article = json.loads(line)
            yield article["topics"][0].split("/")[0], article["text"]


def ours(dump, texts):
    done = subprocess.run([dump, "speed", "-texts", texts], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def theirs(vectorizer, classes, texts):
    begin = time.process_time()
    model = make_pipeline(vectorizer, MultinomialNB()).fit(texts, classes)
    trained = time.process_time()
    model.predict_proba(texts)
    return trained - begin, time.process_time() - trained


def main():
    build = ROOT / "build" / "oracles"
    build.mkdir(parents=True, exist_ok=True)
    env = {**os.environ, "CGO_ENABLED": "0"}
    subprocess.run(["go", "build", "-o", build / "dump", "./infra/oracles/dump"], cwd=ROOT, env=env, check=True)
    classes, texts = zip(*articles())
    size = sum(len(t.encode()) for t in texts) / 1e6
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for pair in zip(classes, texts):
            file.write(json.dumps(pair, ensure_ascii=False) + "\n")
        file.flush()
        rounds = []
        for _ in range(3):  # one after the other, so that all meet the same machine
            o = ours(build / "dump", file.name)
            rounds.append((o["train"], o["score"], *theirs(CountVectorizer(), classes, texts), *theirs(HashingVectorizer(**HASHED), classes, texts)))
    train, score, count_train, count_score, hash_train, hash_score = map(min, zip(*rounds))
    print(f"{len(texts)} texts, {size:.1f} MB; CPU time of one core, the best of {len(rounds)} runs each")
    print(f"{'':32}{'train MB/s':>12}{'score MB/s':>12}")
    for name, t, s in (
        ("forager", train, score),
        ("CountVectorizer + NB", count_train, count_score),
        ("HashingVectorizer + NB", hash_train, hash_score),
    ):
        print(f"{name:32}{size / t:12.1f}{size / s:12.1f}")
    quickest = min(count_train, hash_train) / train, min(count_score, hash_score) / score
    print(f"{'as quick as the quicker of them':32}{quickest[0]:11.1f}×{quickest[1]:11.1f}×")


if __name__ == "__main__":
    main()
