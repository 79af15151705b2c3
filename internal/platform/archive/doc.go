// Package archive is the layout of the archive: Parquet files that hold the records of
// page.judged, link.found and leap.settled for good, one row a record. It writes files, reads
// them back checked, and replays the records of a partition from files that may overlap.
//
// # Files
//
//	archive/v1/TOPIC/PARTITION/FIRST-LAST-DIGEST[-COPY].parquet
//
// FIRST and LAST are the offsets of the first and the last row, 20 digits; DIGEST is the begin
// of the SHA-256 of the bytes; COPY counts uploads of the same bytes, where an earlier one could
// not be read back. No file is ever overwritten. Offsets rise within a file. Files of a
// partition may overlap, after a crash or with two owners: then the same record is there more than
// once, and the offset says so. Offsets that no file covers are lost or not yet archived.
//
// # Rows, version 1
//
// Columns of every file:
//
//	offset, partition, topic   where the record stood
//	time                       its time stamp, milliseconds, UTC
//	key, headers, record       the message itself, byte by byte; headers a list {name, value}
//	problem                    why the record could not be decoded; empty = it was. All columns
//	                           below are empty or null where it was not
//
// Beside them stand columns for analysts, named as in ClickHouse's tables: crawl, shard, id (16
// bytes), url, host, outcome (as people read it) …; relevance (raw),
// tempered and calibrated are R(u), null where nothing was judged; topics is a list {topic,
// tempered}, best first.
//
//	page.judged   + critic, best_is_focus, known_tokens, status, redirect, detail, fetched_at, title,
//	              description, language, charset, canonical, fingerprint, size, nofollow, noindex,
//	              cut, tokenizer_only, the numbers of leaves, tokens and links, marking (the
//	              revision of the crawl's control whose topics and critic were used), degraded (why
//	              another critic stood in), and shadows, a list {critic, relevance, tempered,
//	              calibrated, best_is_focus, known_tokens, failure} of critics that are not used;
//	              guidance, a list {guide, scores, failure}: scores of the links, one for all or one each in
//	              their order
//	link.found    + the same of the verdict, not_before, and links, a list {url, position,
//	              first_leaf, last_leaf, nofollow}
//	leap.settled  + u, v, u_host, v_host, target and target_tempered (R(v); null unless
//	              delivered), source and source_tempered (R(u)), score, policy, model, trains,
//	              forward, request, pages, boundary, features, a list {term, offset, count}, and shadows, a
//	              list {policy, tier, score, model} of rankers that are not used; tier and score null where
//	              a gate let no link to v through
//
// The footer holds forager.archive (the version), forager.topic, and forager.records.sha256, the
// digest of all records as record.go computes it, whatever the encoding.
//
// Within a version columns are only added, at the end. Another version has another folder.
//
// # Decisions
//
// 2026-11-21: the message stands whole in the column record, beside the columns made of it. What is
// replayed is what was sent, to the byte: fields that a newer program added, tokens of pages, records
// that cannot be decoded. Columns are read one by one, so that analysts do not pay for it in
// time; replays read it and the place. In space it is most of a file: of a crawl of a synthetic
// web, compressed, 378 of 615 bytes a leap (1,168 before compression), 1,703 of 1,881 bytes a record of
// page.judged and 1,635 of 1,899 of link.found, whose pages and tables have no columns.
//
// 2026-11-22: a record's headers are put in order once, for its row, and the digest takes them from there; a check makes no
// records; the encoder is kept from file to file. To write and check the files of a crawl of webkb with its dead links takes
// .85 of the CPU that it took.
//
// 2026-11-21: offsets that a topic does not have (a real broker's transaction markers; Forager
// writes none) would look like a gap if they fell between two files. Within a file they do not.
package archive
