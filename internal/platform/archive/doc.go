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
// Further columns are for analysts, mostly named as in ClickHouse's tables. The option archive of each message (schemas/*.proto)
// lists them, and rows.pb.go is generated from it. Relevances are null where nothing was judged, what an unused critic or ranker
// did not compute is null too; features, links, topics, shadows and guidance are lists.
//
// The footer has forager.archive (the version), forager.topic, and forager.records.sha256, the digest of all records as record.go
// computes it, independent of the encoding.
//
// Within a version columns are only added, at the end. Another version has another folder.
//
// Replay reads the column record and the place only; why the whole message is kept next to its columns is in
// docs/decisions/0207.
package archive
