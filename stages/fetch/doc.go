// Command fetch asks web servers for pages, politely, and stores what they answer.
//
// # Card
//
// In: fetch.requested; crawl.control (read to its end first, then followed).
// Out: page.fetched, one for every request; dead.letter.
//
// It touches: web servers; the object store (WARC segments, read back by range); no state of its
// own on disk. What it knows of hosts (pauses, back-off, robots.txt) is in memory and is asked
// for again after a restart.
//
// It refuses, each as an outcome: addresses that are not public and ports of other protocols
// (REFUSED), what robots.txt disallows (ROBOTS_DISALLOWED), what was not begun when its crawl
// was stopped (CANCELLED), content that is no page (NOT_HTML, not stored). It gives back
// (DEFERRED, with a date) what its host does not allow within the time of holding: crawl delays,
// 429, Retry-After, robots.txt that cannot be had. A record that is no request, whose id, URL
// and host do not fit each other or whose User-Agent names nobody is poison (FAILED_FETCH).
// Redirects are never followed: prioritize decides about their targets.
//
// Why running twice is safe: ids name requests, and the first page.fetched of an id wins
// everywhere. A page fetched twice costs its host a request and the store an orphan.
//
// # Politeness
//
// schedule.go decides; time is the only input besides the requests. A host on which some crawl
// keeps a pause is asked one request at a time, and again only when the longest pause concerned
// has passed since the end of the last one: delay_ms of the crawls, Crawl-delay of robots.txt,
// and what 429 and 503 added. Fetching robots.txt counts as a request (its redirects do not).
// A host is known as long as it has requests or must be left alone, and for ten minutes after a refusal (schedule.go, sweep).
// Without any pause (one's own servers) prioritize's host_window is the bound. Turns go round
// over crawls, then over hosts, and no crawl takes all the slots (stages.fetch.concurrency) or all
// the room for requests that wait, so neither a large crawl nor slow hosts hold up the others.
//
// 429 and 503 leave the host alone for 10 s, doubled each time up to an hour, or for what
// Retry-After says, and add to its pause until it answers again. From the 7th refusal in a row on
// the request is a SERVER_ERROR, whose tries are counted: without that a host that always
// refuses would keep its crawl from ending. robots.txt: see robotsBook.
//
// # Outages
//
// A failure to connect says nothing of a URL. Where the proxy or the resolver cannot be reached, or many sites in a row do not
// answer, requests are NETWORK_UNREACHABLE, with the time of the next probe; where one host alone does not,
// HOST_UNREACHABLE (outage.go). Both are answered without trying while a breaker is open, but for one probe a pause, which
// grows from a second to a minute. prioritize holds the crawl, or the host, meanwhile. A name that does not exist, and a
// connection that breaks after it was made, are failures of the URL, whose tries are counted.
//
// # A new owner of a partition
//
// The committed offset is the lowest request under way, so behind it lie requests that were
// answered. The new owner reads page.fetched from the time of the oldest of them on and skips
// those. If there was an owner before (an offset was committed, or an answer is found), hosts
// are asked only after one full pause since the assignment; and hosts of requests that the log
// holds and nobody answered, only after one session timeout: an owner that was cut off from the
// broker may be asking them and learns within that time that it must stop. A first start waits
// for nothing, and neither does a crawl without a pause.
//
// # Decisions
//
// 2026-11-21: the wait of one session timeout is kept by host, not by partition. Only requests
// that are in the log and not answered can be under way elsewhere; all other hosts are free.
//
// 2026-11-21: robots.txt where the name does not exist or TLS fails makes
// the request CONNECTION_FAILED at once instead of deferring it. The page could not be had
// either, and tries of that outcome are counted, so the crawl of a dead host ends. For the same
// reason the sixth 5xx or time-out of robots.txt in a row disallows the host's requests, which
// is RFC 9309 §2.3.1.4 to the letter. 429 for robots.txt is taken like 5xx although it is a 4xx:
// it speaks of the asking, not of the file.
//
// 2026-11-21: where a kept connection broke before the first byte of an answer, the request is asked
// again over a new one, once, behind the host's pause and without a verdict in between: servers close
// connections that they kept for long, unannounced, and that is no failed try. Not at once, as
// the server may have seen it.
//
// 2026-11-21: a body cut by the size limit, or shorter than its Content-Length when the connection is closed, is a delivered
// page (truncated); one cut by the time limit or by a broken connection is a failure that is tried again. Of a robots.txt a
// short body is a failure, too: a rule may be missing.
//
// 2026-11-21: an unknown crawl does not wait for its control record: politeness travels with
// every request, and the one thing that the control record adds is that a crawl was stopped.
//
// 2026-11-21: a segment is closed as soon as one of the crawls has nothing under way any more,
// not only when nothing at all is: pages of a quick crawl would else wait 250 ms for those of a
// slow one. A crawl causes no more segments so than it does alone.
package main
