package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"forager/internal/platform/analytics"
	"forager/internal/rank/guide"
	"forager/internal/stream"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// inputs are the topics that are loaded.
var inputs = []string{
	schemas.TopicCrawlControl, schemas.TopicCrawlStatus, schemas.TopicFetchRequested, schemas.TopicPageFetched,
	schemas.TopicPageJudged, schemas.TopicLinkFound, schemas.TopicLeapSettled, schemas.TopicModelPublished,
	schemas.TopicHubRanked, schemas.TopicDeadLetter,
}

// rows are the rows of a batch of records, by table.
type rows struct {
	requests   []analytics.Request
	markers    []analytics.Marker
	fetches    []analytics.Fetch
	judgements []analytics.Judgement
	verdicts   []analytics.Verdict
	links      []analytics.Link
	leaps      []analytics.Leap
	models     []analytics.Model
	hubs       []analytics.Hub
	controls   []analytics.Control
	statuses   []analytics.Status
	letters    []analytics.Letter
}

// empty removes all rows and keeps the capacity.
func (b *rows) empty() {
	*b = rows{
		requests: emptied(b.requests), markers: emptied(b.markers), fetches: emptied(b.fetches), judgements: emptied(b.judgements),
		verdicts: emptied(b.verdicts), links: emptied(b.links), leaps: emptied(b.leaps), models: emptied(b.models),
		hubs: emptied(b.hubs), controls: emptied(b.controls), statuses: emptied(b.statuses), letters: emptied(b.letters),
	}
}

func emptied[R analytics.Row](all []R) []R {
	clear(all)
	return all[:0]
}

// add adds the rows of one record.
func (b *rows) add(r *stream.Record) error {
	if r.Value == nil {
		return nil // a tombstone of a compacted topic
	}
	place := analytics.PlaceOf(r.Partition, r.Offset, r.Time)
	switch r.Topic {
	case schemas.TopicFetchRequested:
		return b.request(r, place)
	case schemas.TopicPageFetched:
		return b.fetched(r, place)
	case schemas.TopicPageJudged:
		return b.judged(r, place)
	case schemas.TopicLinkFound:
		if r.Headers[schemas.HeaderFrom] != "" {
			return nil // between shards: the links are those of a verdict, which has its rows
		}
		return b.found(r, place)
	case schemas.TopicLeapSettled:
		return b.settled(r, place)
	case schemas.TopicModelPublished:
		return b.published(r, place)
	case schemas.TopicHubRanked:
		return b.ranked(r, place)
	case schemas.TopicCrawlControl:
		return b.control(r, place)
	case schemas.TopicCrawlStatus:
		return b.status(r, place)
	case schemas.TopicDeadLetter:
		return b.letter(r, place)
	}
	return stream.Broken(fmt.Errorf("topic %s is not one that is loaded", r.Topic))
}

