package main

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/stream"
	"forager/schemas"
)

// recorded are the records of crawls of a web that hashes describe: pages link to pages of the same topic more often than to others. The
// same crawls make the same records. Relevance and scores are multiples of 1/1024, so that sums do not depend on their order.
type recorded struct {
	records []stream.Record
	random  *rand.Rand
	// next are the next offsets of partitions; now is Unix milliseconds.
	next map[string]int64
	now  int64
	// epoch is that of the owners of the partitions.
	epoch uint64
}

func (l *recorded) put(topic string, partition int, m proto.Message, headers map[string]string) {
	key := fmt.Sprint(topic, partition)
	r := message(topic, partition, l.next[key], m, headers)
	r.Time = time.UnixMilli(l.now).UTC()
	l.next[key] += 1 + int64(l.random.IntN(3))
	l.records = append(l.records, r)
}

// again puts a record, sometimes with another of the same id after it, which must not count.
func (l *recorded) again(topic string, partition int, m, other proto.Message) {
	l.put(topic, partition, m, nil)
	if l.random.IntN(9) == 0 {
		l.put(topic, partition, other, nil)
	}
}

func hashed(s string, n int) int {
	h := fnv.New64a()
	h.Write([]byte(s))
	return int(rand.New(rand.NewPCG(h.Sum64(), 1)).IntN(n))
}

var subjects = []string{"Science/Chemistry", "Science/Physics", "Arts/Music", "Recreation/Food"}

func subjectOf(url string) string { return subjects[hashed(url, 100)/28%4] }

// relevanceOf is R of a page: high for chemistry, of some for physics.
func relevanceOf(url string) float64 {
	r := float64(hashed("r"+url, 200)) / 1024
	switch subjectOf(url) {
	case "Science/Chemistry":
		r += 600. / 1024
	case "Science/Physics":
		r += float64(hashed("p"+url, 500)) / 1024
	}
	return r
}

func linksOf(url string) (all []string) {
	for i := range 3 + hashed("n"+url, 5) {
		v := ""
		for try := range 4 {
			v = fmt.Sprintf("http://h%d.example/%d", hashed(fmt.Sprint(url, i, try), 12), hashed(fmt.Sprint("v", url, i, try), 60))
			if subjectOf(v) == subjectOf(url) {
				break
			}
		}
		all = append(all, v)
	}
	return all
}

func hostOf(url string) string { return strings.Split(url, "/")[2] }

// known is a URL of a crawl's frontier, with the links to it.
type known struct {
	url, via      string
	depth, hops   uint32
	attempt       uint32
	from          []*schemas.LinkFound
	policy, model string
	score         float64
	tier          uint32
}

// crawl adds a crawl of so many requests.
func (l *recorded) crawl(name string, shards, requests int, seeds ...string) {
	c := &recordedCrawl{recorded: l, name: name, shards: shards, seen: map[string]*known{}, counts: make([]schemas.CrawlStatus, shards), marking: 1}
	l.put(schemas.TopicCrawlControl, 0, &schemas.CrawlControl{Crawl: name, Revision: 1, Critic: "topics/1", Focus: subjects[:1], CreatedAt: l.now}, nil)
	list := schemas.SeedPage(name, seeds)
	l.put(schemas.TopicLinkFound, 0, list, nil)
	for _, s := range seeds {
		c.found(list, s, 0)
	}
	for i := range requests {
		switch i {
		case requests / 3:
			c.models(i)
		case requests / 2:
			c.restart()
			c.marking = 2
			l.put(schemas.TopicCrawlControl, 0, &schemas.CrawlControl{Crawl: name, Revision: 2, Critic: "topics/2", Focus: subjects[:1], CreatedAt: l.now}, nil)
		}
		if len(c.queue) == 0 {
			break
		}
		c.step(i, i >= requests-4)
		if i%20 == 19 {
			c.status(i / 20)
		}
	}
	c.rank(100)
	c.rank(150)
}

// recordedCrawl is a crawl under way.
type recordedCrawl struct {
	*recorded
	name    string
	shards  int
	seen    map[string]*known
	queue   []*known
	counts  []schemas.CrawlStatus
	ordinal uint64
	model   string
	marking uint64
	pages   []string
}

