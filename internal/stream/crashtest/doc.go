// Package crashtest simulates crashes, stalls and duplicated messages of the owners of stateful stages, under virtual
// time and a seed. It consists of a broker in memory (World), state directories that lose what was not synced (Dir) and
// processes that are coroutines (Process); a schedule, drawn from the seed, decides which process runs next. The code
// that runs in it is that of the stage.
//
// Every call of a process to the broker, every message that it appends and every failpoint that it passes is a point at
// which the schedule may run another process, kill this one, or suspend it for any time.
//
// The broker keeps the order of one producer's messages within a partition and nothing else: messages of one call to
// several partitions come in any order, a run of them comes twice where an acknowledgement was lost, and copies, or the
// rest of what a killed process was sending, may arrive much later.
//
// A crash keeps exactly the commits that were synced, and the seed decides which ones are. Pebble writes its log in the
// background, so any other choice would depend on the machine and a seed could not be repeated. Losses of other parts of
// the log are tested with state.Store itself.
package crashtest
