package httpmodel

import (
	"context"
	"fmt"

	"forager/internal/page/text"
	"forager/internal/rank/guide"
	"forager/schemas"
)

// LinkClient calls the service of a predicate on links. It is safe for concurrent use.
type LinkClient struct {
	*LinkPredicate
	queue queue[*linksSent, *schemas.Guidance]
}

// Client returns a client of the service. It makes no request by itself.
func (p *LinkPredicate) Client(o Options) *LinkClient {
	s := p.settings
	write := func(pages []*linksSent) any { return &linksMessage{Version: 1, Pages: pages} }
	return &LinkClient{p, newQueue(p.name, s.Service, s.Batch, o, exchange(s.Service, o, write, readLinks))}
}

// Asks reports that guidance requires a request.
func (c *LinkClient) Asks() bool { return true }

// Guide implements guide.Guide. It waits for twice the timeout at most; the error is a *Failure, the end of ctx,
// or that of an inconsistent page.
func (c *LinkClient) Guide(ctx context.Context, v *guide.View) (*schemas.Guidance, error) {
	sent, err := c.page(v)
	if err != nil || len(sent.Links) == 0 {
		return new(schemas.Guidance), err
	}
	return c.queue.askSoon(ctx, sent)
}

// linksMessage is a request about links.
type linksMessage struct {
	Version int          `json:"version"`
	Pages   []*linksSent `json:"pages"`
}

// linksSent is a page with its links in a request.
type linksSent struct {
	*pageSent
	Judgement *judgementSent `json:"judgement,omitempty"`
	State     string         `json:"state,omitempty"`
	Links     []linkSent     `json:"links"`
}

// judgementSent is the judgement of the crawl's critic.
type judgementSent struct {
	Raw         float64     `json:"raw"`
	Tempered    float64     `json:"tempered"`
	Calibrated  float64     `json:"calibrated"`
	BestIsFocus bool        `json:"best_is_focus"`
	Topics      []topicSent `json:"topics,omitempty"`
}

type topicSent struct {
	Topic       string  `json:"topic"`
	Probability float64 `json:"probability"`
}

type linkSent struct {
	URL    string `json:"url,omitempty"`
	Anchor string `json:"anchor,omitempty"`
}

// page returns the part of a page and its links that is sent.
func (c *LinkClient) page(v *guide.View) (*linksSent, error) {
	sends := c.settings.sends
	page, err := c.settings.fieldsOf(v.Page)
	if err != nil {
		return nil, err
	}
	s := &linksSent{pageSent: page, State: string(v.State)}
	if j := v.Judgement; sends("judgement") && j != nil {
		s.Judgement = &judgementSent{Raw: j.GetRaw(), Tempered: j.GetTempered(), Calibrated: j.GetCalibrated(), BestIsFocus: j.GetBestIsFocus()}
		for _, t := range j.GetTopics() {
			s.Judgement.Topics = append(s.Judgement.Topics, topicSent{t.GetTopic(), t.GetTempered()})
		}
	}
	leaves, err := text.LeavesOf(v.Page)
	if err != nil {
		return nil, err
	}
	for _, l := range v.Page.GetLinks() {
		var sent linkSent
		if sends("url") {
			sent.URL = l.GetUrl()
		}
		if sends("anchor") {
			if sent.Anchor, err = anchorOf(v.Page, leaves, l, c.settings.TextBytes); err != nil {
				return nil, err
			}
		}
		s.Links = append(s.Links, sent)
	}
	return s, nil
}

// anchorOf returns the text of a link; "" where it has none.
func anchorOf(p *schemas.Page, leaves text.Leaves, l *schemas.Link, limit int) (string, error) {
	from, to := leaves.Tokens(int(l.GetFirstLeaf()), int(l.GetLastLeaf()))
	if from == to {
		return "", nil
	}
	return textOf(p, from, to, p.GetLeafLengths()[l.GetFirstLeaf():], limit)
}

// linksAnswer is the response about the links of a page; a score that is null is different from one that is 0.
type linksAnswer struct {
	Scores []*float64 `json:"scores"`
	States []string   `json:"states"`
	Error  string     `json:"error"`
}

// readLinks decodes a response: for each page its guidance, or the reason why there is none. The error is that of
// an invalid response.
func readLinks(body []byte, pages []*linksSent) (all []*schemas.Guidance, refused []string, err error) {
	answers, err := decodePages[linksAnswer](body, len(pages))
	if err != nil {
		return nil, nil, err
	}
	refused = make([]string, len(pages))
	for i, page := range answers {
		g := new(schemas.Guidance)
		switch {
		case page.Error != "" && page.Scores != nil:
			return nil, nil, fmt.Errorf("page %d has both scores and an error", i)
		case page.Error == "" && len(page.Scores) == 0:
			return nil, nil, fmt.Errorf("page %d has neither scores nor an error", i)
		}
		for k, score := range page.Scores {
			if score == nil {
				return nil, nil, fmt.Errorf("page %d: score %d is null", i, k)
			}
			g.Scores = append(g.Scores, *score)
		}
		for _, state := range page.States {
			g.States = append(g.States, []byte(state))
		}
		if err := guide.Check(g, len(pages[i].Links)); err != nil {
			return nil, nil, fmt.Errorf("page %d: %w", i, err)
		}
		refused[i], all = page.Error, append(all, g)
	}
	return all, refused, nil
}
