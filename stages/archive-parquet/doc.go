// Command archive-parquet stores page.judged, link.found and leap.settled as Parquet files, for analysis and for training, beyond the
// retention of the topics.
//
// # Card
//
// Purpose: every record of these topics in a file of the object store, whole, with columns for analysts (package archive defines both).
//
// In: page.judged, link.found, leap.settled. Out: files only.
//
// Uses: the object store, below archive/v1/; a temporary file in its state directory, unlinked as soon as it is open.
//
// State: none but the offsets of its consumer group.
//
// Batches: records of all partitions of the process, up to file_bytes or for file_age, are written as one file a partition, one after the
// other. Each is uploaded under a name with its first and last offset and the digest of its bytes, and read back: digest, footer, number of
// rows, digest of the records. Then the offsets of the batch are committed. A file that cannot be read back is uploaded again under another
// name.
//
// Nothing is rejected: a record that cannot be decoded, or that another program wrote, is stored with its bytes and the reason. While the
// object store or the disk is unavailable or full, or the store returns other bytes than it got, the stage waits and logs it.
//
// Repetition is safe: no object is overwritten, and where files of two owners, or of a process that died between upload and commit and of its
// successor, overlap, readers go by offset. The same records make the same file of the same name.
//
// A file has records of many crawls, as a topic does: deleting a crawl does not change it. How long files are kept is configured in the bucket
// (a lifecycle rule on archive/v1/).
//
// # Memory
//
// memory_bytes bounds the process: Go's limit is 32 MiB below it, so that garbage is collected more often the nearer the process comes. In use
// are at most three times file_bytes of records (the batch being written, the next one being read and, for a moment, the file that is read
// back, which is smaller), one row group (8 MiB of records and their columns), and for each partition of the process the decompressed content
// of two fetch responses of 1 MiB. The least memory_bytes that is accepted (64 MiB and six times file_bytes) is enough for about a dozen
// partitions.
//
// # Size of files
//
// A page makes some 16 KiB of records, and a batch is split over the partitions of the process: with 12 partitions and file_bytes of 32 MiB a
// file is 1 to 2 MiB at a high rate. A larger file_bytes, with memory_bytes raised accordingly, gives larger files. A batch is taken over all
// partitions, because they share the memory and their offsets are committed together; to write only the largest partition would make
// files at most twice as large.
package main
