// Package warc reads and writes WARC/1.1 files (ISO 28500:2017), the format in which pages are stored and in
// which frozen webs are distributed.
//
// Reading is tolerant and streams. A file is a sequence of gzip members, one record each (several records in
// one member are read too), or a sequence of bare records. What cannot be read as a record is a *DamagedError
// with its byte offset; the next call of Next continues after it, where the next record begins. ParseResponse
// reads a stored HTTP response, including header lines that net/http refuses.
//
// Writing makes one gzip member for each record and returns its Location, so that a page can be read with one
// range request (ReadOne). The same records give the same bytes: a record's WARC-Record-ID is the request's id,
// its digests are SHA-1 in base32 over block and payload.
//
// Bodies are stored after transfer and content decoding, and there are no request records
// (docs/decisions/0332).
package warc
