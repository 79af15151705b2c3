// Package archive is the layout of the archive: Parquet files that keep the records of page.judged, link.found and leap.settled,
// one row a record. It writes files, reads them back checked, and replays the records of a partition from files that may
// overlap.
//
// # Files
//
//	archive/v1/TOPIC/PARTITION/FIRST-LAST-DIGEST[-COPY].parquet
//
// FIRST and LAST are the offsets of the first and the last row, 20 digits; DIGEST is the beginning of the SHA-256 of the bytes;
// COPY counts uploads of the same bytes, where an earlier one could not be read back. No file is ever overwritten. Offsets
// ascend within a file. Files of a partition may overlap, after a crash or with two owners: then a record is there more than
// once, with the same offset. Offsets that no file covers are lost or not yet archived.
//
// # Rows, version 1
//
// Columns of every file:
//
//	offset, partition, topic   where the record was read
//	time                       its time stamp, milliseconds, UTC
//	key, headers, record       the message itself, byte by byte; headers is a list {name, value}
//	problem                    why the record could not be decoded; empty = it could be. Otherwise all columns
//	                           below are empty or null
//
// Further columns are for analysts, named as in ClickHouse's tables: crawl, shard, id (16 bytes), url, host, outcome (as people
// read it) …; relevance (raw), tempered and calibrated are R(u), null where nothing was judged; topics is a list {topic,
// tempered}, best first.
//
//	page.judged   + critic, best_is_focus, known_tokens, status, redirect, detail, fetched_at, title,
//	              description, language, charset, canonical, fingerprint, size, nofollow, noindex,
//	              cut, tokenizer_only, the numbers of leaves, tokens and links, marking (the
//	              revision of the crawl's control record whose topics and critic were used), degraded (why
//	              another critic was used), and shadows, a list {critic, relevance, tempered,
//	              calibrated, best_is_focus, known_tokens, failure} of critics that are not used;
//	              guidance, a list {guide, scores, failure}: scores of the links, one for all or one each in
//	              their order
//	link.found    + the same of the verdict, not_before, and links, a list {url, position,
//	              first_leaf, last_leaf, nofollow}
//	leap.settled  + u, v, u_host, v_host, target and target_tempered (R(v); null unless
//	              delivered), source and source_tempered (R(u)), score, policy, model, trains,
//	              forward, request, pages, boundary, features, a list {term, offset, count}, and shadows, a
//	              list {policy, tier, score, model} of rankers that are not used; tier and score are null where
//	              a gate let no link to v through
//
// The footer has forager.archive (the version), forager.topic, and forager.records.sha256, the digest of all records as record.go
// computes it, independent of the encoding.
//
// Within a version columns are only added, at the end. Another version has another folder.
//
// Replay reads the column record and the place only; why the whole message is kept next to its columns is in
// docs/decisions/0207.
package archive
