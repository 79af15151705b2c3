// Command apprentice-train learns, crawl by crawl, which links lead to relevant pages.
//
// # Card
//
// Purpose: the apprentice's models (package apprentice) from settled leaps.
//
// In: leap.settled. Followed to its end first, and on: crawl.control (a crawl's prior). Out:
// model.published, one record at each boundary, behind its object.
//
// Touches: the object store: models/apprentice/CRAWL/PAGES-DIGEST12. The name holds the digest
// of the bytes, so an object is never overwritten; one that is there already is compared.
//
// State, in Pebble, a store a partition: the ids of the leaps noted; a journal of the leaps and
// boundaries since the last model; the last model's announcement. What was learnt before is in
// that model's object. It is rebuilt by reading leap.settled again, which gives the same
// models, bit for bit: each leap counts once, by id, in the order of first records, and a boundary
// says where a training set ends.
//
// What learns is the crawl's choice (learning.learner); a learner of other settings, as a prior may
// be, is not gone on with.
//
// A crawl without a control record, a prior that is not there or cannot be read, an object store
// that is away: the crawl's journal waits, and the other crawls go on. It is logged and tried
// again for ever.
//
// A crawl that was deleted: its state is dropped, its leaps are ignored.
//
// Refuses, with a dead letter: records that cannot be decoded, leaps whose R(v) or features the
// learner does not take.
//
// Running twice is safe: two owners of a partition, or one that begins again, publish the same
// models under the same versions.
//
// # Decisions
//
// 2026-11-21: state holds a journal and not the learner, which changes in hundreds of cells a leap
// and is written whole, as the model's object, at each boundary anyway.
//
// 2026-11-21: a boundary that comes again, when its model is the crawl's last one, is answered
// again. A late copy of an older announcement may have become the last record of its key, and
// what compaction then removes is asked for by prioritize with such a boundary.
//
// 2026-11-21: R(v) is the raw posterior, as in the paper.
//
// 2026-11-21: a model that an operator retrained or pinned for the crawl changes nothing here: each
// model goes on from the one before it in the crawl's own chain, so that its bytes are a
// function of leap.settled and of the prior, and forager retrain can make them again. Which model
// ranks is prioritize's matter (learning.pinned). Who wants learning to go on from a retrained
// model begins a crawl with it (learning.prior).
//
// 2026-11-22: leaps gather for a tenth of a second unless some crawl waits for its models (learning.sync): a
// fetch, a step and a commit for every few leaps were a twentieth of what webkb with its dead links costs.
package main
