// Package state is the state of a partition of a stateful stage: an ordered map on disk (Pebble), whose commits make changes and the
// offsets up to which the topics are reflected in them (Marks) visible together.
//
// A commit need not be synced: after a crash a Store has the state of one of its commits, and the rest is rebuilt from the topics
// (docs/decisions/0203). On a full disk writes wait (RetryingFS).
package state
