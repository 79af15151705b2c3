// Package crashtest lets owners of stateful stages crash, stall and double their messages at
// every point, under virtual time and a seed: a broker in memory, state directories that lose
// what was not synced, and processes that are coroutines, so that a schedule decides which of
// them goes on. It is for tests; the code that runs in it is the stage's own.
//
// Every call of a process to the broker, every message that it appends and every failpoint that
// it passes is a point at which the schedule may let another process run, kill this one, or
// leave it standing for as long as it likes.
//
// The broker keeps the order of one producer's messages within a partition and nothing else:
// messages of one call to several partitions come in any order, a run of them comes twice
// where an acknowledgement was lost, and copies, or the rest of what a killed process was
// sending, may still arrive much later.
//
// # Decisions
//
// 2026-11-21: what a crash keeps is exactly what was synced, and the seed says which commits
// are. Pebble writes its log in the background, so any other choice would depend on the machine
// and a seed could not be run again. (Losses of any part are tested with the Store itself.)
package crashtest
