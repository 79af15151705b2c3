package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"forager/internal/frontier/queue"
	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/internal/rank/linkfeature"
	"forager/internal/web/scope"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// Question is about a URL of a crawl.
type Question struct {
	// Control is the crawl's control record in force, Scope that of it.
	Control *schemas.CrawlControl
	Scope   *scope.Scope
	// Shard that has the URL's host.
	Shard uint32
	// URL is canonical. Depth is that at which a page would find it, used if the URL is unknown.
	URL   string
	Depth uint32
	Now   time.Time
}

// Path is where prioritize answers questions, next to its metrics.
const Path = "/why"

// mostLinks bounds the links of an answer, mostWords the words of a link, mostRedirects the redirects that are followed.
const mostLinks, mostWords, mostRedirects = 20, 12, 32

// question is a Question with what it is answered from.
type question struct {
	Question
	now    int64
	state  *state.Records
	hosts  *queue.Hosts
	answer *Answer
	// excludes and groups are the rules of the control record.
	excludes *scope.Excludes
	groups   *scope.Priority
	// flights are the requests in flight by host, left is what the budget allows beyond all of them; known once flights is not nil.
	flights map[uint32]uint32
	left    uint64
}

// Ask answers a question from the state of its shard in a store; without state every URL is unknown. The error is one of the
// store, or that the state is of another version or has another form.
func Ask(store storage.Store, of Question) (*Answer, error) {
	q, err := open(store, of)
	if err == nil {
		err = q.ask()
	}
	if err != nil {
		return nil, fmt.Errorf("explain %s of crawl %s: %w", of.URL, of.Control.GetCrawl(), err)
	}
	return q.answer, nil
}

// open reads what questions about any URL of the shard need.
func open(store storage.Store, of Question) (*question, error) {
	q := &question{Question: of, now: of.Now.UnixMilli(), state: state.NewRecords(store, state.ShardName{Crawl: of.Control.GetCrawl(), Shard: of.Shard})}
	q.hosts = queue.NewHosts(q.state)
	q.hosts.Limits = queue.Limits{
		Window: schemas.HostWindow(of.Control), Cap: uint64(of.Control.GetScope().GetHostCap()), Patience: schemas.HostPatience(of.Control).Milliseconds(),
	}
	var err error
	if q.excludes, err = scope.NewExcludes(of.Control.GetExcludes()); err != nil {
		return nil, err
	}
	if q.groups, err = scope.NewPriority(of.Control.GetPriority()); err != nil {
		return nil, err
	}
	if err := load(q.state); err != nil {
		return nil, err
	}
	if err := q.state.LoadNames(); err != nil {
		return nil, err
	}
	return q, q.state.LoadTerms()
}

func (q *question) ask() error {
	e, err := q.decide()
	if err != nil || e == nil || e.State == state.Moved {
		return err
	}
	return q.entry(e)
}

// decide begins the answer: what is decided about a URL that is not visited. It returns the URL's entry, nil if it is unknown.
func (q *question) decide() (*state.Entry, error) {
	a := &Answer{Crawl: q.Control.GetCrawl(), URL: q.URL, Shard: q.Shard, State: Unknown, Depth: q.Depth}
	q.answer = a
	e, err := q.resolve()
	if err != nil {
		return nil, err
	}
	if e != nil {
		if a.State = states[e.State]; a.State == Elsewhere {
			return e, nil
		}
		a.Depth = e.Depth
	}
	url := q.URL
	if n := len(a.Redirects); n > 0 {
		url = a.Redirects[n-1]
	}
	a.Decisions = rules(q.Scope, q.excludes, url, a.Depth)
	if err := q.host(url); err != nil {
		return nil, err
	}
	if a.Host != nil && a.State != Final && a.State != InFlight { // of a visited one they are past
		a.Decisions = append(a.Decisions, q.ofHost(a.Host)...)
	}
	if a.State == Queued {
		a.Decisions = append(a.Decisions, q.ofPlaces(e)...)
	}
	return e, nil
}

// states are those of entries; what an alias leads to is Unknown after mostRedirects.
var states = map[state.EntryState]State{
	state.Queued: Queued, state.Waiting: Waiting, state.InFlight: InFlight, state.Excluded: Excluded, state.Final: Final,
	state.Moved: Elsewhere, state.Alias: Unknown,
}

// load reads the counters of a state whose layout is that of this program.
func load(s *state.Records) error {
	if _, err := s.CheckLayout(); err != nil {
		return err
	}
	return s.LoadCounters()
}

// resolve finds the URL's entry and follows redirects; nil if it is unknown.
func (q *question) resolve() (*state.Entry, error) {
	e, err := q.state.SeenID(schemas.URLID(q.URL))
	for range mostRedirects {
		if err != nil || e == nil {
			return nil, err
		}
		switch e.State {
		case state.Alias:
			e, err = q.state.Entry(e.Target)
			if err == nil {
				q.answer.Redirects = append(q.answer.Redirects, e.URL)
			}
			continue
		case state.Moved:
			q.answer.Redirects = append(q.answer.Redirects, e.Moved)
		}
		break
	}
	return e, err
}

