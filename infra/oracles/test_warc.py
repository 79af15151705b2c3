"""WARC: the segments that fetch writes, and the records that Forager reads, against warcio.

Every segment passes `warcio check`, which computes all digests again, and warcio finds each page at
its place with the same bytes. In a foreign file both read the same records.
"""

import hashlib
import io
import subprocess
import sys
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

REQUIRED = {"WARC-Type", "WARC-Record-ID", "WARC-Date", "Content-Length"}  # ISO 28500 §5


@pytest.fixture(scope="module")
def pages(dump, folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("segments")
    return dump("segments", "-out", out, "-web", folder("FORAGER_WEBS") / "webkb.warc.gz")


@pytest.fixture(scope="module")
def segments(pages):
    return sorted({page["segment"] for page in pages})


def payload(record):
    return hashlib.sha256(record.content_stream().read()).hexdigest()


def test_enough(pages, segments):
    assert len(segments) >= 10 and len(pages) > 9000
    assert sum(page["truncated"] for page in pages) == 1


def test_warcio_check(segments):
    checked = subprocess.run(
        [sys.executable, "-m", "warcio.cli", "check", "--verbose", *segments], stdout=subprocess.PIPE, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout[-2000:]
    # Verbose, it reports of each record whether its digests pass: none may be without.
    lines = checked.stdout.splitlines()
    assert sum("digest pass" in line for line in lines) == sum("WARC-Record-ID" in line for line in lines) > 9000
    assert not any("fail" in line or "not present" in line or "unknown" in line for line in lines)


def test_whole_segments(pages, segments):
    """Going through a segment gives warcinfo and then the pages."""
    by_id = {f"<urn:uuid:{page['id']}>": page for page in pages}
    assert len(by_id) == len(pages)
    seen = 0
    for segment in segments:
        with open(segment, "rb") as file:
            iterator = ArchiveIterator(file)
            for position, record in enumerate(iterator):
                headers = record.rec_headers
                assert REQUIRED <= {name for name, _ in headers.headers}
                assert headers.protocol == "WARC/1.1"
                if position == 0:
                    assert record.rec_type == "warcinfo"
                    info = record.content_stream().read().decode()
                    assert "software: forager" in info and "format: WARC File Format 1.1" in info
                    warcinfo = headers.get_header("WARC-Record-ID")
                    assert segment.endswith(headers.get_header("WARC-Filename"))
                    continue
                page = by_id[headers.get_header("WARC-Record-ID").replace("-", "")]
                assert record.rec_type == "response" and headers.get_header("WARC-Warcinfo-ID") == warcinfo
                compare(record, page)
                # warcio reads the record to its end for these.
                assert (page["segment"], page["offset"]) == (segment, iterator.get_record_offset())
                assert page["length"] == iterator.get_record_length()
                seen += 1
    assert seen == len(pages)


def compare(record, page):
    headers = record.rec_headers
    assert headers.get_header("WARC-Target-URI") == page["url"]
    assert headers.get_header("WARC-Record-ID").replace("-", "") == f"<urn:uuid:{page['id']}>"
    assert headers.get_header("WARC-Payload-Digest") == page["digest"]
    assert headers.get_header("WARC-Truncated") == ("length" if page["truncated"] else None)
    assert record.http_headers.get_statuscode() == str(page["status"])
    body = record.content_stream().read()
    assert record.http_headers.get_header("Content-Length") == str(len(body))
    assert hashlib.sha256(body).hexdigest() == page["payload"], page["url"]


def test_single_ranges(pages):
    """The bytes of one range are a WARC file of one record."""
    for page in pages[:: max(1, len(pages) // 500)]:
        with open(page["segment"], "rb") as file:
            file.seek(page["offset"])
            member = file.read(page["length"])
        records = 0
        for record in ArchiveIterator(io.BytesIO(member), check_digests="raise"):
            compare(record, page)
            records += 1
        assert records == 1


@pytest.mark.parametrize("web", ["webkb", "webplatform"])
def test_reading(dump, folder, web):
    file = folder("FORAGER_WEBS") / f"{web}.warc.gz"
    ours = dump("segments", "-read", file)
    assert len(ours) > 9000
    theirs = []
    with Path(file).open("rb") as stream:
        iterator = ArchiveIterator(stream)
        for record in iterator:
            if record.rec_type != "response":
                continue
            url = record.rec_headers.get_header("WARC-Target-URI")
            found = {"url": url}
            if url.startswith("http"):  # of other URLs warcio leaves the header in the payload
                found |= {"status": int(record.http_headers.get_statuscode()), "payload": payload(record)}
            theirs.append(found | {"offset": iterator.get_record_offset()})
    assert [{**our, **their} for our, their in zip(ours, theirs, strict=True)] == ours
