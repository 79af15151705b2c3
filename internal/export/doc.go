// Package export writes the pages of a crawl for others to use: as a WARC/1.1 file, as JSON
// Lines with their text, or as a list of URLs.
//
// Which pages, and in which order, ClickHouse says (the view pages, in the order in which the
// crawl took their verdicts); the bytes come from the object store by range, some pages ahead,
// and are checked against their digests. Memory holds these few pages, however many there are. The
// same selection of the same crawl gives the same bytes.
//
// In a WARC file the records are those that fetch stored, byte for byte, behind a warcinfo record of
// their own; forager serve-web serves them again. Lines of JSON have the fields url, topics (the
// best one) and text, so that they are examples for forager critic train, and some more.
//
// # Decisions
//
// 2026-11-21: a file appears whole under its name or not at all (Target). A stream, standard
// output or a device, cannot be taken back; how many pages it holds is told.
//
// 2026-11-21: a page that cannot be read from the store ends an export, as whoever reads it would
// not know what is missing; leaving such pages out has to be asked for.
package export
