// Package metrics has the metrics of a stage, and its health, from which the probes of its process follow: whether it is a
// member of its consumer group with the state of all its partitions, and how long its oldest step has been in progress.
package metrics
