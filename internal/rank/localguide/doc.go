// Package localguide holds the guides that learn from a local graph, the pages around known targets, before a crawl:
// they look at a page and say how near a target its links lead.
//
//	targets, links, pages (Lessons) → Train → Guide → file → Guide: page, state → scores, states
//
//	context-graph      layer ascending, likelihood descending, "other" last (2000 §3.3; package contextgraph)
//	focused-2000       likelihood of layer 0: the comparator of 2000 §4
//	best-first-cosine  largest cosine to a target: the comparator of 2008 §4.2 (package tfidf)
//	memm               the path that led to the page, as a MEMM reads it (2008; package memm)
//
// Words of a page are those of its schemas.Page by the settings in the guide's file. See reads a page once,
// Sight.Guide then answers for every path that leads to it; Guide.Guide is both together.
//
// # What a MEMM observes (2008 §3.4)
//
//	text         O1  largest cosine of the page to a target
//	description  O2  cosine of the page's description (or its title and first 50 words) to the topic's
//	words        O_w each keyword: the page has it
//	links        O3  some link of the page has a keyword in its URL      reads URLs
//	url          O4  the page has a keyword in its URL                   reads URLs
//	anchor-in    O5  each keyword: it stands around the link that led to the page
//	anchor-out   O6  each keyword: it stands around the link that leads on
//
// Keywords are the words of the topic's path and of titles and descriptions of targets, at most
// PathSettings.Keywords of them, those that most targets have. The belief of a link is that of its page with
// O6 of that link; a path remembers it and the link's keywords (state.go), as the next page wants them for
// O5.
//
// # Decisions
//
// 2026-11-21: headings and meta keywords, which 2008 §3.3 takes keywords from, too, are not in schemas.Page.
//
// 2026-11-22: the score of context-graph is (Other − layer + a share of the likelihood) / (Other + 1), in
// (0,1], and for "other" a share − 1, in [-1,0], so that seeds of a crawl that orders pages, which have 0,
// stand before these and behind all layers (2000 §3.3). Whether links or pages are ordered is the policy's to
// say (schemas.Policy.expand). Its guidance says the layer, also of a page without links: parents of such a
// target are what backlinks are for. All other scores lie in [0,1].
//
// 2026-11-21: a state that is none of the guide's is an error of the page, not a begin of a path: whoever writes
// nonsense to a topic is told, and the page's links are placed last.
//
// 2026-11-21: stems and stop words of anchors, titles and URLs are those of the language of the whole page:
// of four words nobody can tell.
package localguide
