// Package segment packs fetched pages into WARC segments in the object store and reads them
// back by range.
//
// One object a page costs too much on any S3, and a page must be stored before the record that
// announces it is sent. So a process keeps one segment open for all its crawls; it is closed
// when it is full, when its first record has waited for the age set, or at once when nothing
// else is being fetched (Flush), and then uploaded in one piece. Only then is each record's
// place told. A store that is away is waited for with back-off, and nothing is lost meanwhile:
// a writer takes no more than its open segment while it waits.
//
// Objects are named segments/YYYYMMDD/INSTANCE-RANDOM.warc.gz with 128 random bits; a name is
// used for one segment's bytes only. A process that dies between the upload and its records
// leaves a segment that nothing names: an orphan, which costs space and is no error.
//
// # Decisions
//
// 2026-11-21: while several pages are under way a segment waits for more (Linger), and
// Ahead reads segments in blocks of 1 MiB. Closed whenever nothing was being fetched, segments held
// 2.7 pages on a crawl at full speed, and a put and a get for each page were 40 % of what the
// embedded parts cost. A page that is alone under way is stored at once, as before.
package segment
