// Command distill ranks, crawl by crawl, the hubs and authorities among the pages fetched so far, and makes context graphs of these.
//
// # Card
//
// Purpose: the distiller of 1999 (package distill) for crawls of which a policy raises what hubs link to
// (ranker soft-focus-distilled, alone or as an arm).
//
// It also makes the guide of a crawl's context graph anew where the crawl file wants that (context_graph; package renewal): the
// graph of the pages fetched lies here already. A new guide comes into use as an operator's does, by a record of crawl.control.
//
// In: link.found. Followed to its end first, and on: crawl.control. Out: hub.ranked, one record
// behind every boundary (distill.Boundary; crawl file distiller.every), which prioritize follows; model.published and
// crawl.control, a record each for a new guide.
//
// Touches: the object store, where guides go. ClickHouse has the rankings as the view hubs.
//
// State, in Pebble, a store a partition: of each shard of such a crawl the ids of the records noted, the
// pages delivered with R(u) and the ids of what they link to, redirects, and the last boundary. It
// is rebuilt by reading link.found again; rankings of before are not sent again.
//
// A crawl without a control record: its pages are noted, and dropped where the crawl turns out to have no
// distiller. Records of crawls that have none are not even decoded. A crawl that chooses a distiller while it
// runs is ranked by the pages from then on; one that chooses another ranker is noted on, as it may come
// back. A crawl that was deleted: its state is dropped.
//
// Several shards: each is ranked by itself, over its own pages and the pages of other shards that link to
// them; boundaries are its own pages. Links that lead to other shards count only where their
// targets link back.
//
// Leaves out, with a line in the log: records that cannot be read. prioritize reads the same ones,
// answers for them and sends their letters.
//
// Running twice is safe: a record is noted once, by its id, and a ranking is a function of the records
// noted; copies have the same id, and older ones change nothing in prioritize. So is a guide, whose version is its digest; and a control
// record is written only while none is in force that knows of it (renew.go).
//
// # Decisions
//
// 2026-11-22: pages come from link.found and not from ClickHouse, as the starting design had it.
// link.found has everything, judgement and links of a page in one record, in the order in which prioritize counts pages: so
// a boundary is a matter of the input alone, nobody has to say when one is reached or wait for rows
// to be loaded, a replay finds the same rankings, and with learning.sync the pipeline
// fetches the same pages as an experiment. It costs 16 bytes a link on disk.
//
// 2026-11-22: a ranking says behind how many pages it stands, and prioritize takes it once it has
// delivered as many: by then everything that hubs link to is discovered there.
//
// 2026-11-22: the stage writes records of crawl.control, as else only operators do. A guide that came into use by its announcement alone
// would need a second way in every stage that asks which guide a crawl has. Who loses a race sees it: an operator's command
// is told as if another operator had been faster, the stage writes again above what is in force.
//
// 2026-11-22: while it replays nothing is ranked, and behind it once. Rankings of the past would
// be taken for copies anyway.
//
// 2026-11-22: hubs are marked for a revisit (RankedPage.marked) and Forager does not fetch them again by
// itself: a second verdict on a page would have to be told from the first in every count and table. The
// query revisit lists them; as seeds of another crawl they are fetched once more.
//
// 2026-11-22: a ranking is made within a step. 10⁶ pages with 10⁷ links take 13 s and 530 MB of heap
// (BenchmarkHubs); at that size one comes every 100,000 pages, and the other crawls of the partition wait for it.
//
// 2026-11-23: no more is ranked than the newest 1,048,576 pages and redirects, or the newest of these between which there are 8,388,608
// links (distill.Default), so that memory does not grow with the crawl. The bounds are no settings: a ranking that is made
// again must be the same. The graph on disk is not bounded.
package main
