// Package scope says which URLs a crawl may fetch: by its lists and its depth, and by guards
// against traps, sites that make up URLs without end. Each refusal has a reason code out of a
// fixed set, so that it can be a metric's label.
//
// # Decisions
//
// 2026-11-21: the guards do not look at URLs that an explicit list names: whoever wrote the
// list has seen them.
//
// 2026-11-21: the guards' limits are constants. They lie far above what sites for people use
// (longest URL of the frozen webs: 141 bytes, 12 segments) and are not meant for tuning.
package scope
