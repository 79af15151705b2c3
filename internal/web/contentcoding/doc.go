// Package contentcoding undoes the content codings of HTTP answers (RFC 9110 §8.4): gzip,
// deflate, br, zstd, one over the other where a server did so.
//
// It reads what browsers read: words in the header that are no coding ("utf-8", "none") are passed over, a body labelled
// gzip that does not begin as gzip does is plain, and bytes behind a stream and wrong checksums do not matter. A stream
// that ends early, or that cannot be decoded, is an error, and so is a coding that exists but is not supported.
//
// What comes out is read as a stream and bounded by its reader, and so is what a decoder holds:
// a few megabytes, whatever the window that the other side asks for. A bomb costs as much as a
// page of the size at which its reader stops.
package contentcoding
