// Package segment packs fetched pages into WARC segments in the object store and reads them back by range.
//
// One object a page is too expensive on any S3, and a page must be stored before the record that announces it is sent. So a
// Writer has one open segment for all crawls of its process. The segment is closed when it is full, when its first record has
// waited for the configured age, or at Flush, which the caller uses when nothing else is being fetched; while several pages are
// in flight Flush lets the segment wait for more (Settings.Linger). It is then uploaded in one piece, and only then the place of
// each record is reported. While the store is unavailable the Writer retries with back-off and accepts no more than its open
// segment.
//
// Objects are named segments/YYYYMMDD/INSTANCE-RANDOM.warc.gz with 128 random bits; a name is used for the bytes of one segment
// only. A process that dies between the upload and its records leaves a segment that no record names: an orphan, which costs
// space and is no error.
//
// Read reads a page back and checks its digests. Ahead reads segments in blocks of 1 MiB, because the pages of a segment are
// announced together and a request to the store costs more than a page.
package segment
