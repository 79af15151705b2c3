"""robots.txt: Forager's matcher (internal/web/robots) against Protego, the parser of Scrapy.

Both answer for generated files and for the real ones that Protego's source package carries.
Where they disagree, a sentence of RFC 9309 must decide. Each correction below takes one
departure out of Protego, by rewriting the file into one that the sentence calls equal or by
replacing a method. With all of them Protego must agree everywhere; each disagreement is listed,
in build/oracles/robots-disagreements.tsv, with the fewest corrections that remove it.
"""

import collections
import itertools
import re
import subprocess
import sys
import tarfile

import pytest
from protego import Protego
from protego import _protego, _ruleset, _utils

PROTEGO = "0.7.0"

# The sentences that decide, by correction.
SENTENCES = {
    "dollar": '§2.2.3: "$" designates the end of the match pattern. (Protego also reads it as a character.)',
    "index": "§2.2.2: The match evaluates positively if and only if the end of the path from the rule is reached before a "
    'difference in octets is encountered. (Protego: "allow: /index.html" allows "/", too.)',
    "names": "§2.2.1: Crawlers MUST use case-insensitive matching to find the group that matches the product token. §2.2: "
    "product-token = identifier / \"*\". (Protego looks for the group's whole value within the crawler's name.)",
    "records": '§2.2.4: Parsing of other records MUST NOT interfere with the parsing of explicitly defined records in Section 2. '
    '(Protego: "Crawl-delay" and unknown records end a run of user-agent lines.)',
    "colons": '§2.2: rule = *WS ("allow" / "disallow") *WS ":" *WS (path-pattern / empty-pattern) EOL. (Protego needs no colon.)',
    "lines": "§2.2: NL = %x0D / %x0A / %x0D.0A. WS = %x20 / %x09. (Protego ends lines at, and trims, what Python calls so.)",
    "mark": '§2.3: The file MUST be UTF-8 encoded (as defined in [RFC3629]). (Whose §6 makes a mark at the begin no character of '
    "the text; Protego leaves it to the caller.)",
    "slashes": "§2.2.2, table: /foo/bar?baz=https://foo.bar is encoded as /foo/bar?baz=https%3A%2F%2Ffoo.bar. (Protego distinguishes "
    '"/" from "%2F" in a query.)',
    "percent": '§2.2.2: Octets […] MUST be percent-encoded as defined by [RFC3986] prior to comparison. (Whose §2.4 writes "%" '
    'as "%25" when it begins no escape; to Protego the two differ.)',
    "octets": "§2.2.2: The match evaluates positively if and only if the end of the path from the rule is reached before a "
    "difference in octets is encountered. (To Protego all escaped octets that are not UTF-8 are one.)",
    "schemes": '§2.2: path-pattern = "/" *UTF8-char-noctl. (Protego reads "http://…" as "/http://…".)',
}

LINES = re.compile("\r\n|\r|\n")
RULES = _protego._ALLOW_DIRECTIVE | _protego._DISALLOW_DIRECTIVE


def rewrite(text, corrections):
    """Returns robots.txt without what Protego reads otherwise than RFC 9309."""
    if "mark" in corrections:
        text = text.removeprefix("\ufeff")
    lines = LINES.split(text) if "lines" in corrections else text.splitlines()
    corrected = (correct(line.split("#")[0], corrections) for line in lines)
    return "\n".join(line for line in corrected if line is not None)


def correct(line, corrections):
    """Returns a line of robots.txt, rewritten, or None where it has no meaning."""
    field, colon, value = line.partition(":")
    if "lines" in corrections:
        # Escaped, what is white space to Python only remains part of the value.
        field, value = field.strip(" \t"), re.sub(r"[^\S ]|[\x1c-\x1f]", lambda c: _utils.quote(c[0]), value.strip(" \t"))
        line = field + colon + value
    field = field.strip().lower()
    read = _protego._extract_directive(line.strip()) if line.strip() else None
    is_lenient = read is not None and read[0] != (field if colon else None) and read[0] in _protego._ALL_DIRECTIVES
    if is_lenient:
        return None if "colons" in corrections else line
    if colon and field in _protego._USER_AGENT_DIRECTIVE and "names" in corrections:
        token = re.match(r"\*(?=\s|$)|[A-Za-z0-9_.-]*", value.strip())[0]
        return f"user-agent: {token or 'nobody-in-particular'}"
    if colon and field in RULES and "schemes" in corrections and value.strip().startswith(("http://", "https://")):
        return field + ":"
    if colon and field not in RULES | _protego._USER_AGENT_DIRECTIVE and "records" in corrections:
        return None
    return line


def patch(monkeypatch, corrections):
    """Takes departures out of Protego itself."""
    rules = _ruleset._RuleSet

    def add(self, field, pattern):
        if "dollar" not in corrections and "$" in pattern:
            add(self, field, pattern.replace("$", "%24"))
        url_pattern = self._url_pattern(pattern)
        if url_pattern is not None:
            self._rules.append(_ruleset._Rule(field=field, value=url_pattern))

    def allow(self, pattern):
        add(self, "allow", pattern)
        if "index" not in corrections and pattern.endswith("/index.html"):
            add(self, "allow", pattern.removesuffix("index.html") + "$")

    if {"dollar", "index"} & corrections:
        monkeypatch.setattr(rules, "allow", allow)
        monkeypatch.setattr(rules, "disallow", lambda self, pattern: add(self, "disallow", pattern))
    if "names" in corrections:
        monkeypatch.setattr(
            rules,
            "applies_to",
            lambda self, name: 1 if self.user_agent == "*" else 2 if self.user_agent == name.lower() else 0,
        )
    if {"percent", "octets"} & corrections:
        monkeypatch.setattr(_utils, "_quote", lambda value, kept, safe: quote(value, kept, safe, corrections))
    if "slashes" in corrections:
        monkeypatch.setattr(rules, "can_fetch", can_fetch_either)


