package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/frontier"
	"forager/internal/stream"
	"forager/internal/stream/crashtest"
	"forager/schemas"
)

// simPage is one URL of the simulated web and the outcome of fetching it.
type simPage struct {
	url, host string
	links     []string
	raw       float64
	outcome   schemas.Outcome // once bad tries and deferrals are over
	target    string          // of a redirect
	bad       uint32          // tries that time out first
	deferred  uint32          // deferrals before the first response
}

// simWeb is a small web: some hosts, pages that link at random, failures of every sort.
type simWeb struct {
	pages map[string]*simPage
	urls  []string
}

const outside = "http://outside.example/"

func newSimWeb(r *rand.Rand) *simWeb {
	w := &simWeb{pages: make(map[string]*simPage)}
	hosts := 1 + r.IntN(4)
	for i := range 6 + r.IntN(14) {
		host := fmt.Sprintf("h%d.example", r.IntN(hosts))
		w.urls = append(w.urls, fmt.Sprintf("http://%s/%d", host, i))
		w.pages[w.urls[i]] = &simPage{url: w.urls[i], host: host}
	}
	any := func() string {
		if r.IntN(15) == 0 {
			return outside + fmt.Sprint(r.IntN(3))
		}
		return w.urls[r.IntN(len(w.urls))]
	}
	for _, url := range w.urls {
		p := w.pages[url]
		for range r.IntN(6) {
			p.links = append(p.links, any())
		}
		p.raw = float64(r.IntN(17)) / 16
		p.outcome = schemas.Outcome_OUTCOME_DELIVERED
		switch r.IntN(12) {
		case 0:
			p.outcome = schemas.Outcome_OUTCOME_CLIENT_ERROR
		case 1:
			p.outcome = schemas.Outcome_OUTCOME_ROBOTS_DISALLOWED
		case 2, 3:
			p.outcome, p.target = schemas.Outcome_OUTCOME_REDIRECTED, any()
		case 4:
			p.bad = 1 + uint32(r.IntN(3))
		case 5:
			p.deferred = 1 + uint32(r.IntN(3))
		case 6:
			p.bad, p.deferred = uint32(r.IntN(2)), uint32(r.IntN(2))
		}
	}
	return w
}

// table is the leaf table of a page: one word a leaf, so that links differ in features.
func (p *simPage) table() *schemas.LeafTable {
	t := &schemas.LeafTable{Terms: []string{"alpha", "beta", p.host}}
	for i := range p.links {
		t.Leaves = append(t.Leaves, uint32(2*i), uint32(2*i+1))
		t.LeafLengths = append(t.LeafLengths, 1, 1)
		t.Tokens = append(t.Tokens, uint32(i%3), uint32((i*7+len(p.url))%3))
	}
	return t
}

// verdict is a verdict on a request, its own or a stray one.
func (w *simWeb) verdict(r *rand.Rand, req *schemas.FetchRequest, request []byte, now time.Time, stray bool) *schemas.LinkFound {
	rec := &schemas.LinkFound{
		Id: req.GetId(), Crawl: req.GetCrawl(), Shard: req.GetShard(), Request: request, Url: req.GetUrl(),
		FetchedAt: now.UnixMilli(),
	}
	p := w.pages[req.GetUrl()]
	switch n := req.GetAttempt() - 1; {
	case stray:
		rec.Outcome = []schemas.Outcome{
			schemas.Outcome_OUTCOME_TIMEOUT, schemas.Outcome_OUTCOME_SERVER_ERROR, schemas.Outcome_OUTCOME_DEFERRED,
			schemas.Outcome_OUTCOME_CANCELLED, schemas.Outcome_OUTCOME_FAILED_PARSE_DOM,
		}[r.IntN(5)]
	case p == nil: // a URL outside the web, of a crawl whose scope lets it through
		rec.Outcome = schemas.Outcome_OUTCOME_CONNECTION_FAILED
	case n < p.deferred:
		rec.Outcome = schemas.Outcome_OUTCOME_DEFERRED
		if r.IntN(2) == 0 {
			rec.NotBefore = now.Add(time.Duration(r.IntN(60)) * time.Second).UnixMilli()
		}
	case n < p.deferred+p.bad:
		rec.Outcome = schemas.Outcome_OUTCOME_TIMEOUT
	default:
		rec.Outcome, rec.Redirect, rec.Status = p.outcome, p.target, 200
	}
	if rec.Outcome == schemas.Outcome_OUTCOME_DELIVERED {
		rec.Judgement = &schemas.Judgement{Raw: p.raw, Tempered: p.raw / 2, BestIsFocus: p.raw >= .5}
		rec.Table = p.table()
		for i, url := range p.links {
			rec.Links = append(rec.Links, &schemas.Link{Url: url, FirstLeaf: uint32(2 * i), LastLeaf: uint32(2 * i), Position: uint32(i)})
		}
	}
	return rec
}

