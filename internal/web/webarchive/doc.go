// Package webarchive makes a web of a WARC file: every stored answer stands at its URL, nothing
// else exists. It serves that web through an HTTP proxy, so that a crawl of the live web and
// one of a frozen web differ in one setting, and gives its pages to programs that need no server.
//
// # The web
//
// An answer stands at the canonical form of its URL; the first record of a URL wins, except
// that a redirect to its own canonical URL (from http://a.test to http://a.test/) gives way to any
// other answer. Status, header and body are those stored, also where net/http would refuse them (lines without a
// name are left out) and whatever their character encoding is; only what concerns the
// connection is the server's own. Redirects are answered as stored. What is not in the file,
// robots.txt too, is 404. Damaged records are named (Damaged) and missing; the rest is served.
//
// # The proxy
//
// A request carries an absolute URL (RFC 9112 §3.2.2). Pages with https URLs are asked for in
// the same way, "GET https://host/path HTTP/1.1", over the plain connection to the proxy: a
// frozen page has no certificate that anything could be compared with, and a proxy that makes
// certificates up would have every client trust it. CONNECT is therefore refused with 501 and
// the header AbsoluteFormHeader, by which clients of this project (internal/web/webclient) know
// that https URLs may be asked for so. Others see the reason in the body. A request with a bare
// path is looked for under the Host header, so that a client may also be sent here by name
// resolution.
//
// # Decisions
//
// 2026-11-21: the file is read once, for an index of places; bodies are read when asked for. A
// page costs one small inflate, and a file of any size can be served. Only records that share a
// gzip member with others are kept in memory.
package webarchive
