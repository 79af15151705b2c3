// Command fetch requests pages from web servers, politely, and stores the responses.
//
// # Card
//
// In: fetch.requested. Followed, first to its end: crawl.control, fetch.turn. Out: page.fetched, one record for every request; fetch.turn;
// dead.letter.
//
// Uses: web servers; the object store (WARC segments). State: none on disk. Pauses, back-off and robots.txt of hosts are in memory and
// are requested again after a restart.
//
// Rejected, each as an outcome: addresses that are not public and ports of other protocols (REFUSED), what robots.txt disallows
// (ROBOTS_DISALLOWED), what was not begun when its crawl was stopped (CANCELLED), content that is no page (NOT_HTML, not stored).
// Returned to prioritize with a date (DEFERRED, ROBOTS_UNAVAILABLE): what the host does not allow within stages.fetch.hold, because of a crawl delay, 429,
// Retry-After or an unavailable robots.txt. Poison (FAILED_FETCH): a record that is no request, whose id, URL and host do not match, or
// whose User-Agent names no product. Redirects are never followed: prioritize decides about their targets.
//
// A crawl without a control record does not wait for it: its politeness settings are in every request.
//
// Repetition is safe: ids name requests, and the first page.fetched of an id counts everywhere. A page fetched twice costs its host a
// request and the store an orphan.
//
// # Politeness
//
// The scheduler (schedule.go) decides which request is made next; time is an argument. A host on which some crawl keeps a pause gets one
// request at a time, and the next only when the longest pause concerned has passed since the end of the last one: delay_ms of the
// crawls, Crawl-delay of robots.txt, and what is added by the host's pace (pace.go, docs/decisions/0231). A request for robots.txt counts (its redirects do not). A
// host is known while it has requests or must not be requested, and for ten minutes while it is slowed down. Without any pause (the operator's own
// servers) prioritize's host_window is the bound. Turns go round over crawls, then over the hosts of each. No crawl takes all slots
// (stages.fetch.concurrency) or all places for waiting requests, so neither a large crawl nor slow hosts delay the others.
//
// After 429 and 503 the host is not requested for 10 s, doubled each time up to an hour, or for Retry-After; then its pause is
// longer, and shrinks by a tenth with each normal response. From the 7th refusal in a row on the request is a SERVER_ERROR, whose tries are counted: otherwise a host that always
// refuses would keep its crawl from ending. For robots.txt (RFC 9309) see robotsCache.
//
// # Addresses
//
// A crawl with limits of addresses or networks needs a turn for each request (place.go, docs/decisions/0230). The first visit of a task
// looks the host up, the next ones are made in a turn at that address (address.go). Replicas share turns by the topic fetch.turn
// (turnlog.go, package crawl/turns). A task waits for its turn without a slot, and goes back to prioritize when the wait would be too long.
//
// # Outages
//
// A failure to connect is no property of a URL. Where the proxy or the resolver cannot be reached, or many sites in a row fail, requests
// are NETWORK_UNREACHABLE, with the time of the next probe; where one host alone fails, HOST_UNREACHABLE (outage.go, docs/decisions/0001).
// While a breaker is open requests end at once, except for one probe a pause, which grows from a second to a minute. prioritize holds the
// crawl, or the host, meanwhile. A name that does not exist, and a connection that breaks after it was made, are failures of the URL, whose
// tries are counted.
//
// # A new owner of a partition
//
// The committed offset is the lowest request in flight, so requests after it may have been completed. A new owner reads page.fetched from the
// time of the oldest of them on and skips those. If there was an owner before (an offset is committed, or a completed request is found), hosts
// are requested only after one full pause since the assignment. Hosts of requests in the log that are not completed wait one session
// timeout: an owner that was cut off from the broker may still be requesting them, and learns within that time that it must stop. A first
// start waits for nothing, and neither does a crawl without a pause.
//
// docs/decisions/0209 has the reasons for the treatment of robots.txt, broken connections, truncated bodies and the closing of segments.
package main
