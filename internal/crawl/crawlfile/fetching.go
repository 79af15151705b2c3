package crawlfile

import (
	"time"

	"forager/internal/platform/strictyaml"
	"forager/schemas"
)

// Fetching returns a crawl that only fetches: these URLs, canonical and distinct, first in, first out,
// and the targets of their redirects, but no links; its pages are not judged. The error is a
// *strictyaml.Error about name, urls, delay or contact.
func Fetching(name, contact string, delay time.Duration, urls []string) (*Crawl, error) {
	var r strictyaml.Report
	if !crawlName.MatchString(name) {
		r.Problem("name", "%q is not a name of 1–64 of a–z, 0–9, \"-\" and \"_\"", name)
	}
	if len(urls) == 0 {
		r.Problem("urls", "there is none to fetch")
	}
	polite(&r, delay, contact)
	if problems := r.Problems(); len(problems) > 0 {
		return nil, &strictyaml.Error{File: name, Problems: problems}
	}
	order, err := Policy("unfocused")
	if err != nil {
		return nil, err
	}
	return &Crawl{
		Control: &schemas.CrawlControl{
			Crawl: name, State: schemas.CrawlState_CRAWL_STATE_RUNNING, Policies: []*schemas.Policy{order},
			Budget: &schemas.Budget{Pages: uint64(len(urls))}, Scope: &schemas.Scope{SeedsOnly: true},
			Politeness: politeness(delay, contact, false), Learning: &schemas.Learning{},
			Leaves: schemas.LeafMode_LEAF_MODE_COMPACT,
		},
		Seeds: urls,
	}, nil
}
