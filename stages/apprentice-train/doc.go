// Command apprentice-train learns, for each crawl, which links lead to relevant pages.
//
// # Card
//
// Purpose: the apprentice's models (package apprentice), trained on settled leaps.
//
// In: leap.settled, of which it leaves out leaps that were settled while no apprentice ranked (no_apprentice). Followed, first to its
// end: crawl.control (a crawl's prior). Out: model.published, one record at each boundary, after its object.
//
// Uses: the object store, models/apprentice/CRAWL/PAGES-DIGEST12. The name contains the digest of the bytes, so an object is never
// overwritten; one that exists is compared.
//
// State, in Pebble, one store a partition: the ids of the leaps noted; a journal of the leaps and boundaries since the last model;
// the announcement of the last model. Older samples are in that model's object. The state is rebuilt by reading leap.settled again,
// which gives the same models, bit for bit: each leap counts once, by id, in the order of first records, and a boundary record ends a
// training set.
//
// The crawl chooses the learner (learning.learner). A learner with other settings, such as that of a prior, is not continued.
//
// A crawl waits, and the others go on, while it has no control record, its prior is missing or cannot be read, or the object store is
// unavailable. This is logged and retried without limit. The state of a deleted crawl is dropped and its leaps are ignored.
//
// Rejected, with a dead letter: records that cannot be decoded, leaps whose R(v) or features the learner does not accept.
//
// Repetition is safe: two owners of a partition, or one that starts again, publish the same models under the same versions.
//
// The training target R(v) is the raw posterior, as in Chakrabarti, Punera and Subramanyam (2002). While no crawl waits for its models
// (learning.sync), leaps gather for a tenth of a second before a step. docs/decisions/0205 has the reasons for the journal and for the
// chain of models.
package main
