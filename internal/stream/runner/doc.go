// Package runner has the loops of stages without state: they read records, call the logic of the stage, write the records
// that follow and commit the input once these are acknowledged. See package stream for what is guaranteed.
//
//   - Stateless: records are handled in parallel; outputs are sent in the order of the input.
//   - Unordered: outputs are sent as they come; the committed offset is the lowest one in flight.
//   - Batched: many records at a time are written to an external store.
//
// A Stateless stage that names the crawl of a record (Unit) parks the crawls that lack an object and goes on with the
// others (parking.go, docs/decisions/0032).
package runner
