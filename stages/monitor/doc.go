// Command monitor serves the web page and the REST interface with which people watch and steer crawls.
//
// # Card
//
// Purpose: the state of every crawl, what was found, and every change that the commands can make of a running crawl.
//
// In: none. Followed: crawl.control, crawl.status, model.published.
//
// Out: crawl.control (changes by operators, new and deleted crawls), link.found (seeds, further tries, replays), dead.letter (letters that
// are dropped).
//
// Uses: ClickHouse for curves, hosts, pages and queries that read, each bounded in time and rows; prioritize for queued URLs and what became of
// a URL; the object store for stored copies, models, marks, URL lists and which events were sent, and to delete crawls; dead.letter and webhooks for events (package notify).
//
// State: none. The state of crawls it reads from the compacted topics when it starts; crawls do not notice whether it runs.
//
// Rejected: requests without the token, of other sites, and under names that the server does not have (package guard).
//
// Repetition is safe: a change derived from an older revision of a control record is refused.
package main
