// Package distill finds hubs and authorities among the pages that a crawl has fetched: the
// distiller of focused crawling (Chakrabarti, van den Berg & Dom 1999), a relevance-weighted
// form of Kleinberg's HITS. Good hubs point at many relevant pages; the pages that they point at
// and that nobody has fetched yet are worth raising in the frontier.
//
// Nodes are fetched pages with R(u); an edge is a link between two of them on different sites,
// counted once however often u links to v. Then, with h = 1 at the beginning,
//
//	a(v) ← Σ_u R(v)·h(u)  if R(v) ≥ ρ, else 0
//	h(u) ← Σ_v R(u)·a(v)
//
// each brought to unit (Euclidean) length, until no component of h or a changes by more than
// 1e-9 or 50 rounds have been made. The weights keep authority from flowing off topic: an
// irrelevant page is no authority however many hubs link to it, and an irrelevant hub passes on
// nothing.
//
// # Decisions
//
// 2026-11-21: edges are kept once, sorted by source, four bytes each and eight a page; authorities
// are summed along the same list, in its order. So the result is bit for bit the same whatever the
// order in which edges came, and 10⁷ edges take 40 MB beside what brings them.
//
// 2026-11-22: rankings become rarer in long crawls (package schedule): each looks at all pages, and one every 500
// would cost more than the fetching from some 100,000 pages on.
//
// 2026-11-21: pages that tie are ordered by their number, as the caller counts them; a page of
// score 0 is neither hub nor authority and is not listed.
package distill
