// Package robots parses robots.txt and decides what it allows (RFC 9309). Fetching the file, handling a
// response other than 200 (§2.3.1) and caching (§2.4) are left to the fetcher.
//
// # Points that the RFC leaves open, or that are often implemented differently
//
//   - The length of a match is the number of octets of the rule's pattern in its normal form, "*" and "$"
//     included, as in the parser of the RFC's authors. Of matches of one length an allow rule wins, whatever
//     the order of the lines.
//   - Normal form (§2.2.2): octets outside ASCII and reserved ones are escaped, escapes of unreserved ones are
//     undone. So "/a:b" and "/a%3Ab" are the same; "/" and "%2F" are the same after "?" only, which is what the
//     table in §2.2.2 shows: a slash within a path is a different path from an escaped one. "%2A" and "%24" in
//     a rule mean "*" and "$" themselves (§2.2.3).
//   - A group is named by what its user-agent line begins with: letters, digits, "-", "_" and ".". It applies
//     when that equals the product token, without regard to case; "Foobot/1.0" names Foobot, "Foo" does not
//     apply to Foobot.
//   - Groups of one name are merged. Nothing but an allow or disallow line ends the run of user-agent lines of
//     a group: neither blank lines nor records like Crawl-delay or Sitemap (§2.2.4: "MUST NOT interfere").
//   - Patterns begin with "/" or "*"; other values make no rule. Neither does an empty one.
//   - Crawl-delay, not in the RFC, applies to the user-agent lines before it, back to the last rule or
//     Crawl-delay: many files have one group a crawler with nothing else in it, and those delays are not meant
//     for the next crawler. Of several the longest applies, at most a day.
//   - Common misspellings of disallow and user-agent are accepted.
//   - Of a file beyond 500 KiB only the whole lines within are read. A byte order mark is skipped, and a file
//     in UTF-16 with one is decoded.
//
// # Limits
//
// Parse takes time and memory linear in the length of a file. So does Allowed, apart from a fixed amount of
// work for patterns with asterisks (matchBudget). When this budget is spent the file is applied strictly: the
// remaining disallow rules match as far as their first asterisk, the remaining allow rules are ignored.
package robots
