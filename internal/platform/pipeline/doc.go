// Package pipeline reads pipeline.yaml, the configuration of a deployment: addresses of Kafka, S3 and ClickHouse, memory,
// settings of the topics, and settings of each stage.
//
// Each setting is documented by the tags of its field: default, range and help. Load sets the defaults and decodes the file over them. Unknown fields, values of the wrong type and values out of range
// are all reported at once, each with its path and line (package strictyaml). Write prints the configuration in effect with explanations; docs/settings.md is generated.
//
// The memory of the machine is divided among the processes (Config.processes), unless the file has memory_bytes of a process.
//
// Logins of embedded parts are generated and kept in DATA/secrets (MakeSecret, docs/decisions/0071). Services lists the addresses
// of the pipeline's own parts, which must not be crawled (docs/decisions/0070).
package pipeline
