"""The archive: pyarrow reads in its files what the topics say, row for row and column for column.

Files overlap; which of two rows counts is decided here by offset, as a reader of the files would.
FORAGER_PIPELINE, where it is set, names the pipeline file of a running Forager, whose archive is
compared with what its topics retain.
"""

import base64
import os
from pathlib import PurePosixPath
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

TOPICS = ["page.judged", "link.found", "leap.settled"]


@pytest.fixture(scope="module", params=["made", "live"] if "FORAGER_PIPELINE" in os.environ else ["made"])
def archive(request, dump, folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("archive")
    if request.param == "live":
        said = dump("archive", "-out", out, "-config", os.environ["FORAGER_PIPELINE"])
    else:
        said = dump("archive", "-out", out, "-web", folder("FORAGER_WEBS") / "webkb.warc.gz")
    said["folder"] = out
    return said


@pytest.fixture(scope="module")
def rows(archive):
    """Rows of all files by topic, partition and offset; where files overlap, they agree."""
    found = {}
    for file in archive["files"]:
        path = PurePosixPath(file)
        first, last, _ = path.stem.split("-", 2)
        table = pq.read_table(archive["folder"] / file)
        table.validate(full=True)
        listed = table.to_pylist()
        offsets = [row["offset"] for row in listed]
        assert offsets == sorted(set(offsets)) and (offsets[0], offsets[-1]) == (int(first), int(last))
        for row in listed:
            key = (row["topic"], row["partition"], row["offset"])
            assert key[:2] == (path.parts[2], int(path.parts[3]))
            assert found.setdefault(key, row) == row
    return found


def outcome(name):
    """As people read it: delivered, failed:parse-dom."""
    name = name.removeprefix("OUTCOME_").lower()
    if name.startswith("failed_"):
        return "failed:" + name.removeprefix("failed_").replace("_", "-")
    return name.replace("_", "-")


def moment(milliseconds):
    return int(milliseconds)


def of_request(said, judgement, page_url):
    """Columns that page.judged and link.found share."""
    judgement = judgement or {}
    return {
        "relevance": judgement.get("raw"),
        "tempered": judgement.get("tempered"),
        "calibrated": judgement.get("calibrated"),
        "best_is_focus": judgement.get("best_is_focus", False),
        "critic": judgement.get("critic", ""),
        "known_tokens": int(judgement.get("known_tokens", 0)),
        "topics": [{"topic": t["topic"], "tempered": t["tempered"]} for t in judgement.get("topics", [])],
        "url": page_url,
        "host": urlsplit(page_url).netloc,
        "status": said["status"],
        "redirect": said["redirect"],
        "detail": said["detail"],
        "fetched_at": moment(said["fetched_at"]),
    }


def shadow(said):
    """What a critic beside says; no numbers where it failed."""
    failure = said.get("failure", "")
    numbers = {"relevance": "raw", "tempered": "tempered", "calibrated": "calibrated"}
    return {
        "critic": said["critic"],
        **{name: None if failure else said.get(of, 0.0) for name, of in numbers.items()},
        "best_is_focus": said.get("best_is_focus", False),
        "known_tokens": int(said.get("known_tokens", 0)),
        "failure": failure,
    }


def judged(said, parsed):
    page = parsed["page"] or {}
    judgement = said["judgement"] or {}
    return {
        "crawl": said["crawl"],
        "id": base64.b64decode(said["id"]),
        "outcome": outcome(said["outcome"]),
        **of_request(parsed, said["judgement"], page.get("url", "")),
        **{name: page.get(name, "") for name in ("title", "description", "language", "charset", "canonical")},
        **{name: int(page.get(name, 0)) for name in ("fingerprint", "size")},
        "leaves": len(page.get("leaf_lengths", [])),
        "tokens": len(page.get("tokens", [])),
        "links": len(page.get("links", [])),
        **{name: page.get(name, False) for name in ("nofollow", "noindex", "cut", "tokenizer_only")},
        "marking": int(judgement.get("marking", 0)),
        "degraded": judgement.get("degraded", ""),
        "shadows": [shadow(x) for x in judgement.get("shadows", [])],
        "guidance": [
            {"guide": g["guide"], "scores": g["scores"], "failure": g["failure"]}
            for g in judgement.get("guidance", [])
        ],
    }


def found(said, _):
    return {
        "crawl": said["crawl"],
        "shard": said["shard"],
        "id": base64.b64decode(said["id"]),
        "outcome": {"LINK_ROLE_LINKS": "links", "LINK_ROLE_NOTE": "note"}.get(said["role"], outcome(said["outcome"])),
        **of_request(said, said["judgement"], said["url"]),
        "not_before": moment(said["not_before"]),
        "fingerprint": int(said["fingerprint"]),
        "cut": said["cut"],
        "links": [{name: link[name] for name in ("url", "position", "first_leaf", "last_leaf", "nofollow")} for link in said["links"]],
    }


def settled(said, _):
    delivered = said["outcome"] == "OUTCOME_DELIVERED"
    return {
        "crawl": said["crawl"],
        "shard": said["shard"],
        "id": base64.b64decode(said["id"]),
        "u": said["u"],
        "v": said["v"],
        "u_host": urlsplit(said["u"]).netloc,
        "v_host": urlsplit(said["v"]).netloc,
        "outcome": "" if said["boundary"] else outcome(said["outcome"]),
        "target": said["target_raw"] if delivered else None,
        "target_tempered": said["target_tempered"] if delivered else None,
        "source": said["source_raw"],
        "source_tempered": said["source_tempered"],
        "score": said["score"],
        **{name: said[name] for name in ("policy", "model", "trains", "forward", "boundary")},
        "request": base64.b64decode(said["request"]),
        "pages": int(said["pages"]),
        "features": [{"term": f["term"], "offset": f["offset"], "count": f["count"]} for f in said["features"]],
        "shadows": [
            {"policy": s["policy"], **{name: None if s["dropped"] else s[name] for name in ("tier", "score")}, "model": s["model"]} for s in said["shadows"]
        ],
    }


COLUMNS = {"page.judged": judged, "link.found": found, "leap.settled": settled}


def plain(value):
    """A value of pyarrow as the expectation has it: moments as milliseconds."""
    return round(value.timestamp() * 1000) if hasattr(value, "timestamp") else value


def test_every_row_says_what_the_topic_says(archive, rows):
    records = archive["records"]
    assert {(r["topic"], r["partition"], r["offset"]) for r in records} == set(rows)
    decoded = dict.fromkeys(TOPICS, 0)
    for said in records:
        row = {name: plain(value) for name, value in rows[said["topic"], said["partition"], said["offset"]].items()}
        place = {
            "offset": said["offset"],
            "partition": said["partition"],
            "topic": said["topic"],
            "time": said["time"],
            "key": bytes.fromhex(said["key"]),
            "headers": [{"name": k, "value": v} for k, v in sorted((said["headers"] or {}).items())],
            "record": bytes.fromhex(said["value"]),
        }
        assert {name: row.pop(name) for name in place} == place
        problem = row.pop("problem")
        if said["message"] is None or said["topic"] == "page.judged" and said.get("parsed") is None:
            assert problem
            assert all(not value for value in row.values())
            continue
        assert problem == ""
        assert row == COLUMNS[said["topic"]](said["message"], said.get("parsed"))
        decoded[said["topic"]] += 1
    assert min(decoded.values()) > 50


def test_types(archive):
    """What a column is does not depend on the rows in it."""
    schemas = {}
    for file in archive["files"]:
        schema = pq.read_schema(archive["folder"] / file)
        assert schema.metadata[b"forager.archive"] == b"1"
        topic = schema.metadata[b"forager.topic"].decode()
        assert schemas.setdefault(topic, schema.remove_metadata()).equals(schema.remove_metadata())
    assert set(schemas) == set(TOPICS)
    for topic, schema in schemas.items():
        assert schema.field("time").type == pa.timestamp("ms", tz="UTC")
        assert schema.field("record").type == pa.binary()
        assert pa.types.is_list(schema.field({"page.judged": "topics", "link.found": "links", "leap.settled": "features"}[topic]).type)


# What JSON cannot say: bytes in hexadecimal, moments in milliseconds.
BYTES = {"page.judged": ["key", "record", "id"], "link.found": ["key", "record", "id"], "leap.settled": ["key", "record", "id", "request"]}
MOMENTS = {"page.judged": ["time", "fetched_at"], "link.found": ["time", "fetched_at", "not_before"], "leap.settled": ["time"]}


def as_json(row, topic):
    """A row of pyarrow as ClickHouse's answer should have it."""
    row = dict(row)
    for name in BYTES[topic]:
        row[name] = row[name].hex().upper()
    return {name: plain(value) for name, value in row.items()}


@pytest.mark.parametrize("topic", TOPICS)
def test_clickhouse_reads_the_same(archive, dump, rows, topic, tmp_path):
    """ClickHouse's reader of Parquet finds the rows that pyarrow finds, overlaps taken once by offset."""
    as_hex = ", ".join(f"hex({name}) AS {name}" for name in BYTES[topic])
    as_number = ", ".join(f"toUnixTimestamp64Milli({name}) AS {name}" for name in MOMENTS[topic])
    answer = dump(
        "clickhouse",
        "-dir",
        tmp_path,
        "-query",
        f"SELECT * REPLACE ({as_hex}, {as_number}) FROM file('{archive['folder']}/archive/v1/{topic}/*/*.parquet', Parquet)"
        " LIMIT 1 BY partition, offset SETTINGS output_format_json_quote_64bit_integers = 0",
    )
    want = {key: as_json(row, topic) for key, row in rows.items() if key[0] == topic}
    assert len(answer["data"]) == len(want)
    for row in answer["data"]:
        assert row == want[row["topic"], row["partition"], row["offset"]]