// decode decodes the record's value and checks its id, if it has one.
func decode(value []byte, m proto.Message) error {
	if err := proto.Unmarshal(value, m); err != nil {
		return fmt.Errorf("decode %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	if x, ok := m.(interface{ GetId() []byte }); ok {
		if _, err := schemas.ParseID(x.GetId()); err != nil {
			return fmt.Errorf("%s: %w", m.ProtoReflect().Descriptor().Name(), err)
		}
	}
	return nil
}

func (b *rows) request(r *stream.Record, place analytics.Place) error {
	var fence stream.Fence
	kind, err := fence.Read(r)
	if err != nil {
		return err
	}
	switch kind {
	case stream.Claim:
		return nil
	case stream.Marker:
		owner, err := strconv.ParseUint(r.Headers[schemas.HeaderOwner], 10, 32)
		if err != nil {
			return fmt.Errorf("header %q: %w", schemas.HeaderOwner, err)
		}
		b.markers = append(b.markers, analytics.Marker{Owner: uint32(owner), Epoch: fence.Epoch(uint32(owner)), Place: place})
		return nil
	}
	m := new(schemas.FetchRequest)
	if err := decode(r.Value, m); err != nil {
		return err
	}
	b.requests = append(b.requests, analytics.Request{
		Crawl: m.Crawl, Epoch: m.Epoch, ID: string(m.Id), Shard: m.Shard, Owner: m.Owner, URL: m.Url, Host: m.Host,
		Attempt: m.Attempt, NotBefore: analytics.Millis(m.NotBefore), Score: m.Score, Tier: m.Tier, Policy: m.Policy,
		Model: m.Model, Depth: m.Depth, Via: m.Via, Hops: m.Hops, DispatchedAt: analytics.Millis(m.DispatchedAt),
		Ordinal: m.Ordinal, Clock: m.Clock, Place: place,
	})
	return nil
}

func (b *rows) fetched(r *stream.Record, place analytics.Place) error {
	m := new(schemas.PageFetched)
	if err := decode(r.Value, m); err != nil {
		return err
	}
	b.fetches = append(b.fetches, analytics.Fetch{
		Crawl: m.Crawl, ID: string(m.Id), URL: m.Url, Host: weburl.Host(m.Url), Outcome: schemas.OutcomeName(m.Outcome),
		Detail: m.Detail, Status: m.Status, Redirect: m.Redirect, NotBefore: analytics.Millis(m.NotBefore),
		ContentType: m.ContentType, Digest: m.Digest, Object: m.Object, ObjectOffset: m.Offset, ObjectLength: m.Length,
		Size: m.Size, Truncated: m.Truncated, FetchedAt: analytics.Millis(m.FetchedAt), DurationMS: m.DurationMs, Place: place,
	})
	return nil
}

func (b *rows) judged(r *stream.Record, place analytics.Place) error {
	m := new(schemas.PageJudged)
	if err := decode(r.Value, m); err != nil {
		return err
	}
	row := analytics.Judgement{Crawl: m.Crawl, ID: string(m.Id), Outcome: schemas.OutcomeName(m.Outcome), Place: place}
	if m.Outcome == schemas.Outcome_OUTCOME_DELIVERED {
		j := m.Judgement
		row.Relevance, row.Tempered, row.Calibrated, row.BestIsFocus = j.GetRaw(), j.GetTempered(), j.GetCalibrated(), j.GetBestIsFocus()
		row.Critic, row.KnownTokens, row.Marking, row.Degraded = j.GetCritic(), j.GetKnownTokens(), j.GetMarking(), j.GetDegraded()
		row.Shadows, row.Silent = shadows(j), silent(j)
		for _, t := range j.GetTopics() {
			row.Topics = append(row.Topics, t.Topic)
			row.Posteriors = append(row.Posteriors, t.Tempered)
		}
		parsed := new(schemas.PageParsed)
		if err := decode(m.Parsed, parsed); err != nil {
			return err
		}
		p := parsed.Page
		row.URL, row.Title, row.Description, row.Language = p.GetUrl(), p.GetTitle(), p.GetDescription(), p.GetLanguage()
		row.Charset, row.Canonical, row.Fingerprint, row.Size = p.GetCharset(), p.GetCanonical(), p.GetFingerprint(), p.GetSize()
		row.Leaves, row.Tokens, row.Links = uint32(len(p.GetLeafLengths())), uint32(len(p.GetTokens())), uint32(len(p.GetLinks()))
		row.NoFollow, row.NoIndex, row.Cut, row.TokenizerOnly = p.GetNofollow(), p.GetNoindex(), p.GetCut(), p.GetTokenizerOnly()
	}
	b.judgements = append(b.judgements, row)
	return nil
}

func shadows(j *schemas.Judgement) (s analytics.Shadows) {
	for _, x := range j.GetShadows() {
		s.Critics, s.Failures = append(s.Critics, x.GetCritic()), append(s.Failures, x.GetFailure())
		s.Relevances, s.Tempered = append(s.Relevances, x.GetRaw()), append(s.Tempered, x.GetTempered())
		s.Calibrated, s.Focus = append(s.Calibrated, x.GetCalibrated()), append(s.Focus, x.GetBestIsFocus())
	}
	return s
}

func (b *rows) found(r *stream.Record, place analytics.Place) error {
	m := new(schemas.LinkFound)
	if err := decode(r.Value, m); err != nil {
		return err
	}
	j := m.Judgement
	found := analytics.Millis(m.FetchedAt)
	b.verdicts = append(b.verdicts, analytics.Verdict{
		Crawl: m.Crawl, Shard: m.Shard, ID: string(m.Id), URL: m.Url, Outcome: schemas.OutcomeName(m.Outcome),
		Detail: m.Detail, Status: m.Status, Redirect: m.Redirect, NotBefore: analytics.Millis(m.NotBefore), FetchedAt: found,
		Relevance: j.GetRaw(), Tempered: j.GetTempered(), Calibrated: j.GetCalibrated(), BestIsFocus: j.GetBestIsFocus(),
		Links: uint32(len(m.Links)), Queries: j.GetBacklinks().GetQueries(), Fingerprint: m.Fingerprint, Cut: m.Cut, Place: place,
	})
	host := ""
	if m.Url != "" {
		host = weburl.Host(m.Url)
	}
	b.links = slices.Grow(b.links, len(m.Links))
	for i, l := range m.Links {
		id := schemas.LeapID(m.Crawl, m.Url, l.Url)
		b.links = append(b.links, analytics.Link{
			Crawl: m.Crawl, U: m.Url, ID: string(id.Bytes()), Shard: m.Shard, V: l.Url, UHost: host, VHost: weburl.Host(l.Url),
			Request: string(m.Id), Position: l.Position, FirstLeaf: l.FirstLeaf, LastLeaf: l.LastLeaf, NoFollow: l.Nofollow,
			Relevance: j.GetRaw(), Tempered: j.GetTempered(), Anchor: anchor(j, i), Guidance: guidance(j, i), FoundAt: found, Place: place,
		})
	}
	return nil
}

// silent returns the guides and sources of backlinks that failed on the page, with the reasons.
func silent(j *schemas.Judgement) map[string]string {
	why := make(map[string]string)
	for _, g := range j.GetGuidance() {
		if g.GetFailure() != "" {
			why[g.GetGuide()] = g.GetFailure()
		}
	}
	if b := j.GetBacklinks(); b.GetFailure() != "" {
		why[b.GetSource()] = b.GetFailure()
	}
	return why
}

// anchor returns R of a link's text; nil if it was not judged.
func anchor(j *schemas.Judgement, link int) *float64 {
	if link >= len(j.GetAnchors()) {
		return nil
	}
	r := float64(j.GetAnchors()[link]) / schemas.AnchorSteps
	return &r
}

// guidance returns the scores of a link by guides, by their versions.
func guidance(j *schemas.Judgement, link int) map[string]float64 {
	if len(j.GetGuidance()) == 0 {
		return nil
	}
	by := make(map[string]float64, len(j.GetGuidance()))
	for _, g := range j.GetGuidance() {
		if score, ok := guide.Score(g, link); ok {
			by[g.GetGuide()] = score
		}
	}
	return by
}

func (b *rows) settled(r *stream.Record, place analytics.Place) error {
	m := new(schemas.LeapSettled)
	if err := decode(r.Value, m); err != nil {
		return err
	}
	row := analytics.Leap{
		Crawl: m.Crawl, ID: string(m.Id), Shard: m.Shard, U: m.U, V: m.V, Outcome: schemas.OutcomeName(m.Outcome),
		Target: m.TargetRaw, TargetTempered: m.TargetTempered, Source: m.SourceRaw, SourceTempered: m.SourceTempered,
		Score: m.Score, Policy: m.Policy, Model: m.Model, Trains: m.Trains, Request: analytics.IDString(m.Request),
		Pages: m.Pages, Boundary: m.Boundary, Forward: m.Forward, Place: place,
	}
	if m.Boundary {
		row.Outcome = ""
	}
	row.Terms, row.Offsets, row.Counts = make([]string, len(m.Features)), make([]int16, len(m.Features)), make([]uint32, len(m.Features))
	for i, f := range m.Features {
		row.Terms[i], row.Offsets[i], row.Counts[i] = f.Term, int16(f.Offset), f.Count
	}
	for _, x := range m.Shadows {
		s := &row.RankerShadows
		s.Policies, s.Dropped, s.Tiers = append(s.Policies, x.Policy), append(s.Dropped, x.Dropped), append(s.Tiers, x.Tier)
		s.Scores, s.Models = append(s.Scores, x.Score), append(s.Models, x.Model)
	}
	b.leaps = append(b.leaps, row)
	return nil
}

func (b *rows) published(r *stream.Record, place analytics.Place) error {
	m := new(schemas.ModelPublished)
	if err := decode(r.Value, m); err != nil {
		return err
	}
	b.models = append(b.models, analytics.Model{
		Crawl: m.Crawl, Kind: m.Kind, Model: m.Version, Object: m.Object, Digest: m.Digest, Size: m.Size,
		TrainedThrough: m.TrainedThrough, Pages: m.Pages, Leaps: m.Leaps, Measures: m.Measures,
		CreatedAt: analytics.Millis(m.CreatedAt), Place: place,
	})
	return nil
}

func (b *rows) ranked(r *stream.Record, place analytics.Place) error {
	m := new(schemas.HubRanked)
	if err := decode(r.Value, m); err != nil {
		return err
	}
	for kind, pages := range map[string][]*schemas.RankedPage{"hub": m.Hubs, "authority": m.Authorities} {
		for i, p := range pages {
			b.hubs = append(b.hubs, analytics.Hub{
				Crawl: m.Crawl, ID: string(m.Id), Kind: kind, Rank: uint16(i + 1), Shard: m.Shard, Pages: m.Pages,
				URL: p.Url, Host: weburl.Host(p.Url), Score: p.Score, Relevance: p.Relevance, Marked: p.Marked,
				Nodes: m.Nodes, Edges: m.Edges, Raised: uint32(len(m.Raised) / len(schemas.ID{})), Place: place,
			})
		}
	}
	return nil
}

// lower returns a value of an enumeration in readable form.
func lower(name, prefix string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, prefix)), "_", "-")
}

