// Command feature-extract writes the verdict on each requested page, together with the links of the page and their features.
//
// # Card
//
// Purpose: ⟨term, DOM offset⟩ features of links (package linkfeature), and the verdict and the links of a page in one record, so that
// prioritize applies both in one step.
//
// In: page.judged. Followed, first to its end: crawl.control (d_max, topic features). Out: link.found, exactly one record for every
// record of page.judged, whatever its outcome, to the shard that requested the page.
//
// State: none. It uses no other store or service.
//
// The records of a crawl without a control record are parked (docs/decisions/0032). Links of a page with meta nofollow are left out;
// links marked nofollow themselves are sent with that mark. Parents of the page from a source of backlinks (Judgement.backlinks)
// follow the page's links, marked as such.
//
// Rejected, as failed:feature-extract with a dead letter: records that cannot be decoded or do not match their headers, delivered pages
// without a page or a judgement, pages with inconsistent fields, guidance that does not match a page's links, a d_max out of range.
// Outcomes other than delivered pass through without links.
//
// Repetition is safe: the same input gives the same record, under the same id (the request's), and prioritize takes the first.
package main
