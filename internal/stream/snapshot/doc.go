// Package snapshot keeps copies of the state of a partition (package state) in the object store, so that a new owner
// with an empty directory need not replay the topics from their beginning (docs/decisions/0220).
//
// A snapshot is a manifest, which is written last, and the chunks of the files that it names. Nothing is overwritten: the name of a chunk
// has its digest and the upload that wrote it, that of a manifest the marks, the epoch and its own digest. An upload refers to chunks that it
// wrote itself and to those of the newest manifests when it began, and gives up after uploadTime. A collection removes a
// manifest when Keep newer ones are older than keepTime, and a chunk when no manifest names it and it is older than keepTime. As
// keepTime is longer than uploadTime, no upload that is under way refers to anything that is removed, whichever process owns the partition.
//
// The state at a commit is one of the partition's true history (package stateful), whichever owner uploaded it and whenever, so a
// later owner can continue from any snapshot whose marks the topics still have.
package snapshot
