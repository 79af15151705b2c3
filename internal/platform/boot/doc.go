// Package boot is what the main of every stage does the same way: flags, pipeline.yaml, log,
// metrics endpoint, signals and exit codes.
//
//	func main() { boot.Main("parse-dom", run) }
//
// Exit codes: 0 after SIGTERM or SIGINT once the stage has drained, or when run returned nil;
// 1 after an error, which is the last line on standard error; 2 for wrong flags; 128 + n after
// a second signal n, at once.
//
// # Decisions
//
// 2026-11-21: the state directory belongs to the stage, not to the replica. A partition that
// moves to another process of this machine finds its store there; Pebble's lock keeps it from
// two owners.
//
// 2026-11-21: replica n of a stage has its metrics at the configured port + n.
package boot
