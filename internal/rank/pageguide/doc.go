// Package pageguide contains the guides that are trained before a crawl on a local graph, the pages around known targets.
// They look at a page and predict how near a target its links lead.
//
//	targets, links, pages (Lessons) → Train → Guide → file → Guide: page, state → scores, states
//
//	context-graph      layer ascending, likelihood descending, "other" last (2000, §3.3; package contextgraph)
//	focused-2000       likelihood of layer 0: the comparator of 2000, §4
//	best-first-cosine  largest cosine to a target: the comparator of 2008, §4.2 (package tfidf)
//	memm               the path that led to the page, as input of a MEMM (2008; package memm)
//
// The words of a page are made of its schemas.Page by the settings in the guide's file. Stems and stop words of anchors,
// titles and URLs are those of the language of the whole page, as the language of a few words cannot be detected. See
// reads a page once; PageView.Guide then returns the guidance for any path that leads to it. Guide.Guide is both together.
//
// # Scores
//
// The score of context-graph is (Other − layer + a share of the likelihood) / (Other + 1), in (0,1], and for "other" a
// share − 1, in [−1,0]. Seeds of a crawl that orders pages have 0, so they come before "other" and after all layers
// (2000, §3.3). The policy decides whether links or pages are ordered (schemas.Policy.expand). The guidance contains the
// layer, also for a page without links: backlinks are queried for targets. All other scores are in [0,1].
//
// # Observations of a MEMM (2008, §3.4)
//
//	text         O1  largest cosine of the page to a target
//	description  O2  cosine of the page's description (or its title and first 50 words) to the topic's
//	words        O_w each keyword: the page has it
//	links        O3  some link of the page has a keyword in its URL      reads URLs
//	url          O4  the page has a keyword in its URL                   reads URLs
//	anchor-in    O5  each keyword: it is around the link that led to the page
//	anchor-out   O6  each keyword: it is around the link that leads on
//
// Keywords are the words of the topic's path and of titles and descriptions of targets, at most PathSettings.Keywords of
// them, those that most targets have. (2008, §3.3 also takes headings and meta keywords; schemas.Page has neither.) The
// belief of a link is that of its page with O6 of that link. The state of a path holds the belief and the keywords of the
// link, which are O5 of the next page (state.go). A state that the guide has not written is an error of the page, whose
// links are placed last; it is not taken for the begin of a path.
package pageguide
