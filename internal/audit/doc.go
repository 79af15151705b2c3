// Package audit checks a crawl independently of the stages: it reads the topics, the object
// store and ClickHouse, and compares them with one another and with the limits of the crawl. It
// is what forager verify does.
//
// Audit reads a Source: Live reads Kafka, S3 and ClickHouse; audittest.Evidence is in memory, so that a
// test can alter it. Everything read is written to a Store on disk, under keys in whose order records
// and rows are compared (scratch.go lists the kinds of entries). Memory does not grow with the
// crawl; the disk needs about as much as the topics hold (docs/decisions/0040). The outcome is a
// Result: figures, how each topic was checked, and the differences found.
//
// Records may be repeated: the first of an id counts, as everywhere. Copies are counted; a copy of
// a dispatch with other content is a difference.
//
// # Checks
//
//   - every valid request of fetch.requested has exactly one verdict in link.found, and one
//     record each in page.fetched and page.judged that agree with it
//   - every delivered page is read by range from the store; its WARC record names its URL and its
//     bytes have its digest; every record of every segment that the crawl names is readable
//   - every settled leap names a link of a delivered page and carries R(u) and R(v) of the
//     verdicts, the score, policy and model of the dispatch, and the positions given by shadow
//     policies; every link in scope whose target has ended, itself or through redirects, is settled
//   - pages, requests and host caps are within the budget and the scope; attempts are
//     consecutive; no URL out of scope was requested
//   - at every dispatch the requests in flight were within the window, and those to a host within
//     its window; with several shards, within the notes between them, whose sum is within the
//     window (leases.go)
//   - hubs and authorities are delivered pages with the R of their verdicts, ordered by score
//   - crawl.status has the same numbers as a recount
//   - ClickHouse has one row for each record, with the same content; of hub.ranked, which is
//     compacted, and page.rejudged only the rows of retained records are compared
//   - count and XOR of the ids of each topic are the same in crawl.status, in ClickHouse and in
//     the topic
//
// # Records that are not retained
//
// crawl.status contains the offsets of the crawl's records in each topic. Where the broker no
// longer retains all of them, the topic is checked by counts: prioritize's count and XOR are
// compared with ClickHouse's, and ClickHouse's rows replace the records in all other checks
// (rows.go). Result.Ways has the way of each topic, Result.Themselves the tables that could be
// compared with nothing else.
//
// # Running crawls
//
// The ends of the topics are read first, those of later topics before those of earlier ones, and
// later records are ignored. So every record has its causes among the records that are read. A
// link must be settled only if prioritize had committed the verdict that contained it. The counts
// in crawl.status change and are not compared.
//
// # Samples
//
// A Sample is a window of ids. Ids are hashes, so a record is in it with probability Share. Stored
// pages, rows and leaps outside of it are not compared. Dispatches, verdicts, budgets, windows,
// counts and XORs always are.
//
// # Limits
//
// Budgets and windows are those of the newest control record. Two kinds of unsettled links are not
// detected: links to a host that was at its cap for a while, and links whose target redirected to
// a URL in scope that was never requested. A record that cannot be decoded has an offset and no
// row: once it is no longer retained, the counts differ by it.
//
// Verdicts of different shards have no order in the topics. For a crawl of several shards under
// PAIRS_FORWARD it is therefore unknown which links must be settled; where its link.found is not
// retained, the requests in flight are not recounted.
package audit
