// Package distill finds hubs and authorities among the pages that a crawl has fetched: the distiller of focused
// crawling (Chakrabarti, van den Berg & Dom 1999), a relevance-weighted form of Kleinberg's HITS. Good hubs link to
// many relevant pages; the frontier raises the scores of the pages that they link to and that are not fetched yet.
//
//	records of link.found → Graph (state in a Store) → Hubs → schemas.HubRanked
//	pages, links → Rank → Ranking
//
// Nodes are fetched pages with R(u). An edge is a link between two of them on different sites, counted once however
// often u links to v. With h = 1 at the beginning,
//
//	a(v) ← Σ_u R(v)·h(u)  if R(v) ≥ ρ, else 0
//	h(u) ← Σ_v R(u)·a(v)
//
// each normalised to unit (Euclidean) length, until no component of h or a changes by more than 1e-9, or for 50 rounds.
// The weights keep authority from flowing off topic: an irrelevant page is no authority however many hubs link to it,
// and an irrelevant hub passes on nothing.
//
// A ranking is a function of the pages and the set of edges, bit for bit, whatever the order of the edges. Pages with
// equal scores are ordered by their number. A page with the score 0 is neither hub nor authority and is not listed.
//
// A ranking reads all pages, so rankings become rarer in long crawls (package schedule), and Settings bounds their
// memory: of a larger graph the newest pages are ranked (decision 0425).
package distill
