// Command forager is the operator's command: it checks and sets up a deployment, starts and
// stops the embedded parts and the stages on this machine, trains critics, runs crawls and
// reports on them, audits them from outside (package audit), and crawls frozen webs.
//
// Every command prints text for people, or one JSON document with --json. Progress goes to
// standard error, in place on a terminal and in plain lines in a pipe. Exit codes: 0 done, 1 it
// failed (the last line says why and what to do), 2 the command line is wrong.
//
// # Decisions
//
// 2026-11-21: up starts an embedded part for a loopback address at which nobody answers, so
// that pointing to servers of one's own is a change of addresses only.
//
// 2026-11-21: crawl start sends the control record before the seeds. prioritize takes no crawl
// for finished before its seeds have come, and never waits for a control record that an
// interrupted start did not send.
//
// 2026-11-21: a command that changes a crawl reads back what it wrote (revise.go), so that of two
// operators at once one is told that nothing of his was done.
//
// 2026-11-21: seeds may be given to a crawl whose frontier ran empty, which then goes on. One that
// was stopped or has spent its budget is refused: nothing would be fetched.
//
// 2026-11-21: crawl delete goes in the order tombstone, state, objects, rows: the stages let go
// first, and the rows, which say what objects there are, go last, so that an interrupted delete
// can be called again. A segment is deleted when every record in it is of a deleted crawl
// (segment.Holds); a model stays while another crawl names it, and so does a guide that the crawl made for itself.
//
// 2026-11-21: URLs that are to be examples are fetched by the running stages in a crawl of their own,
// which follows no link and which nobody judges (fetchList); so robots.txt, pauses, retries and
// redirects are those of every crawl, and the pages are kept. Its name is made of the list, so that an
// interrupted import goes on, and the same list gives the same bytes until it is fetched --again.
//
// 2026-11-21: crawl start --like takes the background, from which its critic learns what is not on topic, from the
// neighbourhood of the likes: two thirds are pages that likes link to, a third pages that those link to, chosen
// by a hash, each page and host in turn. That is where the crawl begins, so it is like what will be judged; much of it is on
// topic, which is what package positive reckons with. These pages count for the budget. The critic is trained again, with a
// sample of all pages met as background, after 100, 200, 400 … pages, while somebody watches; the frontier keeps
// the scores that its links were found with.
//
// 2026-11-21: rolling back a model pins it (CrawlControl.learning.pinned). Training is a function of the
// leaps alone and goes on beside it; a crawl that is to learn from where an older model stood
// is a new crawl.
package main
