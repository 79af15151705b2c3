package httpmodel

import (
	"context"
	"fmt"

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
	ends := leafEnds(v.Page)
	for _, l := range v.Page.GetLinks() {
		var sent linkSent
		if sends("url") {
			sent.URL = l.GetUrl()
		}
		if sends("anchor") {
			if sent.Anchor, err = anchorOf(v.Page, ends, l, c.settings.TextBytes); err != nil {
				return nil, err
			}
		}
		s.Links = append(s.Links, sent)
	}
	return s, nil
}

// leafEnds returns the end of the tokens of each leaf.
func leafEnds(p *schemas.Page) []int {
	ends, end := make([]int, len(p.GetLeafLengths())), 0
	for i, n := range p.GetLeafLengths() {
		end += int(n)
		ends[i] = min(end, len(p.GetTokens()))
	}
	return ends
}

// anchorOf returns the text of a link; "" where it has none.
func anchorOf(p *schemas.Page, ends []int, l *schemas.Link, limit int) (string, error) {
	first, last := int(l.GetFirstLeaf()), min(int(l.GetLastLeaf()), len(ends)-1)
	if first > last {
		return "", nil
	}
	begin := 0
	if first > 0 {
		begin = ends[first-1]
	}
	return textOf(&schemas.Page{
		Url: p.GetUrl(), Terms: p.GetTerms(), Tokens: p.GetTokens()[begin:ends[last]], LeafLengths: p.GetLeafLengths()[first : last+1],
	}, limit)
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
