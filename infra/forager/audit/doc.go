// Package audit checks a crawl from outside the stages: it reads the topics, the object store
// and ClickHouse itself, and compares what they say with one another and with what the crawl
// was allowed. Gathering (Gather) and judging (Evidence.Judge) are apart, so that judging is a
// function that a test can give altered evidence.
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
//     and the score, policy and model of the dispatch; every link whose target has its final
//     verdict has been settled
//   - pages, requests and host caps stay within the budget and the scope; attempts follow one
//     another
//   - crawl.status says the same numbers as a recount
//   - ClickHouse's rows equal the records, one each
package audit