func (c *recordedCrawl) shardOf(url string) int { return hashed("shard"+hostOf(url), c.shards) }

// found adds a link to the frontier.
func (c *recordedCrawl) found(by *schemas.LinkFound, url string, depth uint32) {
	k := c.seen[url]
	if k == nil {
		k = &known{url: url, via: by.GetUrl(), depth: depth, attempt: 1}
		c.seen[url] = k
		c.queue = append(c.queue, k)
	}
	k.from = append(k.from, by)
}

// step requests one URL; of the last ones of a crawl there is no verdict.
func (c *recordedCrawl) step(i int, last bool) {
	at := c.random.IntN(min(len(c.queue), 12))
	k := c.queue[at]
	c.queue = append(c.queue[:at], c.queue[at+1:]...)
	k.policy = []string{"link-value", "soft-focus"}[c.random.IntN(2)]
	k.model = ""
	if k.policy == "link-value" {
		k.model = c.model
	}
	k.score = min(1, max(0, relevanceOf(k.url)+float64(c.random.IntN(400)-200)/1024))
	k.tier = uint32(hashed("tier"+k.url, 3))
	shard := c.shardOf(k.url)
	c.ordinal++
	c.now += int64(200 + c.random.IntN(900))
	request := &schemas.FetchRequest{
		Id: schemas.RequestID(c.name, k.url, k.attempt).Bytes(), Crawl: c.name, Shard: uint32(shard), Url: k.url, Host: hostOf(k.url), Attempt: k.attempt,
		Epoch: c.epoch, Owner: uint32(shard), Score: k.score, Tier: k.tier, Policy: k.policy, Model: k.model, Depth: k.depth, Via: k.via, Hops: k.hops,
		DispatchedAt: c.now, Ordinal: c.ordinal,
	}
	c.put(schemas.TopicFetchRequested, shard, request, schemas.RequestHeaders(request))
	c.counts[shard].Dispatched++
	if last {
		return
	}
	c.answer(k, request, shard)
}

// answer adds what came of a request.
func (c *recordedCrawl) answer(k *known, request *schemas.FetchRequest, shard int) {
	f := &schemas.PageFetched{
		Crawl: c.name, Id: request.Id, Url: k.url, Outcome: schemas.Outcome_OUTCOME_DELIVERED, Status: 200, ContentType: "text/html", FetchedAt: c.now + int64(c.random.IntN(300)),
		DurationMs: uint32(20 + c.random.IntN(600)), Digest: fmt.Sprint("sha1:", hashed("digest"+k.url, 400)), Object: c.name + "/1.warc.gz", Size: uint64(1000 + hashed(k.url, 9000)), Length: 500,
	}
	fail := func(o schemas.Outcome, status uint32, detail string) {
		f.Outcome, f.Status, f.Detail, f.Digest, f.Object, f.Length, f.Size = o, status, detail, "", "", 0, 0
	}
	switch fate := hashed("fate"+k.url, 50); {
	case fate < 4:
		fail(schemas.Outcome_OUTCOME_CLIENT_ERROR, 404, "")
	case fate < 7 && k.attempt == 1:
		fail(schemas.Outcome_OUTCOME_SERVER_ERROR, 503, "")
	case fate == 7 && k.attempt == 1:
		fail(schemas.Outcome_OUTCOME_DEFERRED, 429, "")
	case fate == 8:
		fail(schemas.Outcome_OUTCOME_TIMEOUT, 0, fmt.Sprintf("no answer in %d ms", 10000+c.random.IntN(9)))
	case fate < 11:
		fail(schemas.Outcome_OUTCOME_REDIRECTED, 301, "")
		f.Redirect = linksOf(k.url)[0]
	case fate == 11:
		fail(schemas.Outcome_OUTCOME_ROBOTS_DISALLOWED, 0, fmt.Sprint("line ", 1+hashed(k.url, 9)))
	case fate == 12:
		fail(schemas.Outcome_OUTCOME_NOT_HTML, 200, "application/pdf")
	}
	wrong := proto.CloneOf(f)
	wrong.Status, wrong.Outcome = 599, schemas.Outcome_OUTCOME_TIMEOUT
	c.again(schemas.TopicPageFetched, shard, f, wrong)
	v := &schemas.LinkFound{
		Id: request.Id, Crawl: c.name, Shard: uint32(shard), Url: k.url, Outcome: f.Outcome, Detail: f.Detail, Status: f.Status, Redirect: f.Redirect, FetchedAt: f.FetchedAt, Depth: k.depth,
	}
	j := &schemas.PageJudged{Id: request.Id, Crawl: c.name, Outcome: f.Outcome}
	if f.Outcome == schemas.Outcome_OUTCOME_DELIVERED {
		c.judge(j, v, k)
	}
	c.now += int64(f.DurationMs) + 50
	other := proto.CloneOf(j)
	other.Judgement = &schemas.Judgement{Raw: .99, Critic: "wrong/1"}
	c.again(schemas.TopicPageJudged, shard, j, other)
	wrongVerdict := proto.CloneOf(v)
	wrongVerdict.Outcome, wrongVerdict.Judgement = schemas.Outcome_OUTCOME_DELIVERED, &schemas.Judgement{Raw: 1}
	c.again(schemas.TopicLinkFound, shard, v, wrongVerdict)
	c.settle(k, v, shard)
}

