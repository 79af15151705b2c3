package place

import (
	"fmt"

	"forager/internal/frontier/queue"
	"forager/internal/frontier/state"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/internal/rank/policy"
	"forager/internal/web/scope"
	"forager/schemas"
)

// Placer computes the places of entries under the policies.
type Placer struct {
	state  *state.Records
	pages  *state.Pages
	hosts  *queue.Hosts
	queues *queue.Queues

	Policies, Shadows []*policy.Policy
	// Learns: a policy ranks by the apprentice's model. AsksModel: a policy or a shadow does. Expands: a policy orders pages.
	Learns, AsksModel, Expands bool
	Using                      VersionedModel
	// DMax and families of the features by which links are scored; Foreign: a ranker is not the policy's own.
	DMax     int
	Families linkfeature.Families
	Foreign  bool
	// Groups are those of hosts; nil = all are in one.
	Groups *scope.Priority
	// Scored has an element for each policy: of one that learns, entries in tiers from it on need not be scored under the model in
	// use; nil = all are (Rescorer.ScoreHead).
	Scored []uint32

	// Made are features that were made in advance of the verdict that is being applied, Stale are scores made in advance of
	// links to entries that a pass has yet to score.
	Made  *MadeFeatures
	Stale Highs
	// touched are unvisited entries whose co-citation features have changed (cocitation.go).
	touched []uint64
	// Scratch.
	Before    []state.Placed
	scored    scored
	leafRange schemas.Link
}

// NewPlacer returns a placer; the caller sets the policies.
func NewPlacer(state *state.Records, pages *state.Pages, hosts *queue.Hosts, queues *queue.Queues) *Placer {
	return &Placer{state: state, pages: pages, hosts: hosts, queues: queues}
}

// source is a link as rankers see it, with Pr(high | u,v) if learns.
func (pr *Placer) source(p *state.Page, l *state.Link, learns bool) (src policy.Source, err error) {
	src = sourceOf(p, l)
	if !p.Seeds && (l.Scored || learns && pr.Using.Model != nil) {
		src.High, err = pr.knownHigh(p, l)
		src.HasHigh, l.Scored = true, false
	}
	return src, err
}

// sourceOf is a link on the page as rankers that do not learn see it.
func sourceOf(p *state.Page, l *state.Link) policy.Source {
	if p.Seeds {
		return policy.Source{Seed: true}
	}
	src := policy.Source{URL: p.URL, Raw: p.Raw, Tempered: p.Tempered, Calibrated: p.Calibrated, LogOdds: p.LogOdds, TopicLogOdds: p.TopicLogOdds, BestIsFocus: p.BestIsFocus, Expanded: p.Expanded}
	if len(p.Guidance) > 0 {
		src.Guided = guidedBy(p, l)
	}
	if l.Anchor > 0 {
		src.Anchor, src.HasAnchor = float64(l.Anchor-1)/schemas.AnchorSteps, true
	}
	return src
}

// knownHigh is high for a link that may have been scored in advance.
func (pr *Placer) knownHigh(p *state.Page, l *state.Link) (float64, error) {
	if l.Scored {
		return l.High, nil
	}
	if high, ok := pr.staleHigh(l); ok {
		return high, nil
	}
	return pr.High(p, l)
}

// modelOf is the name number of the model that policy p ranks by now.
func (pr *Placer) modelOf(p int) uint32 {
	if pr.Policies[p].Learns() {
		return pr.Using.Number
	}
	return 0
}

// Place computes the places of an unvisited entry from all its links, under the newest generation and the
// model in use. An entry that no link lets in is pinned at the place by which it was requested
// or pinned before. It changes no queue.
func (pr *Placer) Place(e *state.Entry) error {
	links, err := pr.state.Links(e)
	if err != nil {
		return err
	}
	tier, score, pinned := e.Facts.Tier, e.Facts.Score, e.Attempt > 0
	if !pinned && len(e.Places) > 0 && e.Places[0].Linkless() {
		tier, score, pinned = e.Places[0].Tier, e.Places[0].Score, true
	}
	e.Places = pr.NoPlaces(e.Places)
	for i := range links {
		p := links[i].Source
		if links[i].Source = nil; p == nil || pr.Expands {
			if p, err = pr.pages.PageOf(&links[i]); err != nil {
				return err
			}
		}
		if err := pr.AddPlace(e, p, &links[i]); err != nil {
			return err
		}
	}
	if pinned && !pr.queues.Within(e.Places) {
		pr.Pin(e, tier, score)
	}
	return nil
}

