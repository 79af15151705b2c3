// Package stagemain runs the stages: flags, pipeline.yaml, log, metrics endpoint, probes, limits of memory, broker, object store,
// signals and exit codes. A stage is a declaration (Stage) of the topics that it reads and writes, and of its logic:
//
//	func main() { stagemain.Main(stage) }
//
// Tests in internal/rules read the declarations and compare them with the stage cards and with docs/ARCHITECTURE.md.
//
// Exit codes: 0 when run returned nil, also after SIGTERM or SIGINT once the stage has drained; 1 after an error, which is
// the last line on standard error; 2 for wrong flags; 128 + n after a second signal n, at once.
//
// The state directory belongs to the stage and not to the replica: a partition that moves to another process of the machine
// finds its store there, and Pebble's lock excludes a second owner. Replica n of a stage serves its metrics at the
// configured port + n.
package stagemain