// host reads the host of a URL, if it is known.
func (q *question) host(url string) error {
	name := weburl.Host(url)
	b, ok, err := q.state.Store.Get(q.state.Keys.ID(state.KindHostName, schemas.URLID(name)))
	if err != nil || !ok {
		return err
	}
	r := storage.Reader{Rest: b}
	number := r.U32()
	if err := r.End(); err != nil {
		return fmt.Errorf("number of host %q: %w", name, err)
	}
	h, err := q.hosts.ReadHost(number)
	if err != nil {
		return err
	}
	q.answer.Host = &Server{
		Name: name, Requests: h.Dispatched, Cap: uint64(q.Control.GetScope().GetHostCap()), NotBefore: h.NotBefore, FailingSince: h.FailingSince, rest: h.Rest,
		GivenUp: h.FailingSince > 0 && h.FailedAt-h.FailingSince >= schemas.HostPatience(q.Control).Milliseconds(),
	}
	return nil
}

// entry describes a URL that is known.
func (q *question) entry(e *state.Entry) error {
	a := q.answer
	a.Attempts, a.Tries = e.Attempt, e.Tries
	if e.Attempt > 0 {
		a.Dispatch = &Dispatch{Tier: e.Facts.Tier, Score: e.Facts.Score, Ordinal: e.Facts.Ordinal}
		for _, x := range []struct {
			number uint32
			name   *string
		}{{e.Facts.Policy, &a.Dispatch.Policy}, {e.Facts.Model, &a.Dispatch.Model}} {
			name, err := q.state.NameOf(x.number)
			if err != nil {
				return err
			}
			*x.name = name
		}
	}
	switch e.State {
	case state.Queued:
		if err := q.places(e); err != nil {
			return err
		}
	case state.Waiting:
		a.NextTry = e.NotBefore
		a.Decisions = append(a.Decisions, Decision{"tries", false, fmt.Sprintf("try %d failed; the next one is at %s", e.Tries, clock(e.NotBefore)), "time alone"})
	case state.Final:
		a.Outcome = schemas.OutcomeName(e.Outcome)
		if e.Outcome == schemas.Outcome_OUTCOME_DELIVERED {
			a.Relevance = &e.Raw
		}
		a.Decisions = append(a.Decisions, ofOutcome(e))
	}
	if e.State == state.Queued || e.State == state.Waiting {
		c, err := q.cause(e)
		if err != nil {
			return err
		}
		a.Cause = schemas.WaitName(c)
	}
	if err := q.links(e); err != nil {
		return err
	}
	return q.values(e)
}

// links describes the first pages that link to the entry.
func (q *question) links(e *state.Entry) error {
	links, best := slices.Clone(e.Links), uint64(0)
	if len(e.Places) > 0 && e.Places[0].In {
		best = e.Places[0].Via
	}
	if e.More {
		from := slices.Clone(q.state.Keys.U64(state.KindLink, e.Ordinal))
		err := q.state.Store.Scan(from, state.After(from), func(key, value []byte) (bool, error) {
			_, l, err := q.state.ReadLink(key, value)
			links = append(links, l)
			return len(links) <= mostLinks, err
		})
		if err != nil {
			return err
		}
	}
	for i := range links {
		if len(q.answer.Links) == mostLinks {
			q.answer.MoreLinks = true
			break
		}
		l, err := q.link(&links[i])
		if err != nil {
			return err
		}
		l.Best = best > 0 && links[i].Page == best
		q.answer.Links = append(q.answer.Links, l)
	}
	return nil
}

func (q *question) link(l *state.Link) (x Link, err error) {
	p, ok, err := state.ReadPage(q.state.Store.Get, &q.state.Keys, l.Page)
	if err != nil {
		return x, err
	}
	if !ok {
		return x, state.MissingPage(l)
	}
	if l.Alias > 0 {
		named, err := q.state.Entry(l.Alias)
		if err != nil {
			return x, err
		}
		x.Named = named.URL
	}
	if x.From, x.Relevance = p.URL, p.Raw; p.Seeds || l.Backlink() {
		return x, nil
	}
	t, err := q.state.ReadTable(q.state.Store.Get, &q.state.Keys, p)
	if err != nil {
		return x, err
	}
	x.Words = Words(t, &schemas.Link{FirstLeaf: l.First, LastLeaf: l.Last})
	return x, nil
}

// Words returns the first words of a link's text by the leaf table of its page.
func Words(t *linkfeature.Table, l *schemas.Link) string {
	var words []string
	for term := range t.Tokens(l, 0) {
		if words = append(words, t.Term(term)); len(words) == mostWords {
			break
		}
	}
	return strings.Join(words, " ")
}