// Score is place for an entry of a pass. If nothing but the model has changed since the entry was placed, the places under policies
// that do not learn stay, and under the others only the links of the entry's tier count, as gates do not depend on the model.
func (pr *Placer) Score(e *state.Entry) error {
	if !pr.OnlyScores(e) {
		return pr.Place(e)
	}
	links, err := pr.state.Links(e)
	if err != nil {
		return err
	}
	group := pr.Groups.Group(e.URL)
	var src policy.Source // one for all links, as it escapes
	for p, pl := range pr.Policies {
		at := &e.Places[p]
		if !pl.Learns() {
			continue
		}
		was := at.Place
		at.Generation, at.Model = pr.state.Generations[p].Next, pr.Using.Number
		if was.Pinned {
			continue
		}
		at.Place = policy.Place{}
		for i := range links {
			l := &links[i]
			if l.Source == nil {
				if l.Source, err = pr.pages.PageOf(l); err != nil {
					return err
				}
			}
			src = sourceOf(l.Source, l)
			src.Raised, src.Group = e.Raised, group
			if !pl.Counts(&src, was.Tier) {
				continue
			}
			if !src.Seed && pr.Using.Model != nil {
				if l.High, err = pr.knownHigh(l.Source, l); err != nil {
					return err
				}
				src.High, src.HasHigh, l.Scored = l.High, true, true // for other policies, too
			}
			if at.Place, err = pl.Add(at.Place, e.URL, &src, l.Source.Number); err != nil {
				return err
			}
		}
	}
	for i := range links {
		links[i].Source, links[i].Scored = nil, false
	}
	return nil
}

// Renew scores a queued entry that a pass has yet to score, before a further link is folded into its places: Place would ask every
// policy for all its links. It does nothing if Place is needed.
func (pr *Placer) Renew(e *state.Entry) error {
	if pr.Scored != nil || pr.Expands || pr.Fresh(e) || !pr.OnlyScores(e) {
		return nil
	}
	return pr.Score(e)
}

// OnlyScores reports whether placing a queued entry again changes nothing but its scores under policies that learn.
func (pr *Placer) OnlyScores(e *state.Entry) bool {
	if pr.state.Counters.Unranked > 0 || len(e.Places) != len(pr.Policies) {
		return false
	}
	for p, policy := range pr.Policies {
		at := &e.Places[p]
		if at.Linkless() || policy.Learns() && !at.In || !policy.Learns() && at.Generation != pr.state.Generations[p].Next {
			return false
		}
	}
	return true
}

// WantsScore reports whether an entry's place depends on the score of a link under the model; OnlyScores holds for the entry.
func (pr *Placer) WantsScore(e *state.Entry, p *state.Page, l *state.Link) bool {
	if p.Seeds {
		return false
	}
	src := sourceOf(p, l)
	src.Group = pr.Groups.Group(e.URL)
	for i, policy := range pr.Policies {
		if at := &e.Places[i]; policy.Learns() && !at.Pinned && policy.Counts(&src, at.Tier) {
			return true
		}
	}
	return false
}

// Pin places an entry at the place by which its request was chosen, under each policy under which no link places it. The entry
// came in by the verdict on a recovered request, is replayed, or is the target of a redirect of such a one: the links
// that let it in are settled or unknown, so a gate that refuses later links must not exclude the entry.
func (pr *Placer) Pin(e *state.Entry, tier uint32, score float64) {
	for p := range e.Places {
		if !e.Places[p].In {
			e.Places[p].Place = policy.Place{In: true, Pinned: true, Tier: tier, Score: score, Best: score}
		}
	}
}

// NoPlaces returns the places of an entry without links.
func (pr *Placer) NoPlaces(reuse []state.Placed) []state.Placed {
	places := reuse[:0]
	for p := range pr.Policies {
		places = append(places, state.Placed{Generation: pr.state.Generations[p].Next, Model: pr.modelOf(p)})
	}
	return places
}

