// Command feature-extract sends what a crawl needs to know of each page it asked for: the
// verdict on it and every link on it with its features.
//
// # Card
//
// Purpose: ⟨term, DOM offset⟩ features of links (package linkfeature), and the verdict and the
// links of a page in one record, so that prioritize never knows one without the other.
//
// In: page.judged. Followed to its end first, and on: crawl.control (d_max, topic features).
// Out: link.found, exactly one record for every record of page.judged, whatever its outcome,
// to the shard that asked for the page.
//
// Touches: nothing else. State: none.
//
// A crawl without a control record is waited for. Links of a page that asks not to follow any
// (meta nofollow) are left out; links marked nofollow themselves are sent with that mark.
// Parents of the page that a source of backlinks knows (Judgement.backlinks) follow the page's links, marked as such.
//
// Refuses, as failed:feature-extract with a dead letter: records that cannot be decoded or do
// not fit their headers, delivered pages without a page or a judgement, pages that contradict
// themselves, guidance that does not fit a page's links, a d_max out of range. Outcomes other than delivered pass through without links.
//
// Running twice is safe: the same record in gives the same record out, under the same id (the
// request's), and prioritize takes the first.
package main
