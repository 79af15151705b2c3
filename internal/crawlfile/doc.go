// Package crawlfile reads the YAML file in which a user describes a crawl (topic, seeds,
// budget, scope, politeness, ranker) and turns it into the record that every stage follows,
// schemas.CrawlControl. It also names the rankers that can be chosen with one word.
package crawlfile
