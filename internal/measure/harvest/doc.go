// Package harvest computes the measures of crawls that the operator's command reports: averages along the pages, the loss
// that one crawl avoided against another, and how rankers that were only recorded would have ordered the pages
// (Comparer).
//
// For a crawl without labels the share of pages on topic is estimated from pages drawn at random that a
// person has marked (Sampled, docs/decisions/0052), or from the error rates of its critic on pages that it has
// not seen (Corrected).
package harvest
