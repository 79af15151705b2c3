// Package backlink asks who links to a page, as the context focused crawler asks a search engine for the
// parents of each target that it finds (Diligenti et al. 2000, §3.3).
//
//	judgement with a layer, source → Ask → schemas.Backlinks → Join → links of the verdict
//
// A Source is a Table, made from a file of edges (package edgefile), a service (predicate.BacklinkClient), or
// in experiments the web itself behind an index that misses some pages. It is published as a model of the
// kind "backlinks", named by its version in a crawl's control record. critic-score asks it about pages that a
// guide of the crawl calls targets (Guidance.layer 1), where the request allows a query (Path.backlinks):
// prioritize decides that at dispatch, with the query's charge reserved. The parents travel in the judgement;
// feature-extract adds them to the page's links, and from then on they are links like others, with the page's
// score.
//
// What a source says is not believed: what is no URL, the page itself and more than Most pages are dropped
// and counted (Backlinks.dropped), and a parent that is none costs the request that finds out. A service that
// does not answer as it should within its time-out leaves the page without parents, and the query is charged;
// one that fails again and again is left alone for a while, and charged nothing.
//
// # Decisions
//
// 2026-11-22: parents have the score of the page's own links, which is layer 0's, under every policy. Where a
// guide scores links one by one they have the best of these.
package backlink
