// Package api is the monitor's REST interface below /api/v1: the state of crawls, what is known of their pages, and every change that
// the commands can make of a running crawl. openapi.json describes it (OpenAPI 3.1); errors are problems (RFC 9457). The ETag of a crawl
// is the revision of its control record: a change with the header If-Match is made only of that revision.
package api