// downstream is fetch and the stages after it: each valid request gets its verdict, once
// or more than once, in any order, at some time.
type downstream struct {
	world *crashtest.World
	web   map[string]*simWeb // by crawl
	// read and fences are how far each partition of the log was read.
	read    []int64
	fences  []stream.Fence
	noFence bool
	pending []pendingVerdict
	answers map[string]int   // by request id
	places  map[string]int64 // records of page.*, by topic
	// away: the network is unreachable. down are hosts that cannot be connected to.
	away bool
	down map[string]bool
	// stopped are crawls whose requests are mostly cancelled.
	stopped map[string]bool
}

type pendingVerdict struct {
	request *schemas.FetchRequest
	bytes   []byte
	headers map[string]string
	stray   bool
}

func newDownstream(w *crashtest.World, web map[string]*simWeb) *downstream {
	n := w.Partitions(schemas.TopicFetchRequested)
	return &downstream{world: w, web: web, read: make([]int64, n), fences: make([]stream.Fence, n), answers: make(map[string]int), places: make(map[string]int64), down: make(map[string]bool), stopped: make(map[string]bool)}
}

// fetch reads some of one partition of the log.
func (d *downstream) fetch() error {
	k := d.world.Rand.IntN(len(d.read))
	records := d.world.Records(schemas.TopicFetchRequested, k)
	for n := d.world.Rand.IntN(6); n > 0 && d.read[k] < int64(len(records)); n-- {
		r := records[d.read[k]]
		d.read[k]++
		kind, err := d.fences[k].Read(&r)
		if err != nil {
			return err
		}
		if kind == stream.Claim || kind == stream.Marker || kind == stream.Void && !d.noFence {
			continue
		}
		req := new(schemas.FetchRequest)
		if err := proto.Unmarshal(r.Value, req); err != nil {
			return err
		}
		id := string(req.GetId())
		if d.answers[id] > 0 && d.world.Chance(.7) {
			continue // fetch mostly recognises repeated requests
		}
		d.answers[id]++
		d.pending = append(d.pending, pendingVerdict{req, r.Value, r.Headers, d.world.Chance(.03)})
		if d.world.Chance(.06) {
			d.pending = append(d.pending, pendingVerdict{req, r.Value, r.Headers, d.world.Chance(.5)})
		}
	}
	return nil
}

// unread reports whether the log has records that were not read yet.
func (d *downstream) unread() bool {
	for k := range d.read {
		if d.read[k] < int64(len(d.world.Records(schemas.TopicFetchRequested, k))) {
			return true
		}
	}
	return false
}

// through adds the trail of a verdict: the positions that its records of page.* would have.
func (d *downstream) through(h map[string]string) map[string]string {
	for _, topic := range pageTopics {
		d.places[topic]++
		p := d.places[topic] % 3
		h = schemas.WithTrail(h, schemas.Place{Topic: topic, Partition: uint32(p), Offset: d.places[topic] / 3})
	}
	return h
}

var pageTopics = []string{schemas.TopicPageFetched, schemas.TopicPageParsed, schemas.TopicPageJudged}

