// Package crawlfile reads the YAML file in which a user describes a crawl (topic, seeds, budget, scope, politeness,
// ranker) and makes of it the record that every stage follows, schemas.CrawlControl.
//
// Load reads a file, Complete one of which the caller adds parts, and Fetching makes a crawl that only fetches. All
// problems of a file are returned at once (strictyaml.Error). Revision, versions of critic and guides and the object
// of a URL list are for the caller to add.
//
// Rankers and Guides list the rankers that one word names; Rank returns the policies of one of them, or of a mixture
// of several. DefaultRanker is the default (docs/decisions/0112).
package crawlfile
