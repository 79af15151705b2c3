// Package warc reads and writes WARC/1.1 files (ISO 28500:2017), the form in which pages are
// stored and in which frozen webs come.
//
// Reading is tolerant and streams. A file is a row of gzip members, one record each (several
// records in one member are read too), or a row of bare records. What cannot be read as a
// record is a *DamagedError that names its byte offset; the next call of Next goes on behind
// it, at the next place where a record begins. A stored HTTP answer is read by ParseResponse,
// which takes header lines that net/http refuses.
//
// Writing makes one gzip member a record and says where each stands, so that a page is read
// again with one range request (ReadOne). The same records give the same bytes: a record's
// WARC-Record-ID is the request's id, its digests are SHA-1 in base32 over block and payload.
//
// # Decisions
//
// 2026-11-21: bodies are stored as they are after transfer and content decoding, because
// everything behind the fetch reads them so and WARC-Payload-Digest is then the digest of what
// is read. The headers that described the coding are kept under their name with the prefix
// X-Archive-Orig- (pywb's), and Content-Length says the length as stored.
//
// 2026-11-21: no request records. A request is a GET with the crawl's User-Agent; nothing reads
// it back, and it would be a third of the bytes of a small page.
package warc
