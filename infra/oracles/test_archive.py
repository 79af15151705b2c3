"""The archive: pyarrow reads in its files what is in the topics, row for row and column for column.

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
        dumped = dump("archive", "-out", out, "-config", os.environ["FORAGER_PIPELINE"])
    else:
        dumped = dump("archive", "-out", out, "-web", folder("FORAGER_WEBS") / "webkb.warc.gz")
    dumped["folder"] = out
    return dumped


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


# What columns compute of fields, where there is a page or a judgement.
FUNCTIONS = {
    "host": lambda url: urlsplit(url).netloc,
    "len": len,
    "verdict": lambda name, role: {"LINK_ROLE_LINKS": "links", "LINK_ROLE_NOTE": "note"}.get(role, name),
    "schemas.LeapOutcome": lambda name, boundary: "" if boundary else name,
    "page": lambda name, number: number if name == "OUTCOME_DELIVERED" else None,
    "unless": lambda failure, number: None if failure else number,
    "passed": lambda dropped, number: None if dropped else number,
}


def field(message, path):
    """The field of a message at a path; None below a message that is not set."""
    for name in path.split("."):
        message = None if message is None else message[name]
    return message


def typed(value, kind):
    """A value of JSON as one of a column's type; the zero value for None."""
    kind, _, inner = kind.partition("(")
    inner = inner.removesuffix(")")
    if kind == "Nullable":
        return None if value is None else typed(value, inner)
    if kind == "Array":
        return [typed(x, inner) for x in value or []]
    if kind == "FixedString":
        return base64.b64decode(value or "")
    if kind in ("String", "LowCardinality"):
        return outcome(value) if (value or "").startswith("OUTCOME_") else value or ""
    return {"Bool": bool, "Float64": float}.get(kind, int)(value or 0)


def values(message, columns):
    """The columns of a record, by the fields that they come from."""
    row = {}
    for column in columns:
        source = column["from"] or column["name"]
        if column["columns"]:
            row[column["name"]] = [values(x, column["columns"]) for x in field(message, source) or []]
            continue
        if source.endswith(")"):
            function, _, paths = source.removesuffix(")").partition("(")
            arguments = [field(message, path) for path in paths.split(", ")]
            value = FUNCTIONS[function](*("" if x is None else x for x in arguments))
        else:
            value = field(message, source)
        row[column["name"]] = typed(value, column["type"])
    return row


def plain(value):
    """A value of pyarrow as the expectation has it: moments as milliseconds."""
    return round(value.timestamp() * 1000) if hasattr(value, "timestamp") else value


def test_every_row_says_what_the_topic_says(archive, rows):
    records = archive["records"]
    assert {(r["topic"], r["partition"], r["offset"]) for r in records} == set(rows)
    decoded = dict.fromkeys(TOPICS, 0)
    for record in records:
        row = {name: plain(value) for name, value in rows[record["topic"], record["partition"], record["offset"]].items()}
        place = {
            "offset": record["offset"],
            "partition": record["partition"],
            "topic": record["topic"],
            "time": record["time"],
            "key": bytes.fromhex(record["key"]),
            "headers": [{"name": k, "value": v} for k, v in sorted((record["headers"] or {}).items())],
            "record": bytes.fromhex(record["value"]),
        }
        assert {name: row.pop(name) for name in place} == place
        problem = row.pop("problem")
        if record["message"] is None or record["topic"] == "page.judged" and record.get("parsed") is None:
            assert problem
            assert all(not value for value in row.values())
            continue
        assert problem == ""
        message = record["message"]
        if record["topic"] == "page.judged":
            message = message | {"parsed": record["parsed"]}
        assert row == values(message, archive["columns"][record["topic"]])
        decoded[record["topic"]] += 1
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


def columns_of(archive, topic, is_type):
    """Names of a topic's columns of a type."""
    schema = pq.read_schema(next(archive["folder"] / f for f in archive["files"] if f"/{topic}/" in f))
    return [column.name for column in schema if is_type(column.type)]


def as_json(row, binary):
    """A row of pyarrow as ClickHouse's answer should have it: bytes in hexadecimal, moments in milliseconds."""
    row = dict(row)
    for name in binary:
        row[name] = row[name].hex().upper()
    return {name: plain(value) for name, value in row.items()}


@pytest.mark.parametrize("topic", TOPICS)
def test_clickhouse_reads_the_same(archive, dump, rows, topic, tmp_path):
    """ClickHouse's reader of Parquet finds the rows that pyarrow finds, overlaps taken once by offset."""
    binary = columns_of(archive, topic, pa.types.is_binary)
    as_hex = ", ".join(f"hex({name}) AS {name}" for name in binary)
    as_number = ", ".join(f"toUnixTimestamp64Milli({name}) AS {name}" for name in columns_of(archive, topic, pa.types.is_timestamp))
    answer = dump(
        "clickhouse",
        "-dir",
        tmp_path,
        "-query",
        f"SELECT * REPLACE ({as_hex}, {as_number}) FROM file('{archive['folder']}/archive/v1/{topic}/*/*.parquet', Parquet)"
        " LIMIT 1 BY partition, offset SETTINGS output_format_json_quote_64bit_integers = 0",
    )
    want = {key: as_json(row, binary) for key, row in rows.items() if key[0] == topic}
    assert len(answer["data"]) == len(want)
    for row in answer["data"]:
        assert row == want[row["topic"], row["partition"], row["offset"]]
