// Package disk says how much room is left where things are stored, so that crawls pause before
// a disk is full. It knows the machine's file systems and nothing else.
//
// # Decisions
//
// 2026-11-21: prioritize watches for all, because it alone decides that something is fetched.
// It sees the folders below its own data folder: state of every stage on this machine, and the
// files of the embedded parts, also where one of them is a file system of its own. A disk that
// only another machine sees (servers of one's own, an apprentice-train elsewhere) is watched by
// whoever runs it; when it is full all the same, whoever writes there waits and nothing is lost.
//
// 2026-11-21: what was too little is enough only with an eighth more, so that a disk at the limit
// does not pause and resume crawls every second.
package disk
