"""Leaves and links: Forager's numbering of the frozen pages against one made on html5lib's tree.

The numbering below follows the rules that the documentation of internal/page/dom states. Every page must
have the same number of leaves in both modes, and the same links: target, first and last leaf,
position, whether it is not to be followed. Targets are made canonical by Forager (internal/web/weburl
has oracles of its own).

Where they disagree the trees do, and the HTML standard defines which tree is right. Each correction
below takes one departure out of html5lib, or puts one of golang.org/x/net/html into it. Every
disagreement must go with the fewest corrections that leaves-differences.tsv lists for it; the
columns are the counts of html5lib, those of Forager, and the corrections. What a run finds is
written to build/oracles/leaves-differences.WEB.tsv.
"""

import contextlib
import csv
import itertools
import json
import multiprocessing
import re
from pathlib import Path
from unittest import mock

import pytest
from html5lib import _tokenizer
from html5lib.constants import spaceCharacters, tokenTypes
from html5lib.html5parser import HTMLParser
from html5lib.treebuilders import getTreeBuilder
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeadersParser

LISTED = Path(__file__).with_name("leaves-differences.tsv")
PAGES = {"webkb": 8275, "webplatform": 5194}
MODES = ("compact", "paper")

# What the standard (HTML, "The HTML syntax", sections by name) requires for each departure.
SENTENCES = {
    "cells": 'The "in cell" and "in caption" insertion modes, anything else: process the token using the rules for the "in body" '
    "insertion mode; there, white space: reconstruct the active formatting elements, if any. (html5lib inserts white space at once.)",
    "frames": 'The "in frameset" and "after frameset" insertion modes: a character token that is white space: insert the character. '
    "(html5lib drops white space behind another character.)",
    "nameless": "Tag open state for end tags, U+003E: this is a missing-end-tag-name parse error. Switch to the data state. (x/net makes "
    '"</>" an empty comment, and so two texts of one.)',
    "newline": 'The "in body" insertion mode, start tag "pre": if the next token is a U+000A LINE FEED character token, then ignore that '
    "token and move on to the next one. (x/net ignores one at the begin of each text until the element has content.)",
}

HTML = "{http://www.w3.org/1999/xhtml}"
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


class Numbering:
    """Leaves and links of one page, in both modes."""

    def __init__(self, document):
        self.leaves = [0, 0]
        self.base = None  # href of the first <base>
        self.links = []  # href, first leaves, last leaves, whether it is not to be followed
        todo = [("begin", document)]  # a stack, as pages may nest deeper than Python does
        while todo:
            what, node = todo.pop()
            if what == "begin":
                todo.extend(reversed(list(self._begin(node))))
            elif what == "text":
                self._text(node)
            else:
                self._end(*node)

    def _leaf(self, *modes):
        for mode in modes:
            self.leaves[mode] += 1

    def _text(self, text):
        if text:
            self._leaf(1)
            if text.strip(WHITE_SPACE):
                self._leaf(0)

    def _begin(self, element):
        """Takes an element or comment that begins, and yields what is to be done for it."""
        tag = element.tag
        if tag == "<!DOCTYPE>":
            return
        if not isinstance(tag, str):  # comments have a function for a tag
            self._leaf(1)
            return
        name = tag.rpartition("}")[2]
        if name in ("script", "style", "svg") or tag == HTML + "template":
            self._leaf(0, 1)
            return
        link, href = None, element.get("href")
        if href is not None and tag in (HTML + "a", HTML + "area"):
            rel = (element.get("rel") or "").lower().split()
            link = [href, list(self.leaves), None, not {"nofollow", "ugc", "sponsored"}.isdisjoint(rel)]
            self.links.append(link)
        if href is not None and tag == HTML + "base" and self.base is None:
            self.base = href
        yield "text", element.text
        for child in element:
            yield "begin", child
            yield "text", child.tail
        if tag != "DOCUMENT_ROOT":
            yield "end", (list(self.leaves), link)

    def _end(self, before, link):
        self._leaf(*(mode for mode in (0, 1) if self.leaves[mode] == before[mode]))
        if link:
            link[2] = [n - 1 for n in self.leaves]


def charset(content_type):
    found = re.search(r"""charset\s*=\s*["']?([^\s"';]+)""", content_type or "", re.IGNORECASE)
    return found and found.group(1)


def number(page):
    """Returns the leaf counts, the href of <base> and the links of a stored page."""
    _, content_type, body = page
    document = HTMLParser(getTreeBuilder("etree", fullTree=True)).parse(body, transport_encoding=charset(content_type))
    numbering = Numbering(document)
    return numbering.leaves, numbering.base, numbering.links


def stored(path):
    """Yields target, Content-Type and body of every answer with status 200."""
    with open(path, "rb") as file:
        for record in ArchiveIterator(file):
            if record.rec_type != "response":
                continue
            headers, stream = record.http_headers, record.content_stream
            if headers is None:  # warcio leaves answers alone whose target is no http URL
                headers, stream = StatusAndHeadersParser(["HTTP/1.0", "HTTP/1.1"]).parse(record.raw_stream), lambda r=record: r.raw_stream
            if headers.get_statuscode() == "200":
                yield record.rec_headers.get_header("WARC-Target-URI"), headers.get_header("Content-Type"), stream().read()


