// Package crawlfile reads the YAML file in which a user describes a crawl (topic, seeds,
// budget, scope, politeness, ranker) and turns it into the record that every stage follows,
// schemas.CrawlControl. It also names the rankers that can be chosen with one word.
//
// # Decisions
//
// 2026-11-21: the mixture is the default ranker. On draws 0–9 of the two frozen webs at hand, to which
// its arms were fitted, its nAUC is .45 and .88 (mean .66), where soft focus has .16 and .83, hard-defer .46
// and .68, the apprentice .26 and .66; no ranker alone is good on both. Its arms are a broad order
// (tiered soft focus), a deep one (anchor soft focus), one that learns (the gated apprentice), and first in,
// first out behind a gate.
package crawlfile
