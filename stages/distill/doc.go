// Command distill ranks, for each crawl, the hubs and authorities among the pages fetched so far, and trains context graphs on these pages.
//
// # Card
//
// Purpose: the distiller of Chakrabarti, van den Berg and Dom (1999), package distill, for crawls with a policy that raises the links of
// hubs (ranker soft-focus-distilled, alone or as an arm). For crawls whose crawl file asks for it (context_graph; package contextretrain) it also
// trains the guide again on the pages fetched; the graph of these pages is in its state already.
//
// In: link.found. Followed, first to its end: crawl.control. Out: hub.ranked, one record after every boundary (distill.Boundary; crawl file
// distiller.every), which prioritize follows; model.published and crawl.control, one record each for a new guide.
//
// Uses: the object store, where guides are stored. ClickHouse has the rankings as the view hubs.
//
// State, in Pebble, one store a partition: of each shard of such a crawl the ids of the records noted, the pages delivered with R(u) and the ids
// of their links' targets, redirects, and the last boundary. It is rebuilt by reading link.found again; rankings of before are not sent again.
//
// A crawl without a control record: its pages are noted, and dropped if the crawl turns out to have no distiller. Records of crawls without
// one are not decoded. A crawl that chooses a distiller while it runs is ranked by the pages from then on; one that chooses another ranker is
// still noted, as it may come back. The state of a deleted crawl is dropped.
//
// Several shards: each is ranked by itself, over its own pages and the pages of other shards that link to them; boundaries count its own
// pages. Links that lead to other shards count only where their targets link back.
//
// Ignored, with a line in the log: records that cannot be read. prioritize reads the same ones, ends their requests and sends their letters.
//
// Repetition is safe: a record is noted once, by its id, and a ranking is a function of the records noted; copies have the same id, and
// prioritize ignores older ones. The version of a guide is its digest, and a control record for it is written only while none is in force
// that has it (retrain.go).
//
// While the stage replays its input nothing is ranked; it ranks once after that. A ranking is computed within a step, and the other crawls of the
// partition wait for it. Only the newest 1,048,576 pages and redirects are ranked, or the newest of these with 8,388,608 links between them
// (distill.Default), so that memory does not grow with the crawl; the graph on disk is not bounded. docs/decisions/0210 has the reasons.
package main