# The corrections, as context managers that change html5lib.


def phases():
    return {name: type(phase) for name, phase in HTMLParser().phases.items()}


@contextlib.contextmanager
def cells():
    def in_body(self, token):
        return self.parser.phases["inBody"].processSpaceCharacters(token)

    with contextlib.ExitStack() as stack:
        for name in ("inCell", "inCaption"):
            stack.enter_context(mock.patch.object(phases()[name], "processSpaceCharacters", in_body))
        yield


@contextlib.contextmanager
def frames():
    def keep_space(self, token):
        space = "".join(c for c in token["data"] if c in spaceCharacters)
        if space:
            self.tree.insertText(space)

    with contextlib.ExitStack() as stack:
        for name in ("inFrameset", "afterFrameset"):
            stack.enter_context(mock.patch.object(phases()[name], "processCharacters", keep_space))
        yield


@contextlib.contextmanager
def nameless():
    original = _tokenizer.HTMLTokenizer.closeTagOpenState

    def comment(self):
        c = self.stream.char()
        self.stream.unget(c)
        if c == ">":
            self.tokenQueue.append({"type": tokenTypes["Comment"], "data": ""})
        return original(self)

    with mock.patch.object(_tokenizer.HTMLTokenizer, "closeTagOpenState", comment):
        yield


@contextlib.contextmanager
def newline():
    in_body = phases()["inBody"]

    def dropping(original):
        def process(self, token):
            current = self.tree.openElements[-1]
            if current.name in ("pre", "listing") and not current.hasContent() and token["data"].startswith("\n"):
                token = {**token, "data": token["data"][1:]}
            return original(self, token) if token["data"] else None

        return process

    space = "processSpaceCharactersNonPre"
    with mock.patch.object(in_body, space, dropping(getattr(in_body, space))):
        yield


CORRECTIONS = {"cells": cells, "frames": frames, "nameless": nameless, "newline": newline}


@pytest.fixture(scope="module", params=PAGES)
def web(request, dump, build, folder):
    """Name of a web, its pages as stored, as html5lib has them and as Forager has them, and targets by href."""
    path = folder("FORAGER_WEBS") / f"{request.param}.warc.gz"
    pages = list(stored(path))
    with multiprocessing.Pool() as pool:
        theirs = pool.map(number, pages, chunksize=16)
    ours = dump("leaves", "-web", path)
    assert [page["url"] for page in ours] == [url for url, _, _ in pages]
    assert len(pages) == PAGES[request.param]
    hrefs = [sorted({href for href, *_ in links}) for _, _, links in theirs]
    asked = build / "hrefs.json"
    asked.write_text(json.dumps([[page["base"], base, h] for page, (_, base, _), h in zip(ours, theirs, hrefs)]))
    targets = [dict(zip(h, t)) for h, t in zip(hrefs, dump("resolve", "-in", asked))]
    return request.param, pages, theirs, ours, targets


def links(numbered, targets, mode):
    """Returns the links as Forager lists them: the first to each target."""
    found, position = {}, 0
    for href, first, last, nofollow in numbered[2]:
        target = targets[href]
        if target is not None:
            found.setdefault(target, [target, first[mode], last[mode], position, nofollow])
            position += 1
    return list(found.values())


def agree(numbered, page, targets):
    return all(
        numbered[0][mode] == page[name]["leaves"] and links(numbered, targets, mode) == page[name]["links"]
        for mode, name in enumerate(MODES)
    )


def fewest(stored_page, page, targets):
    """Returns the fewest corrections with which html5lib agrees, or "none does"."""
    for n in range(1, len(CORRECTIONS) + 1):
        for names in itertools.combinations(CORRECTIONS, n):
            with contextlib.ExitStack() as stack:
                for name in names:
                    stack.enter_context(CORRECTIONS[name]())
                if agree(number(stored_page), page, targets):
                    return " ".join(names)
    return "none does"


def listed():
    with open(LISTED, newline="", encoding="utf-8") as file:
        return [tuple(row) for row in csv.reader(file, delimiter="\t")]


def test_every_page(web, build):
    name, pages, theirs, ours, targets = web
    assert not [page["url"] for page in ours if page["flat"]]
    found = []
    for stored_page, numbered, page, t in zip(pages, theirs, ours, targets):
        if not agree(numbered, page, t):
            counts = [*map(str, numbered[0]), *(str(page[mode]["leaves"]) for mode in MODES)]
            found.append((name, page["url"], *counts, fewest(stored_page, page, t)))
    with open(build / f"leaves-differences.{name}.tsv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows(found)
    assert found == [row for row in listed() if row[0] == name]


def test_enough_links(web):
    _, _, _, ours, _ = web
    assert sum(len(page["compact"]["links"]) for page in ours) > 50_000


def test_list():
    assert {cause for row in listed() for cause in row[6].split()} == set(CORRECTIONS) == set(SENTENCES)