// judge fills in the judgement of a page and its links.
func (c *recordedCrawl) judge(j *schemas.PageJudged, v *schemas.LinkFound, k *known) {
	r := relevanceOf(k.url)
	topic := subjectOf(k.url)
	judgement := &schemas.Judgement{
		Raw: r, Tempered: r / 2, Calibrated: r / 4, BestIsFocus: topic == subjects[0], Critic: fmt.Sprint("topics/", c.marking), Marking: c.marking,
		Topics: []*schemas.TopicScore{{Topic: topic, Tempered: .75}, {Topic: "Other", Tempered: .125}},
	}
	parsed, err := proto.Marshal(&schemas.PageParsed{Id: j.Id, Page: &schemas.Page{Url: k.url, Title: "Page " + k.url, Language: []string{"en", "en", "de", ""}[hashed("l"+k.url, 4)]}})
	if err != nil {
		panic(err)
	}
	j.Judgement, j.Parsed, v.Judgement = judgement, parsed, judgement
	for i, url := range linksOf(k.url) {
		v.Links = append(v.Links, &schemas.Link{Url: url, Position: uint32(i)})
	}
	c.pages = append(c.pages, k.url)
}

// settle continues with a URL, or settles the links to it.
func (c *recordedCrawl) settle(k *known, v *schemas.LinkFound, shard int) {
	s := &c.counts[shard]
	if s.Outcomes == nil {
		s.Outcomes, s.Refused = map[string]uint64{}, map[string]uint64{}
	}
	s.Outcomes[schemas.OutcomeName(v.Outcome)]++
	s.RelevanceRaw += v.GetJudgement().GetRaw()
	rule := schemas.Outcomes[v.Outcome]
	switch {
	case rule.Page:
		s.Pages++
		for _, link := range v.Links {
			if hashed("refused"+link.Url, 10) == 0 {
				s.Refused[[]string{"scope", "depth", "exclude"}[hashed(link.Url, 3)]]++
				continue
			}
			c.found(v, link.Url, k.depth+1)
		}
	case v.Redirect != "":
		c.found(&schemas.LinkFound{Url: k.via}, v.Redirect, k.depth)
		c.seen[v.Redirect].hops = k.hops + 1
		return
	case rule.Retry && k.attempt < 2:
		next := *k
		next.attempt++
		c.queue = append(c.queue, &next)
		return
	}
	for _, u := range k.from {
		m := &schemas.LeapSettled{
			Id: schemas.LeapID(c.name, u.Url, k.url).Bytes(), Crawl: c.name, Shard: uint32(shard), U: u.Url, V: k.url, Outcome: v.Outcome, TargetRaw: v.GetJudgement().GetRaw(),
			SourceRaw: u.GetJudgement().GetRaw(), Score: k.score, Policy: k.policy, Model: k.model, Trains: rule.Trains, Request: v.Id, Pages: s.Pages,
			Features: []*schemas.Feature{{Term: strings.ToLower(subjectOf(k.url)), Offset: -1, Count: 1}, {Term: fmt.Sprint("w", hashed(u.Url+k.url, 9)), Offset: int32(hashed(k.url, 5) - 2), Count: 1}, {Term: "c:/" + subjectOf(u.Url), Offset: schemas.NoOffset, Count: 1}},
			Shadows:  []*schemas.ShadowPlace{{Policy: "in-links", Tier: uint32(len(k.from) % 2), Score: float64(len(k.from)) / 8}, {Policy: "hard-focus", Dropped: hashed("d"+k.url, 3) == 0, Score: k.score / 2}},
		}
		wrong := proto.CloneOf(m)
		wrong.TargetRaw, wrong.Outcome = 1, schemas.Outcome_OUTCOME_DELIVERED
		c.again(schemas.TopicLeapSettled, 0, m, wrong)
	}
}

