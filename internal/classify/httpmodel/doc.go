// Package httpmodel is the client of HTTP services of the operator that judge pages, score links or list
// backlinks, so that any program that handles a POST may be the critic (2002 §1.1: any black-box predicate),
// the guide or the source of backlinks.
//
//	Parse → Predicate → Client                         a critic.Classifier
//	ParseLinks → LinkPredicate → LinkClient            a guide
//	ParseBacklinks → BacklinkService → BacklinkClient  a source of backlinks
//
// Settings are YAML. A model file contains them as they were written, and the version of the fallback.
//
// # Protocol, version 1
//
// A request is POST, application/json, with one page or several:
//
//	{"version": 1, "topics": ["Science/Chemistry", "Science/Physics"],
//	 "pages": [{"url": "https://…", "title": "…", "description": "…", "language": "en", "text": "…"}]}
//
// Fields that the settings do not send are left out. text is the page's words in their order, a line for each
// leaf of the DOM, cut at text_bytes. Words have their original case, except words of mixed case ("iPhone"),
// which are in lower case; punctuation is missing, as records do not contain it. The response is 200 with
//
//	{"pages": [{"probabilities": {"Science/Chemistry": 0.93}}]}
//
// and has one element for each page, in their order. Probabilities are in [0,1] and sum to at most 1 (a sum up
// to 1 + 1e-6 is scaled to 1, a larger one is an error); topics left out have 0, and the rest is the
// probability of the class Other. {"error": "too short"} means that the service cannot judge this page. Other
// fields are ignored. With token_env the request has the header Authorization: Bearer with the value of that
// variable. Redirects are not followed. The address may be a private one, as the operator has configured it.
//
// # Links
//
// A service may score the links of pages (LinkPredicate). A request then is
//
//	{"version": 1, "pages": [{"url": "https://…", "title": "…", "description": "…", "language": "en", "text": "…",
//	   "judgement": {"raw": 0.93, "tempered": 0.8, "calibrated": 0.7, "best_is_focus": true,
//	                 "topics": [{"topic": "Science/Chemistry", "probability": 0.8}]},
//	   "state": "…", "links": [{"url": "https://…", "anchor": "…"}]}]}
//
// where state is the state that the service returned for the link by which the page was found ("" for seeds),
// and probabilities of topics are tempered. The response is
//
//	{"pages": [{"scores": [2.5, -1], "states": ["…", "…"]}]}
//
// with one score a link or one for all, any finite numbers, the higher ones fetched first, and as many states
// of at most 256 bytes, one for all, or none. Waits are those of a critic with a fallback; links without a
// score are fetched last, in the order of R(u).
//
// # Backlinks
//
// A service may list the pages that link to a page (BacklinkService; package backlink). A request is about one
// page, as services charge for each:
//
//	{"version": 1, "url": "https://…"}
//
// and the response {"parents": ["https://…"]}; the list may be empty.
//
// # Failures
//
// A request fails as unreachable, timeout, status (not 200) or rubbish (a response of another form, or of more
// than 16 MiB); a page as refused ("error"). The pages of a request of several that failed by status or rubbish
// are sent once more, each alone, so that a page that the service cannot handle does not affect the others.
// After breaker.failures failed requests in a row no request is sent for breaker.pause ("open"); then one
// request is tried.
//
// With a fallback, another critic, a page waits for one response and never longer than twice the timeout, then
// the fallback judges it, at once while the breaker is open. Without one the request is repeated until the page
// has waited for patience, or until the service has failed for that long: then the page fails, and so does
// every page at once until the service recovers. A crawl is thus delayed for patience at most in one outage,
// and the failed pages can be judged later (dead replay). A service that responds slowly delays pages without a
// fallback as long as it takes, which limits the crawl to the service's rate.
//
// # Batches
//
// Requests are sent at once while fewer than the permitted number are under way. Otherwise pages gather, and
// the next request takes as many of them as a batch may have (docs/decisions/0309).
package httpmodel
