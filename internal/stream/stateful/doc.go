// Package stateful has the loop of stages with state. Each partition has a Store, a Processor (the logic of the stage) and an
// Owner; state and input offset are committed together. Stage is the declaration of such a stage.
//
// An Owner recovers the decisions of earlier owners from the log, up to the markers of its own epoch. The comment of Owner has
// the order of its writes, and why no void decision is ever committed. It uses the cluster through the interface Broker, which
// package crashtest simulates.
//
// A Processor that fails is opened again on the last commit. Records and crawls that make it fail again are skipped and
// parked (fault.go, docs/decisions/0033).
package stateful
