// Package boot is the common part of the main functions of all stages: flags, pipeline.yaml, log, metrics endpoint, limits
// of memory, signals and exit codes.
//
//	func main() { boot.Main("parse-dom", run) }
//
// Exit codes: 0 when run returned nil, also after SIGTERM or SIGINT once the stage has drained; 1 after an error, which is
// the last line on standard error; 2 for wrong flags; 128 + n after a second signal n, at once.
//
// The state directory belongs to the stage and not to the replica: a partition that moves to another process of the machine
// finds its store there, and Pebble's lock excludes a second owner. Replica n of a stage serves its metrics at the
// configured port + n.
package boot
