package frontier

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"forager/internal/frontier/place"
	"forager/internal/frontier/schedule"
	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// ledger settles leaps.
type ledger struct {
	cfg    *settings
	state  *state.Records
	pages  *state.Pages
	places *place.Placer
	peers  *peers
	// noApprentice: none ranked when the request was dispatched whose verdict was applied last. An apprentice ranks, or
	// none does, since so many pages were delivered.
	noApprentice bool
	since        uint64
}

// load reads since when an apprentice ranks, or none does.
func (ld *ledger) load() error {
	b, ok, err := ld.state.Store.Get(ld.state.Keys.Kind(state.KindTeaching))
	if err != nil || !ok {
		return err
	}
	r := storage.Reader{Rest: b}
	ld.noApprentice, ld.since = r.Bool(), r.U64()
	if err := r.End(); err != nil {
		return fmt.Errorf("frontier: since when an apprentice ranks: %w", err)
	}
	return nil
}

// noteApprentice notes whether an apprentice ranked, by the schedule of models in a request or report. A verdict of a stage that could not
// read the request has none.
func (ld *ledger) noteApprentice(by *schemas.ModelSchedule) error {
	none := by.GetFirst() == 0
	if by == nil || none == ld.noApprentice {
		return nil
	}
	ld.noApprentice, ld.since = none, ld.delivered()
	ld.state.Buffer = binary.AppendUvarint(storage.AppendBool(ld.state.Buffer[:0], none), ld.since)
	return ld.state.Store.Set(ld.state.Keys.Kind(state.KindTeaching), ld.state.Buffer)
}

// delivered returns the pages of the crawl; in other shards than 0, of the shard.
func (ld *ledger) delivered() uint64 {
	pages := ld.state.Counters.Pages
	for _, n := range ld.peers.delivered {
		pages += n
	}
	return pages
}

// settle settles every pending leap into a final entry, in the order of discovery, and stores
// the entry.
func (ld *ledger) settle(v *state.Entry) ([]*schemas.LeapSettled, error) {
	links, err := ld.state.DropLinks(v)
	if err != nil {
		return nil, err
	}
	var settled []*schemas.LeapSettled
	for i := range links {
		p, err := ld.pages.PageOf(&links[i])
		if err != nil {
			return nil, err
		}
		if !p.Seeds {
			leap, err := ld.leap(p, &links[i], v)
			if err != nil {
				return nil, err
			}
			settled = append(settled, leap)
			if err := ld.places.TouchSiblings(p, &links[i], v); err != nil {
				return nil, err
			}
		}
		if err := ld.pages.SettlePending(p); err != nil {
			return nil, err
		}
	}
	return settled, ld.state.SaveEntry(v)
}

// settleLate settles a leap whose target was final before its link was found. Under
// PAIRS_FORWARD there is no such leap.
func (ld *ledger) settleLate(p *state.Page, l *state.Link, v *state.Entry) (*schemas.LeapSettled, error) {
	if ld.cfg.limits.forward {
		return nil, nil
	}
	return ld.settleNow(p, l, v)
}

// settleNow settles a leap into a final entry, which did not have it pending.
func (ld *ledger) settleNow(p *state.Page, l *state.Link, v *state.Entry) (*schemas.LeapSettled, error) {
	if p.Seeds {
		return nil, nil
	}
	ld.state.Counters.Links++
	trained := v.Trained
	leap, err := ld.leap(p, l, v)
	if err != nil || v.Trained == trained {
		return leap, err
	}
	return leap, ld.state.SaveEntry(v)
}

// leap makes the record of a settled leap (u,v) and counts it. Score, policy and model are
// those of the dispatch that brought the outcome; a link that was redirected keeps its name.
func (ld *ledger) leap(u *state.Page, l *state.Link, v *state.Entry) (*schemas.LeapSettled, error) {
	found := v
	if l.Alias != 0 {
		var err error
		if found, err = ld.state.Entry(l.Alias); err != nil {
			return nil, err
		}
	}
	return ld.leapNamed(u, l, v, found.URL)
}

