// Command archive-parquet keeps page.judged, link.found and leap.settled as Parquet files, for
// analysts and for retraining, beyond what the topics retain.
//
// # Card
//
// Purpose: every record of these topics in a file of the object store, whole, with columns
// beside it (package archive says which and where).
//
// In: page.judged, link.found, leap.settled. Out: nothing but files.
//
// Touches: the object store, under archive/v1/; a temporary file in its state folder, unlinked
// as soon as it is open.
//
// State: none but the offsets of its consumer group.
//
// Batches: records of all partitions that the process has, up to file_bytes or for file_age,
// are written as one file a partition, one after the other. Each is uploaded under a name that
// holds its first and last offset and the digest of its bytes, and read back: digest, footer,
// number of rows, digest of the records. Then the offsets of the batch are committed. What
// cannot be read back is uploaded again under another name.
//
// Refuses nothing: a record that cannot be decoded, or that another program wrote, is kept with
// its bytes and the reason. The object store or the disk away, full, or not giving back what it
// got: waits and says so.
//
// Running twice is safe: no object is overwritten, and where files of two owners, or of a process
// that died between upload and commit and of its successor, overlap, readers go by offset. The
// same records make the same file of the same name.
//
// A file holds records of many crawls, as a topic does: deleting a crawl leaves it. How long files
// are kept is the bucket's matter (a lifecycle rule on archive/v1/).
//
// # Memory
//
// memory_bytes bounds the process: Go's limit is set 32 MiB below it, so that the collector works
// the harder the nearer it comes. In use are at most three times file_bytes of records (a batch being
// written, the next one being read and, for a moment, the file that is read back, which is
// smaller), a row group in the making (8 MiB of records and their columns) and what two answers of the
// broker, of 1 MiB, unpack to, for each partition that the process has: a process with many more
// partitions than a dozen needs more than the least that is asked for. A backlog of 300 MB in 12
// partitions, with the settings of pipeline.yaml, took 240 MiB of 256 at its peak (BenchmarkArchive).
//
// # Size of files
//
// A page makes some 16 KiB of records, so at 400 pages/s file_bytes of 32 MiB fill in 5 s, and
// with 12 partitions a file is 1 to 2 MiB. Who crawls at that rate for days raises
// file_bytes, and memory_bytes with it (64 MiB and six times file_bytes at least).
//
// # Decisions
//
// 2026-11-21: one batch over all partitions, not one a partition. What memory is there is shared
// by the partitions either way, and offsets are committed at one moment; flushing only the
// largest partition would make files at most twice as large.
package main
