// Package objects is the object store: the one bucket in S3 or a server that speaks its
// protocol, which holds WARC segments, models and URL lists. It is the only user of the S3
// client.
//
// No object is ever overwritten. Put asks the server to refuse a name that is taken
// (If-None-Match: *); a server that cannot (answer 501) is asked for the name first. Names carry
// a random part or a digest, so that the second way is as good in practice.
//
// Errors belong to a class that callers branch on with errors.Is: ErrNotFound, ErrExists,
// ErrDenied, ErrUnavailable. Only the last goes away by waiting. The client makes one try;
// waiting with back-off is the caller's, who knows what to say meanwhile.
//
// What is uploaded goes with its MD5, which the server checks. What is read must have the
// length asked for; WARC records and models carry digests of their own.
//
// # Decisions
//
// 2026-11-21: a room of its own beside segment, because models and URL lists are objects too.
//
// 2026-11-21: a missing bucket counts as unavailable: a stage that starts before
// `forager setup` waits for it and says so instead of turning records away.
package objects
