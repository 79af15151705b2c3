// Package crawlfile reads the YAML file in which a user describes a crawl (topic, seeds,
// budget, scope, politeness, ranker) and turns it into the record that every stage follows,
// schemas.CrawlControl. It also names the rankers that can be chosen with one word.
//
// # Decisions
//
// 2026-11-21: the mixture is the default ranker. On draws 0–9 of the two frozen webs at hand, to which
// its arms were fitted, its nAUC is .46 and .87 (mean .67), where soft focus has .16 and .83, hard-defer .46
// and .68, the apprentice .26 and .66; no ranker alone is good on both. Its arms are a deep order (anchor
// soft focus), one that learns (the gated apprentice) and three broad ones: discovery within a tenth of R(u),
// and behind a gate on the best topic, or on R(u). What was tried and brought nothing: arms that are
// drawn by what they brought at the score of their head, quicker forgetting (.97, .95), the texts of links
// alone as an arm, and those that stand near.
package crawlfile
