// Package contentcoding decodes the content codings of HTTP responses (RFC 9110 §8.4): gzip, deflate, br and
// zstd, also several in sequence.
//
// It accepts what browsers accept: words in the header that are no coding ("utf-8", "none") are ignored, a body
// labelled gzip that does not begin with a gzip header is plain, and bytes after a stream and wrong checksums
// are ignored. A stream that ends early or cannot be decoded is an error, and so is a coding that exists but is
// not supported.
//
// The output is a stream that its reader bounds. A decoder holds a few megabytes at most, whatever window the
// server requests, so a decompression bomb costs as much as a page of the size at which its reader stops.
package contentcoding
