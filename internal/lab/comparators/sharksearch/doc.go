// Package sharksearch contains two crawlers that take a query of words and no classifier, as guides to compare with: Fish-Search
// (De Bra & Post 1994) and Shark-Search (Hersovici, Jacovi, Maarek, Pelleg, Shtalhaim & Ur 1998).
//
//	critic, focus → NewQuery → Query → Fish | Shark → Guide: page, state → scores, states
//
// The similarity of a text d to the query q is the cosine Σ q_w·f_w / (|q|·|d|) with f_w = 1 + ln n_w of a word that
// occurs n_w times in it, in [0,1]. The papers take queries from users. Here a query is the 20 words that add most to the
// log-odds of the focus in the critic, and q_w is what the word adds: all crawlers of an experiment start from the same
// examples. A query is only as good as those examples.
//
// # Fish-Search
//
// A page is relevant if it has at least Least words of the query. A link on a relevant page scores 1, on any other ½, however
// many links the page has. The state of a path is its depth: Depth after a relevant page, one less after any other. Links of a page of
// depth 0 score −1: Fish-Search does not follow them at all, but here a crawl ends by its budget and is measured over the whole of it, so
// they come last.
//
// # Shark-Search
//
//	inherited(v)  = δ·sim(u) where sim(u) > 0, else δ·inherited(u)
//	context(u,v)  = 1 where sim(anchor) > 0, else sim(text around the link)
//	score(u,v)    = γ·inherited(v) + (1−γ)·(β·sim(anchor) + (1−β)·context(u,v))
//
// δ = .5, γ = .5, β = .8. The state of a path is inherited(v); that of seeds is 0. The text around a link is that of the
// leaves at most Reach before and after it.
//
// If several paths lead to a page the state is that of its best link, as with every guide; Fish-Search would take the
// greatest depth.
package sharksearch
