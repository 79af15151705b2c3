// Package frontier is the state machine of one shard of a crawl: which URLs are known, which
// is fetched next, and what became of every link (the ledger of leaps).
package frontier