// answer sends one of the pending verdicts.
func (d *downstream) answer() error {
	if len(d.pending) == 0 {
		return nil
	}
	w := d.world
	i := w.Rand.IntN(len(d.pending))
	v := d.pending[i]
	d.pending = slices.Delete(d.pending, i, i+1)
	rec := d.unreached(v)
	if rec == nil {
		rec = d.web[v.request.GetCrawl()].verdict(w.Rand, v.request, v.bytes, w.Now, v.stray)
	}
	value, err := proto.Marshal(rec)
	if err != nil {
		return err
	}
	if w.Chance(.01) {
		value = []byte("this is no link.found")
	}
	out := stream.Out{
		Topic: schemas.TopicLinkFound, Partition: -1, Value: value, Headers: d.through(v.headers),
		Key: []byte(schemas.ShardKey(v.request.GetCrawl(), v.request.GetShard())),
	}
	w.Append(out)
	if w.Chance(.04) {
		w.Append(out)
	}
	return nil
}

// unreached is the verdict on a request for which no web server was asked or could be reached; nil if one can be.
func (d *downstream) unreached(v pendingVerdict) *schemas.LinkFound {
	w := d.world
	rec := &schemas.LinkFound{
		Id: v.request.GetId(), Crawl: v.request.GetCrawl(), Shard: v.request.GetShard(), Request: v.bytes, Url: v.request.GetUrl(),
		FetchedAt: w.Now.UnixMilli(), Detail: "connection refused",
	}
	switch {
	case d.stopped[v.request.GetCrawl()] && w.Chance(.7):
		rec.Outcome, rec.Detail = schemas.Outcome_OUTCOME_CANCELLED, "the crawl was stopped"
	case d.away:
		rec.Outcome = schemas.Outcome_OUTCOME_NETWORK_UNREACHABLE
		rec.NotBefore = w.Now.Add(time.Duration(1+w.Rand.IntN(60)) * time.Second).UnixMilli()
	case d.down[v.request.GetHost()]:
		rec.Outcome = schemas.Outcome_OUTCOME_HOST_UNREACHABLE
	default:
		return nil
	}
	return rec
}

// trainer replaces apprentice-train: at each boundary of a crawl, after
// the distinct leaps before it, a model is published.
type trainer struct {
	world *crashtest.World
	read  []int64
	seen  map[string]bool
	leaps map[string]uint64 // that train, by crawl
	queue []*schemas.ModelPublished
}

func (t *trainer) learn() error {
	if t.seen == nil {
		t.seen, t.leaps = make(map[string]bool), make(map[string]uint64)
		t.read = make([]int64, t.world.Partitions(schemas.TopicLeapSettled))
	}
	for k := range t.read {
		for _, r := range t.world.Records(schemas.TopicLeapSettled, k)[t.read[k]:] {
			t.read[k]++
			l := new(schemas.LeapSettled)
			if err := proto.Unmarshal(r.Value, l); err != nil {
				return err
			}
			if t.seen[string(l.GetId())] {
				continue
			}
			t.seen[string(l.GetId())] = true
			if l.GetTrains() {
				t.leaps[l.GetCrawl()]++
			}
			if l.GetBoundary() {
				t.queue = append(t.queue, &schemas.ModelPublished{
					Kind: "apprentice", Crawl: l.GetCrawl(), Version: fmt.Sprintf("%s/%d-%x", l.GetCrawl(), l.GetPages(), t.leaps[l.GetCrawl()]),
					Pages: l.GetPages(), Leaps: t.leaps[l.GetCrawl()], TrainedThrough: r.Offset,
				})
			}
		}
	}
	return nil
}

// publish sends the next model.
func (t *trainer) publish() error {
	if len(t.queue) == 0 {
		return nil
	}
	m := t.queue[0]
	t.queue = t.queue[1:]
	value, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	out := stream.Out{
		Topic: schemas.TopicModelPublished, Partition: 0, Key: []byte(schemas.ModelKey(m)), Value: value,
		Headers: map[string]string{schemas.HeaderVersion: "1", schemas.HeaderCrawl: m.GetCrawl()},
	}
	t.world.Append(out)
	return nil
}

// simModel scores by a hash of version and features.
type simModel string

func (m simModel) Score(features []*schemas.Feature) float64 {
	h := fnv.New64a()
	h.Write([]byte(m))
	for _, f := range features {
		h.Write([]byte(f.GetTerm()))
		h.Write(binary.LittleEndian.AppendUint32(nil, uint32(f.GetOffset())))
	}
	return float64(h.Sum64()%1024) / 1023
}

var errAway = errors.New("the store is away")

func readSimModel(b []byte) (frontier.Model, error) { return simModel(b), nil }
