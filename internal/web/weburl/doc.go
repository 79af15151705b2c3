// Package weburl makes canonical URLs: the names under which Forager knows pages. Two spellings
// that every web server must answer alike become one string, so that no page is requested
// twice and every part of the pipeline can compare URLs as bytes.
//
// # What canonical means
//
// A reference is first read as browsers read it (WHATWG URL, with github.com/nlnwa/whatwg-url),
// because that is what page authors test with: white space around it and tabs and line ends
// within it go, "\" is "/", scheme and host become lower case, international hosts become
// ASCII (IDNA), IPv4 and IPv6 addresses get their one form, default ports go, dot segments are
// resolved, an empty path is "/", what must be escaped is escaped as UTF-8. Then:
//
//   - The fragment is dropped: it names a place within a page.
//   - User name and password are dropped: they say who asks, not what for (RFC 3986 §3.2.1),
//     and secrets must not travel through records.
//   - One dot at the end of a host is dropped: it is the same host.
//   - Escapes are written with capitals, and escapes of unreserved characters (letters,
//     digits, "-", ".", "_", "~") are undone (RFC 3986 §6.2.2). No other escape is undone:
//     "%2F" is not "/".
//   - A "%" that begins no escape is written "%25", and "|" in a path "%7C", so that a canonical
//     URL is a valid URI: net/url reads it and writes the same bytes, and what is recorded is
//     what is sent.
//   - A "?" with nothing behind it is dropped.
//   - Bytes that are not UTF-8 (Location headers of old servers) are kept as escapes.
//
// Left alone, because servers may tell the difference: case and doubled slashes of the path, a
// slash at its end, index.html, "www.", order and names of parameters, session ids, http
// against https.
//
// Refused: other schemes, no host, a host with an empty label or with characters that no name
// has (all but a–z, 0–9, "-", "_" and "."), and URLs longer than MaxLength.
//
// Parse(Parse(x)) = Parse(x).
//
// # Decisions
//
// 2026-11-21: whatwg-url takes 1.5 times as long to resolve the links of a page as html.Parse
// takes for the whole page. References made of plain characters are therefore resolved by
// slicing strings (plain.go), all others by whatwg-url. A fuzz target and the links of real pages
// hold the two equal.
//
// 2026-11-21: of the 15 web-platform cases in which whatwg-url 0.6.2 differs, 10 are mended in
// browser.go ("^" in paths; hosts written in ASCII whose punycode does not decode); the other
// 5 concern spaces in URLs without authority, which are refused here anyway.
//
// 2026-11-21: queries are escaped as UTF-8 whatever the encoding of the page is; browsers use
// the page's encoding there. Links with letters outside ASCII in a query on pages that are not
// UTF-8 are rare, and the pages behind them rarer.
package weburl
