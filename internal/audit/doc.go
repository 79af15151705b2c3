// Package audit checks a crawl from outside the stages: it reads the topics, the object store
// and ClickHouse itself, and compares what they say with one another and with what the crawl
// was allowed. Audit reads a Source: Live is what a pipeline holds, Evidence is in memory, so that
// a test can alter it.
//
// What was read is put into a Store on disk under keys by which it is compared in order, records side by
// side with rows. Memory does not depend on the size of the crawl; the disk takes about as much as the topics.
//
// Records may come twice: the first of an id wins, as everywhere. Copies are counted; a copy of
// a dispatch that is not the same dispatch is a difference.
//
// What is compared:
//
//   - every valid request of the decision log has exactly one verdict in link.found, and one
//     record each in page.fetched and page.judged that agree with it
//   - every delivered page is read by range from the store; its WARC record names its URL and its
//     bytes have its digest; every record of every segment that the crawl names can be read
//   - every settled leap names a link of a delivered page, carries R(u) and R(v) of the verdicts
//     and the score, policy and model of the dispatch, and where shadows placed the target then; every link in scope whose target has come to
//     its end, by itself or through redirects, has been settled
//   - pages, requests and host caps stay within the budget and the scope; attempts follow one
//     another; no URL out of scope was asked for
//   - at no dispatch were more requests in flight than the window, or to one host than its window; of several
//     shards, than the notes between them permitted, whose sum keeps to the window (leases.go)
//   - hubs and authorities are delivered pages with the R of their verdicts, in the order of their scores
//   - crawl.status says the same numbers as a recount
//   - ClickHouse's rows equal the records, one each; of hub.ranked, which is compacted, those that are still there
//   - of each topic, count and XOR of the ids that crawl.status says, that ClickHouse's rows give
//     and that its records give
//
// # When records are gone
//
// crawl.status says at which offsets the crawl's records of a topic stand. Where the broker does
// not hold all of them any more, the topic is checked by counts: prioritize's count and XOR are
// compared with ClickHouse's, and ClickHouse's rows take the place of the records in all other checks
// (rows.go). Result.Ways says which way was taken for each topic, Result.Themselves which tables had nothing else to be
// compared with.
//
// # A crawl that runs
//
// The ends of the topics are read first, those of later topics before those of earlier ones, and nothing behind them is
// looked at: whatever a record follows from is among what is read. A link must have been settled only where prioritize
// had committed the verdict that found it. What crawl.status counts moves, and is not compared.
//
// # Samples
//
// A Sample is a window of ids, which are hashes: a record is in it with probability Share. Stored pages, rows and leaps outside
// of it are not compared. Dispatches, verdicts, budgets, windows, counts and XORs always are.
//
// # Limits
//
// Budgets and windows are those of the newest control record. A link to a URL of a host that was at its cap and came below
// it again, and one whose target redirected to a URL that was never asked for, though in scope, are not missed. A record that
// cannot be decoded has a place in its topic and no row: once it is gone, the counts differ by it.
//
// Verdicts of two shards have no order in the topics: under PAIRS_FORWARD it cannot be said which links of a crawl of several
// must have been settled, and how many requests were in flight at once is not recounted where link.found is gone.
package audit
