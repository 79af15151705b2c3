// Package webarchive serves a WARC file as a web: every stored response is at its URL, and nothing else exists.
// It serves that web through an HTTP proxy, so that a crawl of the live web and one of a frozen web differ in
// one setting, and returns its pages to programs that need no server (Archive.Lookup).
//
// # The web
//
// A response is found under the canonical form of its URL. The first record of a URL wins, except that a
// redirect to its own canonical URL (from http://a.test to http://a.test/) yields to any other response.
// Status, header and body are those stored, also where net/http would refuse them (lines without a name are
// left out) and in any character encoding; only the headers of the connection are the server's own. Redirects
// are served as stored. What is not in the file, robots.txt included, is 404. Damaged records are reported
// (Damaged) and missing; the rest is served.
//
// The file is read once, for an index of offsets; bodies are read on demand. A page costs one small inflate,
// and a file of any size can be served. Only records that share a gzip member with others are kept in memory.
//
// # The proxy
//
// A request carries an absolute URL (RFC 9112 §3.2.2). Pages with https URLs are requested in the same way,
// "GET https://host/path HTTP/1.1", over the plain connection to the proxy: a frozen page has no certificate to
// verify, and a proxy that makes certificates would have to be trusted by every client. CONNECT is therefore
// refused with 501 and the header AbsoluteFormHeader, from which clients of this project
// (internal/web/webclient) learn that https URLs may be requested in this form. Other clients find the reason
// in the body. A request with a bare path is looked up under the Host header, so that a client may also be sent
// here by name resolution.
package webarchive