def quote(value, kept, safe, corrections):
    """_utils._quote, in which "%" without digits is "%25" and octets need not be UTF-8."""
    if "percent" in corrections:
        value = re.sub("%(?![0-9A-Fa-f]{2})", "%25", value)
    if "octets" not in corrections:
        return _utils.quote(_utils._unquote(value, ignore=kept), safe=safe)
    return _utils.quote(_utils._unquote(value, ignore=kept, errors="surrogateescape"), safe=safe, errors="surrogateescape")


def escape_query(path):
    head, mark, query = path.partition("%3F")
    return head + mark + query.replace("/", "%2F")


def can_fetch_either(self, url):
    """_RuleSet.can_fetch, in which a rule also matches if it does with "/" in queries escaped."""
    quoted = _ruleset._quote_path(url)
    for rule in self._rules:  # sorted: the longest first, allow before disallow
        escaped = _ruleset._URLPattern(escape_query(rule.value._pattern))
        if rule.value.match(quoted) or escaped.match(escape_query(quoted)):
            return rule.field == "allow"
    return True


def disagreements(monkeypatch, text, answers, corrections):
    """The answers of a file that Protego does not share."""
    with monkeypatch.context() as context:
        patch(context, corrections)
        file = Protego.parse(rewrite(text, corrections) if corrections else text)
        return [a for a in answers if file.can_fetch("http://host.example" + a["path"], a["agent"]) != a["allowed"]]


@pytest.fixture(scope="session")
def real_files(build):
    """The folder of robots.txt files in Protego's source package, fetched once."""
    package = build / f"protego-{PROTEGO}.tar.gz"
    if not package.exists():
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=:all:", f"--dest={build}"]
        subprocess.run([*pip, f"protego=={PROTEGO}"], check=True)
    files = build / f"protego-{PROTEGO}" / "tests" / "test_data"
    if not files.exists():
        with tarfile.open(package) as archive:
            archive.extractall(build, filter="data")
    return files


@pytest.fixture(scope="session")
def cases(dump, real_files):
    """(name, text, what Forager answered) of each file."""
    found = []
    for case in dump("robots", "-files", real_files, "-generate", 1500):
        text = case.get("text")
        if text is None:
            try:
                text = (real_files / case["name"]).read_bytes().decode()
            except UnicodeDecodeError:
                continue  # Protego reads text only
        found.append((case["name"], text, case))
    assert len(found) > 5000
    return found


def test_every_disagreement_is_decided_by_a_sentence(cases, build, monkeypatch):
    every = frozenset(SENTENCES)
    # Fewest corrections first; sets of three and more are looked for one by one in all.
    few = [frozenset(c) for n in (1, 2) for c in itertools.combinations(SENTENCES, n)]
    listed, total, forbidden = [], 0, 0
    for name, text, case in cases:
        total += len(case["answers"])
        forbidden += sum(not a["allowed"] for a in case["answers"])
        unexplained = disagreements(monkeypatch, text, case["answers"], every)
        assert not unexplained, f"{name}: no sentence decides {unexplained[:3]}\n{text[:2000]}"
        left = disagreements(monkeypatch, text, case["answers"], frozenset())
        for corrections in few:
            if not left:
                break
            still = disagreements(monkeypatch, text, left, corrections)
            listed += [(name, a, corrections) for a in left if a not in still]
            left = still
        for answer in left:
            needed = set(every)
            for correction in SENTENCES:
                if not disagreements(monkeypatch, text, [answer], frozenset(needed - {correction})):
                    needed.discard(correction)
            listed.append((name, answer, frozenset(needed)))
    counts = {"generated": collections.Counter(), "real": collections.Counter()}
    with open(build / "robots-disagreements.tsv", "w", encoding="utf-8") as out:
        for name, a, corrections in listed:
            kind = "generated" if name.startswith("generated/") else "real"
            counts[kind].update(corrections)
            sentences = " ".join(SENTENCES[c] for c in sorted(corrections))
            print(name, a["agent"], repr(a["path"]), "forager allows" if a["allowed"] else "protego allows", sentences, sep="\t", file=out)
    print(f"{total} answers, {forbidden} refusals, {len(listed)} disagreements")
    for kind, count in counts.items():
        print(kind, dict(count.most_common()))
    assert forbidden > total / 10
    # Exact: a correction that nothing needs is no departure of Protego any more.
    alone = {c for _, _, corrections in listed if len(corrections) == 1 for c in corrections}
    assert alone == set(SENTENCES)


def test_crawl_delays_of_real_files(cases):
    """Not in the RFC, so nothing decides between the two: real files must have the same delays."""
    differences, delays = [], 0
    for name, text, case in cases:
        if name.startswith("generated/"):
            continue
        file = Protego.parse(text)
        for agent, seconds in case["delays"].items():
            delays += seconds is not None
            if file.crawl_delay(agent) != seconds:
                differences.append((name, agent, seconds, file.crawl_delay(agent)))
    assert delays > 500
    assert not differences
