// Package pipeline reads pipeline.yaml, the one file that says where the parts of a
// deployment are (Kafka, S3, ClickHouse), how its topics are set up and how each stage is
// tuned. Defaults are laid first, then the file over them, strictly: an unknown field, a value
// of the wrong kind and a value out of range are all reported, all at once, each by its path
// and line.
package pipeline
