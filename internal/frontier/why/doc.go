// Package why explains from the state of a shard what a crawl has of a URL: where it is, which pages link to it, which rules
// were applied to it and with which result, its place in the queue, and what would change the decision.
//
// Ask only reads, from any Store with the state of a shard; a snapshot of a running crawl's will do. Nothing is stored for it: a link
// that was refused leaves no trace in the state, so the rules are applied again to the URL. It reads a bounded number of keys,
// whatever the size of the crawl: places in a large queue are estimated from some of its hosts, and a ranker that
// learns observes some thousand records again to explain a score. Exclude counts what other exclude rules
// would do, in the same way. List has the best and the oldest queued URLs.
package why
