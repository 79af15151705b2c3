// Package export writes the pages of a crawl for other programs: as a WARC/1.1 file, as JSON
// Lines with their text, or as a list of URLs.
//
// An analytics.Selection chooses pages of the ClickHouse view pages, in the order in which the crawl applied
// their verdicts. Write writes them in a Format, Each passes them to a function. The bytes are read
// from the object store by range, some pages ahead, and checked against their digests; memory holds these few pages only. The same selection of the same crawl gives the
// same bytes.
//
// The records of a WARC file are those that fetch stored, byte for byte, after a warcinfo record;
// forager serve-web serves such a file. A JSON line has url, topics (the best one) and text, so
// that the file can be used as examples for forager critic train, and further fields.
//
// WriteRows writes rows that are no pages, such as refused links, in the same formats but WARC.
//
// A Target is a file, which appears under its name when it is complete or not at all, or a stream
// (docs/decisions/0510).
package export
