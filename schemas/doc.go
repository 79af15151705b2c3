// Package schemas defines the records that travel through Kafka (one .proto and its generated .go each), their topics, keys, ids
// and headers, and the consequences of every outcome of a request (Outcomes).
//
// # Ids
//
// The id of a record names its subject, not its bytes: a request is (crawl, canonical URL, attempt), a leap (crawl, u, v), a model
// (kind, crawl, version). A record may come more than once; of the records of one id the first one counts, in every stage and in
// every store.
//
// # Records of a request
//
// page.* and link.found embed the bytes of the FetchRequest unchanged. fetch and prioritize decode them, and critic-score does for
// two fields (docs/decisions/0030).
//
// Headers repeat fields of the request, so that a record that cannot be decoded still leads to a verdict
// (RequestFromHeaders). prioritize reads no topic of a page's journey but link.found. So that crawl.status can report
// the positions in page.*, every stage between adds the place of the record that it read to the header "trail"
// (ParseTrail).
//
// # Versions
//
// Every Kafka message has the header "v", the schema version it was written with, in decimal. This package writes Version and
// reads 1..Version. A reader stops at a version that it does not know. Within a version fields are only added, with a zero value
// that means "as before"; numbers are never reused: a removed field is reserved by number and name. Any other change needs a new
// version, and readers of the old one remain. testdata/v1 has stored bytes of each record, written once; a test decodes them.
//
// docs/decisions/0204 has the reasons for epochs, boundary records and the positions in crawl.status.
package schemas

//go:generate go run ./generate
