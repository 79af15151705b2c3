// Package registry puts models where everybody finds them: the bytes into an object whose name
// holds their digest, then an announcement on model.published. apprentice-train, forager critic
// train and forager retrain publish through it, so that a model is found the same way whoever
// made it.
//
// Publishing is Keep, then Announcement. Keep never overwrites; what is interrupted in between
// leaves an object that nobody knows and that the next try finds in place, never half a model.
//
// # Decisions
//
// 2026-11-21: which model ranks a crawl is its operator's word (CrawlControl.learning.pinned),
// not the order of announcements. A model that an operator made has a key of its own
// in model.published and is marked retrained; apprentice-train's own chain of models, each going on
// from the one before, stays what it was, to the bit, whatever ranks meanwhile.
package registry
