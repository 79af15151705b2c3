// Package contextretrain retrains the context graph of a crawl on the pages that the crawl itself has fetched (Diligenti et al.
// 2000, §3.3 and §5).
//
//	verdicts with the words of their pages → Pages → Train → a guide
//
// Targets are the pages that the crawl's critic judges on topic (schemas.TargetFrom); the paths to them are the links among
// the fetched pages. schedule.RenewalDue determines when a new guide is due. Both stage distill, which trains it, and the
// frontier, which waits for it under learning.sync, call that function.
//
// Judgements contain the words of their pages (some kilobytes each), so that links, their order and the words reach one
// stage, which need not read and parse segments within a step. At most the 1,000 newest targets are used: each may have
// 1,200 pages around it, all in memory while a guide is trained. See decision 0416.
package contextretrain
