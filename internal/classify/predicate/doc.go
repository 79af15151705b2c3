// Package predicate asks an HTTP service of the operator's what pages are about, so that anything
// that can answer a POST may be the critic (2002 §1.1: any black-box predicate), rank the links, or say who links
// to a page.
//
// # Protocol, version 1
//
// A request is POST, application/json, and holds one page or several:
//
//	{"version": 1, "topics": ["Science/Chemistry", "Science/Physics"],
//	 "pages": [{"url": "https://…", "title": "…", "description": "…", "language": "en", "text": "…"}]}
//
// Fields that the settings do not send are left out. text is the page's words in their order, leaves of the
// DOM apart by a line break, cut at text_bytes. Words are written as they were, but for words of mixed case
// ("iPhone"), which are in lower case, and punctuation, which no stage hands on. The answer is 200 with
//
//	{"pages": [{"probabilities": {"Science/Chemistry": 0.93}}]}
//
// and has one element for each page, in their order. Probabilities lie in [0,1] and sum to at most 1;
// topics left out have 0, and what is left of the sum is the probability of the class Other.
// {"error": "too short"} says that the predicate cannot judge this page. Other fields are ignored.
// With token_env the request has the header Authorization: Bearer and what that variable holds.
// Redirects are not followed. The address may be a private one: it is the operator's own word.
//
// # Links
//
// A service may score the links of pages instead (LinkPredicate): a guide of somebody else's. A
// request then is
//
//	{"version": 1, "pages": [{"url": "https://…", "title": "…", "description": "…", "language": "en", "text": "…",
//	   "judgement": {"raw": 0.93, "tempered": 0.8, "calibrated": 0.7, "best_is_focus": true,
//	                 "topics": [{"topic": "Science/Chemistry", "probability": 0.8}]},
//	   "state": "…", "links": [{"url": "https://…", "anchor": "…"}]}]}
//
// where state is what the service said of the link by which the page was come to ("" for seeds), and
// probabilities of topics are tempered. The answer is
//
//	{"pages": [{"scores": [2.5, -1], "states": ["…", "…"]}]}
//
// with one score a link or one for all, any finite numbers, the higher ones fetched first, and as many
// states of at most 256 bytes, one for all, or none. It waits for one answer as with a fallback;
// links that got none are fetched last, in the order of R(u).
//
// # Backlinks
//
// A service may know who links to a page (BacklinkService; package backlink). A request is about one page, as each is
// charged:
//
//	{"version": 1, "url": "https://…"}
//
// and the answer {"parents": ["https://…"]}; a list without a page is one, too.
//
// # When it does not answer as it should
//
// A request fails as unreachable, timeout, status (not 200) or rubbish (anything but the above,
// or more than 16 MiB); a page as refused ("error"). Pages of a request of several that failed by
// status or rubbish are asked for once more each alone, so that one page that the service chokes on
// takes no others with it. After breaker.failures failed requests in a row nothing is asked for
// breaker.pause ("open"); then one request tries.
//
// With a fallback, a critic that judges instead, a page waits for one answer and never longer than
// twice the timeout, then the fallback judges it, at once while the breaker is open. Without one it is asked for
// again until it has waited for patience, or until the service has failed for that long: then the
// page fails, and so does every page at once as long as the service does. A crawl is thus held up
// for patience at most in one outage, and what was missed can be asked for again (dead replay).
// A service that answers but is slow holds up pages without a fallback as long as it takes: that
// is how a crawl keeps to its pace.
//
// # Decisions
//
// 2026-11-21: nothing lingers for a batch to fill. While as many requests as may be are under way,
// pages gather, and the next request takes all there are: an idle service is asked at once, a
// busy one in large batches.
//
// 2026-11-21: probabilities that exceed 1 together by 1e-6 are scaled, since services round; by
// more they are rubbish.
//
// 2026-11-21: a model file holds the settings as they were written, and the version of the
// fallback. A default may therefore change with the format version only.
package predicate
