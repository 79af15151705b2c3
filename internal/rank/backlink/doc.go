// Package backlink finds pages that link to a page, as the context-focused crawler asks a search engine for the
// parents of each target that it finds (Diligenti et al. 2000, §3.3).
//
//	judgement with a layer, source → Ask → schemas.Backlinks → Join → links of the verdict
//
// A Source is a Table, made from a file of edges (package edgefile), or a service (predicate.BacklinkClient), or in
// experiments a simulated index of the web. It is published as a model of the kind "backlinks"; the control record of
// a crawl names its version.
//
// critic-score queries the source for pages that a guide of the crawl calls targets (Guidance.layer 1), if the request
// allows a query (Path.backlinks). prioritize decides that at dispatch and reserves the charge of the query. The
// parents are recorded in the judgement. feature-extract adds them to the links of the page; from then on they are
// links like others. Their score is that of the page's own links, under every policy, or the best of these where a
// guide scores links one by one.
//
// Sources are not trusted. What is no URL, the page itself and more than Most pages are dropped and counted
// (Backlinks.dropped). A parent that does not exist costs the request that finds out. A service that fails or exceeds
// its time-out leaves the page without parents, and the query is charged. A service that fails repeatedly is not
// queried for a while, and nothing is charged.
package backlink
