// Package weburl makes canonical URLs, by which Forager identifies pages. Two spellings for which every web
// server must return the same become one string, so that no page is requested twice and every part of the
// pipeline can compare URLs as bytes.
//
// # What canonical means
//
// A reference is first read as browsers read it (WHATWG URL, with github.com/nlnwa/whatwg-url), because page
// authors test with browsers: white space around it and tabs and line ends within it are removed, "\" is "/",
// scheme and host become lower case, international hosts become ASCII (IDNA), IPv4 and IPv6 addresses get their
// canonical form, default ports are removed, dot segments are resolved, an empty path is "/", what must be
// escaped is escaped as UTF-8 (whatever the encoding of the page). Then:
//
//   - The fragment is dropped: it names a place within a page.
//   - User name and password are dropped: they identify the client, not the resource (RFC 3986 §3.2.1), and
//     secrets must not be in records.
//   - One dot at the end of a host is dropped: it is the same host.
//   - Escapes are written with capitals, and escapes of unreserved characters (letters, digits, "-", ".", "_",
//     "~") are undone (RFC 3986 §6.2.2). No other escape is undone: "%2F" is not "/".
//   - A "%" that begins no escape is written "%25", and "|" in a path "%7C", so that a canonical URL is a valid
//     URI: net/url reads it and writes the same bytes, and what is recorded is what is sent.
//   - A "?" with nothing after it is dropped.
//   - Bytes that are not UTF-8 (Location headers of old servers) are kept as escapes.
//
// Left alone, because servers may distinguish them: case and doubled slashes of the path, a slash at its
// end, index.html, "www.", order and names of parameters, session ids, http against https.
//
// Refused: other schemes, no host, a host with an empty label or with characters that no name has (all but a–z,
// 0–9, "-", "_" and "."), and URLs longer than MaxLength.
//
// Parse(Parse(x)) = Parse(x).
//
// References made of plain characters are resolved by slicing strings (plain.go), all others by whatwg-url
// (slow in url.go); a fuzz target and the links of real pages check that both give the same result. Where
// whatwg-url departs from the standard, browser.go corrects it (docs/decisions/0335).
package weburl
