// Package api is the monitor's REST interface below /api/v1: the state of crawls, what is known of their pages, and every change that
// the commands can make of crawls and of dead letters. openapi.json describes it (OpenAPI 3.1); errors are problems (RFC 9457). The ETag of a crawl
// is the revision of its control record: a change with the header If-Match is made only of that revision. A change with the header
// Idempotency-Key is made once: further requests with the key get the response to the first (each replica of the monitor keeps its own).
package api
