// Package study compares rankers on frozen webs: webs × tasks × rankers × settings × draws, as described by a plan file, with
// results that can be continued, loaded elsewhere and read.
//
//	plan.yaml → Plan → Run → runs.jsonl (Log) → runs.csv, runs.parquet, a report
//
// Crawls are made by package experiment, one for each processor. Each run is appended to runs.jsonl when it ends, so a study
// that was stopped continues where it was. A result is identified by all that it depends on: task, draw, variant with its
// settings, seed, the digests of webs, critics and program. The same plan gives the same files, byte for byte, however many
// crawls run side by side and however often it was stopped.
//
// The first line of a log names one program and one set of inputs (Origin). A log of another origin is refused: results of two
// programs in one table would compare the programs (decision 0441).
//
// Settings form a grid over the rankers that learn. The name of a variant contains only what the grid varies, so a plan
// without settings has the rankers' own names.
package study
