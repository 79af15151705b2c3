"""Joins frozen webs to one: python3 union.py WEBS OUT TASKS...

OUT gets union.warc.gz with the pages of all webs that task files in WEBS name, union.labels.tsv, and the task files, whose crawls may go to any
page. Links between the webs are those that the pages have. The seeds of a draw are those of the task and, for each other web, those of its first
task. Labels get the name of their web (security@archwiki), so that pages of other webs are no targets. Tasks on a part of a web are left out.
"""

import gzip
import json
import pathlib
import shutil
import sys


def named(label, warc):
    first, slash, rest = label.partition("/")
    return first + "@" + warc.removesuffix(".warc.gz") + slash + rest


def main(webs, out, *names):
    webs, out = pathlib.Path(webs), pathlib.Path(out)
    files = {name: json.loads(gzip.decompress((webs / name).read_bytes())) for name in names}
    seeds = {}
    for task in (task for file in files.values() for task in file["tasks"]):
        seeds.setdefault(task["warc"], task["seeds"])
    out.mkdir(parents=True, exist_ok=True)
    for name, file in files.items():
        file["tasks"] = [task for task in file["tasks"] if task["pages"] == "all"]
        for task in file["tasks"]:
            others = [seeds[warc] for warc in sorted(seeds) if warc != task["warc"]]
            task["seeds"] = [sum(draw, []) for draw in zip(task["seeds"], *others)]
            task["target_label"] = named(task["target_label"], task["warc"])
            task["warc"] = "union.warc.gz"
        (out / name).write_bytes(gzip.compress(json.dumps(file).encode()))
    with open(out / "union.warc.gz", "wb") as pages, open(out / "union.labels.tsv", "w") as labels:
        for warc in sorted(seeds):
            with open(webs / warc, "rb") as web:
                shutil.copyfileobj(web, pages)
            for line in (webs / warc.replace(".warc.gz", ".labels.tsv")).read_text().splitlines():
                url, _, label = line.partition("\t")
                labels.write(url + "\t" + named(label, warc) + "\n")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