// restart gives the shards new owners; what the old ones still dispatch is void.
func (c *recordedCrawl) restart() {
	c.epoch++
	for shard := range c.shards {
		c.put(schemas.TopicFetchRequested, shard, &schemas.FetchRequest{Marker: true, Owner: uint32(shard), Epoch: c.epoch}, stream.OwnerHeaders(uint32(shard), c.epoch))
		void := &schemas.FetchRequest{
			Id: schemas.RequestID(c.name, "http://void.example/", 1).Bytes(), Crawl: c.name, Shard: uint32(shard), Url: "http://void.example/", Host: "void.example",
			Attempt: 1, Epoch: c.epoch - 1, Owner: uint32(shard), DispatchedAt: c.now,
		}
		c.put(schemas.TopicFetchRequested, shard, void, schemas.RequestHeaders(void))
		letter := &schemas.DeadLetter{Stage: "parse-dom", Topic: schemas.TopicPageFetched, Partition: uint32(shard), Offset: c.now, Error: fmt.Sprintf("record %d: the markup ends at byte %d", shard, c.now%1000), Tries: 3, At: c.now}
		c.put(schemas.TopicDeadLetter, 0, letter, map[string]string{schemas.HeaderCrawl: c.name, schemas.HeaderURL: "http://void.example/"})
	}
}

// models publishes two models, the first of them twice.
func (c *recordedCrawl) models(at int) {
	for i := range 3 {
		n := max(1, i)
		c.model = fmt.Sprintf("%s/%d-%d", c.name, at, n)
		c.put(schemas.TopicModelPublished, 0, &schemas.ModelPublished{
			Kind: "apprentice", Crawl: c.name, Version: c.model, Pages: uint64(at + n), Leaps: uint64(100*at + i), Measures: map[string]float64{"cut": .5, "highs": float64(at)}, CreatedAt: c.now,
		}, nil)
	}
}

// status writes the counts of each shard; the network was away for the third one.
func (c *recordedCrawl) status(n int) {
	for shard := range c.counts {
		s := proto.CloneOf(&c.counts[shard])
		s.Crawl, s.Shard, s.Epoch, s.At, s.Activity = c.name, uint32(shard), c.epoch, c.now, "fetching"
		s.Queued, s.InFlight = uint64(len(c.queue)), uint64(n%3)
		if n == 2 || n == 3 {
			s.Outage = &schemas.Outage{Since: 1_700_000_000_000 + int64(shard), Cause: "the proxy does not answer"}
		}
		c.put(schemas.TopicCrawlStatus, 0, s, nil)
		c.now += 15
	}
}

// rank adds rankings of the pages with most links.
func (c *recordedCrawl) rank(pages uint64) {
	for shard := range c.shards {
		m := &schemas.HubRanked{Id: schemas.HubsID(c.name, uint32(shard), pages).Bytes(), Crawl: c.name, Shard: uint32(shard), Pages: pages, Nodes: 50, Edges: 90}
		for i, url := range c.pages[:min(len(c.pages), 5)] {
			m.Hubs = append(m.Hubs, &schemas.RankedPage{Url: url, Score: float64(8-i) / 16, Relevance: relevanceOf(url), Marked: i < 2 && shard == 0})
			m.Authorities = append(m.Authorities, &schemas.RankedPage{Url: c.pages[len(c.pages)-1-i], Score: float64(7-i) / 32, Relevance: relevanceOf(url)})
		}
		c.put(schemas.TopicHubRanked, 0, m, nil)
	}
}
