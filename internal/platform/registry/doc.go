// Package registry publishes models and fetches them: the bytes in an object whose name contains their digest, and an
// announcement on model.published. apprentice-train, forager critic train and forager retrain publish through it.
//
// Publishing is Keep, then Announcement. Keep never overwrites; a process that ends in between leaves an object that is not
// announced and that the next try finds in place.
//
// The announcement does not decide which model ranks a crawl: the operator does (CrawlControl.learning.pinned). A model that
// an operator retrained has a key of its own in model.published and does not change apprentice-train's chain of models
// (docs/decisions/0205).
package registry
