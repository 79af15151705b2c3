// Package shark holds two crawlers that take a query of words and no classifier, as guides to compare with:
// Fish-Search (De Bra & Post 1994) and Shark-Search (Hersovici, Jacovi, Maarek, Pelleg, Shtalhaim & Ur 1998).
//
//	critic, focus → NewQuery → Query → Fish | Shark → file → Guide: page, state → scores, states
//
// The similarity of a text d to the query q is the cosine Σ q_w·f_w / (|q|·|d|) with f_w = 1 + ln n_w of a word that
// stands n_w times in it, [0,1]; q_w is what the word adds to the log-odds of the focus.
//
// # Fish
//
// A page is relevant if it has at least Least words of the query. A link on a relevant page scores 1, on any other
// ½; behind the first Width links of a page (1½ times as many of a relevant one) links score 0. A path remembers
// its depth: Depth behind a relevant page, one less behind any other. Links of a page of depth 0 score −1.
//
// # Shark
//
//	inherited(v)  = δ·sim(u) where sim(u) > 0, else δ·inherited(u)
//	context(u,v)  = 1 where sim(anchor) > 0, else sim(text around the link)
//	score(u,v)    = γ·inherited(v) + (1−γ)·(β·sim(anchor) + (1−β)·context(u,v))
//
// δ = .5, γ = .5, β = .8. A path remembers inherited(v); that of seeds is 0. The text around a link are the leaves at
// most Reach before and behind it.
//
// # Decisions
//
// 2026-11-21: the papers have no classifier to take a query from. Here it is the 20 words that speak most for the
// focus, so all crawlers are told the same of what is wanted.
//
// 2026-11-21: such a query is as good as the critic's examples. A critic counts occurrences, not pages, so
// one long page may give most of the words: for teachers of universities they are those of one teacher's page
// on guns (gun, militia, police), for projects names of hosts and projects elsewhere; both crawlers are then
// about as good as random order. For courses (homework, midterm, syllabus) the words are what a person would
// ask for, and Shark-Search is below random order: it follows anchors such as "homework 3" from a course into
// its own pages, which are no courses (of the pages that it fetched at one university .62 are linked from a
// course, .23 of those fetched in the order of discovery). On a reference it finds targets nearly as soon as
// soft focus.
//
// 2026-11-21: Fish-Search does not follow the links of pages of depth 0 at all. Here they come last: a crawl
// ends by its budget, and is compared over the whole of it.
//
// 2026-11-21: of several paths to a page the one of its best link counts, as with every guide; Fish-Search
// would take the greatest depth of them.
package shark
