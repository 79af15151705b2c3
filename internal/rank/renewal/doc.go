// Package renewal makes the context graph of a crawl anew of what the crawl itself fetches (Diligenti et al.
// 2000, §3.3 and §5).
//
//	verdicts with the words of their pages → Pages → Train → a guide
//
// Targets are pages that the crawl's critic judges on topic (schemas.TargetFrom), ways to them the links
// among the pages fetched. When a new guide is due is schemas.RenewalDue's to say, which stage distill asks,
// who makes it, and the frontier, which waits for it under learning.sync.
//
// # Decisions
//
// 2026-11-22: words of pages travel in their judgements, some 2 to 4 KB a page, and so reach the place where
// links and their order are known. The pages lie in segments, too, and the stage could read each again; then
// it would have to parse, and wait for the store, within a step.
//
// 2026-11-22: of more than 1,000 targets the newest count. Each may have 1,200 pages around it, some 10 KB
// each while a guide is made.
package renewal
