// Package objects is the client of the object store: the one bucket, in S3 or in a server with its protocol, that has
// WARC segments, models and lists of URLs. It is the only user of the S3 client.
//
// No object is ever overwritten. Put sends If-None-Match: *, so that the server refuses a name that is taken; with a server
// that does not support this (status 501) it looks for the name first. Names contain a random part or a digest, so that
// the second way is as good in practice.
//
// Errors have a class, for errors.Is: ErrNotFound, ErrExists, ErrDenied, ErrUnavailable. Waiting helps only with the last.
// A missing bucket is ErrUnavailable, because a stage may start before `forager setup`. The client makes one try; callers
// wait and try again.
//
// Uploads carry their MD5, which the server checks. A read returns the requested length or fails; WARC records and models
// have digests of their own.
package objects
