// Package controls keeps what the topic crawl.control says: the newest record of every crawl.
// A stage feeds it from stream.Follow and looks crawls up while it handles other records.
//
// # Decisions
//
// 2026-11-21: of two records of one revision the first counts. Two operators who change a crawl
// at once both write the next revision; whoever came second finds the other's record before its
// own when it reads back, so it is always the loser who is told. Its record stands last, though,
// and last is what compaction keeps: so it repeats what is in force under one more revision.
package controls
