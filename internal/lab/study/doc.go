// Package study compares rankers on frozen webs: webs × tasks × rankers × settings × draws, as
// one plan file says, with results that can be taken up again, loaded elsewhere and read.
//
//	plan.yaml → Plan → Run → runs.jsonl (Log) → runs.csv, runs.parquet, a report
//
// Crawls are made by package experiment, one a processor. Each run is a line of runs.jsonl as soon
// as it is made, so a study that was stopped goes on where it was. What a result depends on is its
// name: task, draw, variant, seed, the digests of web, critic and program. The same plan gives the
// same files, byte for byte, however many crawls run side by side and however often it was stopped.
//
// # Decisions
//
// 2026-11-21: a log belongs to one program and one set of inputs (its first line). Results of two
// programs in one table would compare the programs; so such a log is refused, not mixed.
//
// 2026-11-21: settings form a grid over the rankers that learn. A variant's name says only what
// the grid varies, so that a plan without settings has the rankers' own names.
package study
