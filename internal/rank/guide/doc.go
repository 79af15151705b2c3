// Package guide defines the interface of guides: rankers that look at the page u, and perhaps at the path to it, to score
// the links of u. Context graphs (2000), MEMM (2008), best-first by cosine and external services are guides, and some
// comparators of experiments.
//
//	page, judgement, state of the path → Guide → scores of its links, states for their targets
//
// A guide is a model with a file. It is published like a critic, and the policies of a crawl name its version.
// Package judging runs the guide when a page is judged (Run); the guidance is part of the judgement. prioritize keeps the
// scores with the page, and the state with the link by which the target is fetched.
//
// The frontier has only scores, not guides. A new kind of guide needs no change of prioritize, and a guide that runs
// elsewhere needs only an address. Guidance is checked before it is used (Check): it may come from a service.
package guide