func (b *rows) control(r *stream.Record, place analytics.Place) error {
	m := new(schemas.CrawlControl)
	if err := decode(r.Value, m); err != nil {
		return err
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return fmt.Errorf("write the control record of %s as JSON: %w", m.Crawl, err)
	}
	row := analytics.Control{
		Crawl: m.Crawl, Revision: m.Revision, State: lower(m.State.String(), "CRAWL_STATE_"), Focus: m.Focus, Bad: m.Bad, Weights: m.Weights, Critic: m.Critic, Shadows: m.Shadows,
		Pages: m.Budget.GetPages(), Requests: m.Budget.GetRequests(), Prior: m.Learning.GetPrior(),
		CreatedAt: analytics.Millis(m.CreatedAt), Control: string(text), Place: place,
	}
	for _, p := range m.Policies {
		row.Policies = append(row.Policies, p.Name)
		row.Rankers = append(row.Rankers, lower(p.Ranker.String(), "RANKER_"))
	}
	b.controls = append(b.controls, row)
	return nil
}

func (b *rows) status(r *stream.Record, place analytics.Place) error {
	m := new(schemas.CrawlStatus)
	if err := decode(r.Value, m); err != nil {
		return err
	}
	b.statuses = append(b.statuses, analytics.Status{
		Crawl: m.Crawl, Shard: m.Shard, Epoch: m.Epoch, At: analytics.Millis(m.At), State: lower(m.State.String(), "SHARD_STATE_"),
		EndReason: m.EndReason, Activity: m.Activity, Dispatched: m.Dispatched, InFlight: m.InFlight, Queued: m.Queued,
		Pages: m.Pages, Relevance: m.RelevanceRaw, Tempered: m.RelevanceTempered, Requests: m.Requests, PagesLeft: m.PagesLeft,
		RequestsLeft: m.RequestsLeft, Links: m.Links, Leaps: m.Leaps, Trained: m.Trained, Model: m.Model, Duplicates: m.Duplicates,
		LatencyP50MS: m.LatencyP50Ms, LatencyP95MS: m.LatencyP95Ms, Window: m.Window, Outcomes: m.Outcomes, Refused: m.Refused, Place: place,
	})
	return nil
}

func (b *rows) letter(r *stream.Record, place analytics.Place) error {
	m := new(schemas.DeadLetter)
	if err := decode(r.Value, m); err != nil {
		return err
	}
	b.letters = append(b.letters, analytics.Letter{
		Stage: m.Stage, Topic: m.Topic, OfPartition: m.Partition, OfOffset: uint64(m.Offset), Crawl: r.Headers[schemas.HeaderCrawl],
		URL: r.Headers[schemas.HeaderURL], Error: m.Error, Tries: m.Tries, At: analytics.Millis(m.At), Place: place,
	})
	return nil
}
