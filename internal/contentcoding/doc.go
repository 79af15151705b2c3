// Package contentcoding undoes the content codings of HTTP answers (RFC 9110 §8.4): gzip,
// deflate, br, zstd, one over the other where a server did so.
//
// What comes out is read as a stream and bounded by its reader, and so is what a decoder holds:
// a few megabytes, whatever the window that the other side asks for. A bomb costs as much as a
// page of the size at which its reader stops.
package contentcoding
