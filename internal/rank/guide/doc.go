// Package guide is what every ranker has in common that looks at the page u, and perhaps at the path
// to it, to score u's links: context graphs (2000), MEMM (2008), best-first by cosine, Fish and Shark,
// and services that somebody else wrote.
//
//	page, judgement, state of the path → Guide → scores of its links, states for their targets
//
// A guide is a model with a file, published like a critic and named by its version in the policies of
// a crawl. critic-score asks it when a page is judged; what it says travels in the judgement, and
// prioritize keeps the scores with the page and the state with the link whose target is fetched by
// it. Experiments ask the same guides themselves.
//
// # Decisions
//
// 2026-11-21: the frontier knows nothing of guides but scores. So a ranker of that kind is added
// without a change of prioritize, and one that runs elsewhere by an address.
package guide
