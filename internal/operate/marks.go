package operate

import (
	"context"
	"fmt"
	"time"

	"forager/internal/classify/taxonomy"
	"forager/internal/export"
	"forager/internal/page/dom"
	"forager/internal/platform/analytics"
	"forager/internal/platform/objects"
	"forager/internal/platform/samples"
	"forager/schemas"
)

// Marks are an operator's corrections of a critic's judgements, kept until the critic is trained again.
type Marks struct {
	DB    *analytics.DB
	Store *objects.Store
	// Critic is the name of the critic, Crawl a crawl that it judges (may be empty), Focus that crawl's focus topics.
	Critic, Crawl string
	Focus         []string
	// Only is the topic of a critic that was learned from likes; empty for others.
	Only string
}

// New returns a mark without a page. The topics are those of the critic or the crawl unless one is named; of several
// a page that was not drawn at random needs the one that it is about.
func (t *Marks) New(right, drawn bool, topic string) (m samples.Mark, err error) {
	if topic != "" {
		if topic, err = taxonomy.ParseTopic(topic); err != nil {
			return m, refusal(err)
		}
	}
	m = samples.Mark{Right: right, Drawn: drawn, Crawl: t.Crawl}
	switch {
	case right && topic != "" && t.Only != "" && topic != t.Only:
		return m, refusef("critic %s has one topic, %s", t.Critic, t.Only)
	case right && topic != "":
		m.Topic = topic
	case len(t.Focus) == 1, len(t.Focus) > 1 && (drawn || !right):
		m.Topic, m.Others = t.Focus[0], t.Focus[1:]
		if !right {
			m.Instead = topic
		}
	default:
		return m, refusef("what are the pages about? Name a crawl, and with --right the one of its focus topics (--topic)")
	}
	return m, nil
}

// Pages calls take with the pages, fetched by any crawl, of the given URLs, each once.
func (t *Marks) Pages(ctx context.Context, urls []string, take func(export.Page) error) error {
	sel := analytics.Selection{Outcome: schemas.OutcomeName(schemas.Outcome_OUTCOME_DELIVERED), Among: urls}
	return export.Each(ctx, t.DB, t.Store, sel, take)
}

// Add stores a mark for pages. It is an error if pages were not fetched; then none is stored.
func (t *Marks) Add(ctx context.Context, urls []string, m samples.Mark) (kept []string, err error) {
	texts := make(map[string]string)
	err = t.Pages(ctx, urls, func(p export.Page) error {
		texts[p.URL] = dom.Text(p.Body, p.ContentType)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, u := range urls {
		if _, ok := texts[u]; !ok {
			return nil, refusal(fmt.Errorf("ClickHouse has no page %s that a crawl has fetched; nothing was marked", u))
		}
	}
	for _, u := range urls {
		m.URL, m.Text, m.At = u, texts[u], time.Now().UTC()
		if err := samples.Add(ctx, t.Store, t.Critic, m); err != nil {
			return kept, err
		}
		kept = append(kept, u)
	}
	return kept, nil
}