// AddPlace folds one more link into the entry's places.
func (pr *Placer) AddPlace(e *state.Entry, p *state.Page, l *state.Link) error {
	src := sourceOf(p, l)
	src.Raised, src.Group = e.Raised, pr.Groups.Group(e.URL)
	for i, pl := range pr.Policies {
		at := &e.Places[i]
		if pl.Learns() && !src.Seed {
			if tier, in := pl.Tier(&src); !in || at.Pinned || at.In && tier > at.Tier {
				continue
			} else if !pr.scores(i, tier) {
				if !at.In || tier < at.Tier {
					at.Place = policy.Place{In: true, Tier: tier}
				}
				at.Model = state.Unscored
				continue
			}
			if at.Model = pr.Using.Number; !src.HasHigh && pr.Using.Model != nil {
				high, err := pr.knownHigh(p, l)
				if err != nil {
					return err
				}
				src.High, src.HasHigh = high, true
			}
		}
		var err error
		if at.Place, err = pl.Add(at.Place, e.URL, &src, p.Number); err != nil {
			return err
		}
		if at.Model == state.Unscored && pr.scores(i, at.Tier) { // a seed took it out of a tier that waits
			at.Model = pr.Using.Number
		}
	}
	l.Scored = false
	return nil
}

// scores reports whether entries in a tier of policy p are scored as they are placed.
func (pr *Placer) scores(p int, tier uint32) bool { return pr.Scored == nil || tier < pr.Scored[p] }

// Fresh reports whether the entry's places were made under the newest generation and, in tiers that are scored, the model in
// use, so that a further link can be folded into them.
func (pr *Placer) Fresh(e *state.Entry) bool {
	for p := range pr.Policies {
		at := &e.Places[p]
		if at.Generation != pr.state.Generations[p].Next || at.Model != pr.modelOf(p) && pr.scores(p, at.Tier) || at.Linkless() {
			return false
		}
	}
	return true
}

// Placeable reports whether an entry can be placed without a read, without the shard's scratch memory, and without a ranker
// from outside, which may have state.
func (pr *Placer) Placeable(e *state.Entry) bool {
	if !e.Loaded || pr.Foreign || pr.Expands {
		return false
	}
	_, scores := pr.Using.Model.(*apprentice.Model)
	for i := range e.Links {
		l := &e.Links[i]
		if l.Source == nil || !l.Source.Seeds && pr.Learns && pr.Using.Model != nil && !(scores && l.Scored) {
			return false
		}
	}
	return true
}

// ScoredAheadBy is the model by which links are scored in advance; nil if a score depends on more than the page.
func (pr *Placer) ScoredAheadBy() *apprentice.Model {
	if pr.Families.Cocitation() {
		return nil
	}
	m, _ := pr.Using.Model.(*apprentice.Model)
	return m
}

// Replace places a queued entry again and moves it in the queues.
func (pr *Placer) Replace(e *state.Entry) error { return pr.ReplaceBy(e, pr.Place) }

// ReplaceBy is replace by place or score.
func (pr *Placer) ReplaceBy(e *state.Entry, place func(*state.Entry) error) error {
	pr.Before = append(pr.Before[:0], e.Places...)
	if err := place(e); err != nil {
		return err
	}
	if err := pr.queues.Requeue(e, pr.Before); err != nil {
		return err
	}
	if _, held := pr.state.Entries.Peek(e.Ordinal); held {
		return pr.state.SaveEntry(e)
	}
	return pr.state.StoreEntry(e)
}

// Reconsider places the unvisited ones of some URLs again, whose scores under a ranker have changed.
func (pr *Placer) Reconsider(urls []string) error {
	for _, url := range urls {
		e, err := pr.state.Seen(url)
		if err != nil {
			return err
		}
		if e != nil && e.State == state.Queued {
			if err := pr.Replace(e); err != nil {
				return fmt.Errorf("reconsider %s: %w", url, err)
			}
			if err := pr.hosts.EvictHosts(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Highs are scores of links under a model, at DMax.
type Highs struct {
	Model Model
	DMax  int
	Of    map[LinkName]float64
}

// LinkName names a link by its page and its index there.
type LinkName struct {
	Page  uint64
	Index uint32
}

// staleHigh is the score of a link of an entry that a pass has yet to score, if it was computed in advance.
func (pr *Placer) staleHigh(l *state.Link) (high float64, ok bool) {
	if pr.Stale.Of == nil || pr.Stale.Model != pr.Using.Model || pr.Stale.DMax != pr.DMax {
		return 0, false
	}
	high, ok = pr.Stale.Of[LinkName{l.Page, l.Index}]
	return high, ok
}