// leapNamed is leap for a link that names a URL.
func (ld *ledger) leapNamed(u *state.Page, l *state.Link, v *state.Entry, named string) (*schemas.LeapSettled, error) {
	policy, err := ld.state.NameOf(v.Facts.Policy)
	if err != nil {
		return nil, err
	}
	version, err := ld.state.NameOf(v.Facts.Model)
	if err != nil {
		return nil, err
	}
	id := schemas.LeapID(ld.state.Name.Crawl, u.URL, named)
	request := schemas.RequestID(ld.state.Name.Crawl, v.URL, v.Attempt)
	leap := &schemas.LeapSettled{
		Id: id.Bytes(), Crawl: ld.state.Name.Crawl, Shard: ld.state.Name.Shard, U: u.URL, V: named,
		Outcome: v.Outcome, TargetRaw: v.Raw, TargetTempered: v.Tempered,
		SourceRaw: u.Raw, SourceTempered: u.Tempered,
		Score: v.Facts.Score, Policy: policy, Model: version,
		Request: request.Bytes(), Pages: ld.state.Counters.Pages,
		Forward: u.Number <= v.Facts.Clock,
	}
	// A link that redirects back to its own page is settled and does not train; nor do backlinks, which are not on the page.
	leap.Trains = !l.Backlink() && schemas.Outcomes[v.Outcome].Trains && (leap.Forward || !ld.cfg.limits.forward) &&
		v.Trained < ld.cfg.limits.pairs && u.URL != v.URL && math.Abs(u.Raw-v.Raw) >= ld.cfg.limits.active
	if leap.Trains {
		v.Trained++
		ld.state.Counters.Trained++
	}
	ld.state.Counters.Leaps++
	ld.state.Counters.Spans[state.SpanSettled].Add(id)
	switch of := ld.cfg.options.Features; {
	case of == FeaturesWhereLearned && ld.noApprentice:
		leap.NoApprentice = true
	case of != FeaturesOfSamples || leap.Trains:
		leap.Features, err = ld.teaching(u, l, v)
	}
	return leap, err
}

// teaching are the features of a leap, as they were when v was requested.
func (ld *ledger) teaching(u *state.Page, l *state.Link, v *state.Entry) ([]*schemas.Feature, error) {
	features, err := ld.places.Features(u, l)
	if err != nil {
		return nil, err
	}
	cited, err := ld.places.Cocited(u, l, v.Facts.Clock)
	return linkfeature.Merge(features, cited), err
}

// boundaries returns the record that makes a new model due, if the pages that the crawl has delivered have reached a boundary of a
// schedule; if several, the last one counts. Where the first apprentice begins to rank in the midst of a crawl it has had no leap before
// (LeapSettled.no_apprentice), and its first model is due as many pages later as in a new crawl. With several shards boundaries come
// from shard 0, which counts the pages that the others have reported.
func (ld *ledger) boundaries(by *schemas.ModelSchedule) []*schemas.LeapSettled {
	if by == nil {
		by = ld.cfg.models
	}
	pages := ld.delivered()
	if by.GetFirst() == 0 || ld.state.Name.Shard != 0 || ld.state.Counters.Boundary == 0 && pages < ld.since+by.GetFirst() {
		return nil
	}
	due := schedule.Last(pages, by.GetFirst(), by.GetEvery())
	if due <= ld.state.Counters.Boundary {
		return nil
	}
	ld.state.Counters.Boundary = due
	id := schemas.LeapID(ld.state.Name.Crawl, "boundary", strconv.FormatUint(due, 10))
	ld.state.Counters.Spans[state.SpanSettled].Add(id)
	return []*schemas.LeapSettled{{
		Id: id.Bytes(), Crawl: ld.state.Name.Crawl, Shard: ld.state.Name.Shard, Pages: due, Boundary: true,
	}}
}

// modelSchedule is when models are due by a control record.
func modelSchedule(asks bool, l *limits) *schemas.ModelSchedule {
	if !asks {
		return new(schemas.ModelSchedule)
	}
	return &schemas.ModelSchedule{First: l.switchPages, Every: l.refitPages}
}
