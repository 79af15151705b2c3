package archive

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/web/weburl"
	"forager/schemas"
)

// place has the columns of every file, and all that a reader needs.
type place struct {
	Offset    int64    `parquet:"offset,delta"`
	Partition int32    `parquet:"partition"`
	Topic     string   `parquet:"topic,dict"`
	Time      int64    `parquet:"time,timestamp(millisecond),delta"`
	Key       []byte   `parquet:"key"`
	Headers   []header `parquet:"headers,list"`
	// Record is the value of the message, unchanged.
	Record []byte `parquet:"record"`
	// Problem is the reason why the record could not be decoded; the columns below are then empty.
	Problem string `parquet:"problem,dict"`
}

type header struct {
	Name  string `parquet:"name,dict"`
	Value string `parquet:"value"`
}

// judgement has the columns of a critic's judgement; null if nothing was judged.
type judgement struct {
	Relevance   *float64     `parquet:"relevance,optional"`
	Tempered    *float64     `parquet:"tempered,optional"`
	Calibrated  *float64     `parquet:"calibrated,optional"`
	BestIsFocus bool         `parquet:"best_is_focus"`
	Critic      string       `parquet:"critic,dict"`
	KnownTokens uint64       `parquet:"known_tokens"`
	Topics      []topicScore `parquet:"topics,list"`
}

type topicScore struct {
	Topic    string  `parquet:"topic,dict"`
	Tempered float64 `parquet:"tempered"`
}

// judgedRow is a record of page.judged.
type judgedRow struct {
	place
	Crawl   string `parquet:"crawl,dict"`
	ID      []byte `parquet:"id"`
	Outcome string `parquet:"outcome,dict"`
	judgement
	URL           string `parquet:"url"`
	Host          string `parquet:"host,dict"`
	Status        uint32 `parquet:"status"`
	Redirect      string `parquet:"redirect"`
	Detail        string `parquet:"detail"`
	FetchedAt     int64  `parquet:"fetched_at,timestamp(millisecond)"`
	Title         string `parquet:"title"`
	Description   string `parquet:"description"`
	Language      string `parquet:"language,dict"`
	Charset       string `parquet:"charset,dict"`
	Canonical     string `parquet:"canonical"`
	Fingerprint   uint64 `parquet:"fingerprint"`
	Size          uint64 `parquet:"size"`
	Leaves        uint32 `parquet:"leaves"`
	Tokens        uint32 `parquet:"tokens"`
	Links         uint32 `parquet:"links"`
	NoFollow      bool   `parquet:"nofollow"`
	NoIndex       bool   `parquet:"noindex"`
	Cut           bool   `parquet:"cut"`
	TokenizerOnly bool   `parquet:"tokenizer_only"`

	Marking  uint64   `parquet:"marking"`
	Degraded string   `parquet:"degraded,dict"`
	Shadows  []shadow `parquet:"shadows,list"`

	Guidance []guidance `parquet:"guidance,list"`
}

// foundRow is a record of link.found.
type foundRow struct {
	place
	Crawl   string `parquet:"crawl,dict"`
	Shard   uint32 `parquet:"shard"`
	ID      []byte `parquet:"id"`
	Outcome string `parquet:"outcome,dict"`
	judgement
	URL         string `parquet:"url"`
	Host        string `parquet:"host,dict"`
	Status      uint32 `parquet:"status"`
	Redirect    string `parquet:"redirect"`
	Detail      string `parquet:"detail"`
	NotBefore   int64  `parquet:"not_before,timestamp(millisecond)"`
	FetchedAt   int64  `parquet:"fetched_at,timestamp(millisecond)"`
	Fingerprint uint64 `parquet:"fingerprint"`
	Cut         bool   `parquet:"cut"`
	Links       []link `parquet:"links,list"`
}

type link struct {
	URL       string `parquet:"url"`
	Position  uint32 `parquet:"position"`
	FirstLeaf uint32 `parquet:"first_leaf"`
	LastLeaf  uint32 `parquet:"last_leaf"`
	NoFollow  bool   `parquet:"nofollow"`
}

// settledRow is a record of leap.settled.
type settledRow struct {
	place
	Crawl   string `parquet:"crawl,dict"`
	Shard   uint32 `parquet:"shard"`
	ID      []byte `parquet:"id"`
	U       string `parquet:"u"`
	V       string `parquet:"v"`
	UHost   string `parquet:"u_host,dict"`
	VHost   string `parquet:"v_host,dict"`
	Outcome string `parquet:"outcome,dict"`
	// Target and Source are R(v) and R(u), raw; those of v are null where it was not delivered.
	Target         *float64  `parquet:"target,optional"`
	TargetTempered *float64  `parquet:"target_tempered,optional"`
	Source         float64   `parquet:"source"`
	SourceTempered float64   `parquet:"source_tempered"`
	Score          float64   `parquet:"score"`
	Policy         string    `parquet:"policy,dict"`
	Model          string    `parquet:"model,dict"`
	Trains         bool      `parquet:"trains"`
	Forward        bool      `parquet:"forward"`
	Request        []byte    `parquet:"request"`
	Pages          uint64    `parquet:"pages"`
	Boundary       bool      `parquet:"boundary"`
	Features       []feature `parquet:"features,list"`

	Shadows []shadowPlace `parquet:"shadows,list"`
}

type feature struct {
	Term   string `parquet:"term,dict"`
	Offset int32  `parquet:"offset"`
	Count  uint32 `parquet:"count"`
}

// guidance is the output of a guide for a page's links.
type guidance struct {
	Guide string `parquet:"guide,dict"`
	// Scores are one for all links, one each in their order, or none.
	Scores  []float64 `parquet:"scores,list"`
	Failure string    `parquet:"failure"`
}

func guidanceOf(j *schemas.Judgement) (all []guidance) {
	for _, g := range j.GetGuidance() {
		all = append(all, guidance{g.Guide, g.Scores, g.Failure})
	}
	return all
}

// shadowPlace is the place of v in the order of a ranker that is not used; null if its gate let no
// link through.
type shadowPlace struct {
	Policy string   `parquet:"policy,dict"`
	Tier   *uint32  `parquet:"tier,optional"`
	Score  *float64 `parquet:"score,optional"`
	Model  string   `parquet:"model,dict"`
}

// placeOf returns the place of a record, with headers in the order of their names.
func placeOf(r *Record) place {
	p := place{
		Offset: r.Offset, Partition: int32(r.Partition), Topic: r.Topic, Time: r.Time.UnixMilli(), Key: r.Key, Record: r.Value,
	}
	if len(r.Headers) > 0 {
		p.Headers = make([]header, 0, len(r.Headers))
	}
	for name, value := range r.Headers {
		p.Headers = append(p.Headers, header{name, value})
	}
	slices.SortFunc(p.Headers, func(a, b header) int { return strings.Compare(a.Name, b.Name) })
	return p
}

// record returns the record of a row.
func (p *place) record() Record {
	r := Record{
		Topic: p.Topic, Partition: int(p.Partition), Offset: p.Offset, Time: time.UnixMilli(p.Time), Key: p.Key, Value: p.Record,
		Headers: make(map[string]string, len(p.Headers)),
	}
	for _, h := range p.Headers {
		r.Headers[h.Name] = h.Value
	}
	return r
}

// shadow is the judgement of a critic that is not used; null if it failed.
type shadow struct {
	Critic      string   `parquet:"critic,dict"`
	Relevance   *float64 `parquet:"relevance,optional"`
	Tempered    *float64 `parquet:"tempered,optional"`
	Calibrated  *float64 `parquet:"calibrated,optional"`
	BestIsFocus bool     `parquet:"best_is_focus"`
	KnownTokens uint64   `parquet:"known_tokens"`
	Failure     string   `parquet:"failure"`
}

func shadowsOf(j *schemas.Judgement) (shadows []shadow) {
	for _, x := range j.GetShadows() {
		row := shadow{Critic: x.Critic, BestIsFocus: x.BestIsFocus, KnownTokens: x.KnownTokens, Failure: x.Failure}
		if x.Failure == "" {
			row.Relevance, row.Tempered, row.Calibrated = &x.Raw, &x.Tempered, &x.Calibrated
		}
		shadows = append(shadows, row)
	}
	return shadows
}

func judgementOf(j *schemas.Judgement) judgement {
	if j == nil {
		return judgement{}
	}
	row := judgement{
		Relevance: &j.Raw, Tempered: &j.Tempered, Calibrated: &j.Calibrated, BestIsFocus: j.BestIsFocus, Critic: j.Critic, KnownTokens: j.KnownTokens,
	}
	for _, t := range j.Topics {
		row.Topics = append(row.Topics, topicScore{t.Topic, t.Tempered})
	}
	return row
}

// host returns the politeness key of a canonical URL; "" for "".
func host(url string) string {
	if url == "" {
		return ""
	}
	return weburl.Host(url)
}

func judgedRowOf(in place) judgedRow {
	m, parsed := new(schemas.PageJudged), new(schemas.PageParsed)
	err := proto.Unmarshal(in.Record, m)
	if err == nil {
		if err = proto.Unmarshal(m.Parsed, parsed); err != nil {
			err = fmt.Errorf("the page in it: %w", err)
		}
	}
	if err != nil {
		row := judgedRow{place: in}
		row.Problem = schemas.DetailOf(err)
		return row
	}
	p := parsed.Page
	return judgedRow{
		place: in, Crawl: m.Crawl, ID: m.Id, Outcome: schemas.OutcomeName(m.Outcome), judgement: judgementOf(m.Judgement),
		URL: p.GetUrl(), Host: host(p.GetUrl()), Status: parsed.Status, Redirect: parsed.Redirect, Detail: parsed.Detail,
		FetchedAt: parsed.FetchedAt, Title: p.GetTitle(), Description: p.GetDescription(), Language: p.GetLanguage(),
		Charset: p.GetCharset(), Canonical: p.GetCanonical(), Fingerprint: p.GetFingerprint(), Size: p.GetSize(),
		Leaves: uint32(len(p.GetLeafLengths())), Tokens: uint32(len(p.GetTokens())), Links: uint32(len(p.GetLinks())),
		NoFollow: p.GetNofollow(), NoIndex: p.GetNoindex(), Cut: p.GetCut(), TokenizerOnly: p.GetTokenizerOnly(),
		Marking: m.Judgement.GetMarking(), Degraded: m.Judgement.GetDegraded(), Shadows: shadowsOf(m.Judgement),
		Guidance: guidanceOf(m.Judgement),
	}
}

func foundRowOf(in place) foundRow {
	m := new(schemas.LinkFound)
	if err := proto.Unmarshal(in.Record, m); err != nil {
		row := foundRow{place: in}
		row.Problem = schemas.DetailOf(err)
		return row
	}
	row := foundRow{
		place: in, Crawl: m.Crawl, Shard: m.Shard, ID: m.Id, Outcome: schemas.OutcomeName(m.Outcome),
		judgement: judgementOf(m.Judgement), URL: m.Url, Host: host(m.Url), Status: m.Status, Redirect: m.Redirect,
		Detail: m.Detail, NotBefore: m.NotBefore, FetchedAt: m.FetchedAt, Fingerprint: m.Fingerprint, Cut: m.Cut,
	}
	switch m.Role { // these are no verdicts
	case schemas.LinkRole_LINK_ROLE_LINKS:
		row.Outcome = "links"
	case schemas.LinkRole_LINK_ROLE_NOTE:
		row.Outcome = "note"
	}
	row.Links = slices.Grow(row.Links, len(m.Links))
	for _, l := range m.Links {
		row.Links = append(row.Links, link{l.Url, l.Position, l.FirstLeaf, l.LastLeaf, l.Nofollow})
	}
	return row
}

func settledRowOf(in place) settledRow {
	m := new(schemas.LeapSettled)
	if err := proto.Unmarshal(in.Record, m); err != nil {
		row := settledRow{place: in}
		row.Problem = schemas.DetailOf(err)
		return row
	}
	row := settledRow{
		place: in, Crawl: m.Crawl, Shard: m.Shard, ID: m.Id, U: m.U, V: m.V, UHost: host(m.U), VHost: host(m.V),
		Source: m.SourceRaw, SourceTempered: m.SourceTempered, Score: m.Score, Policy: m.Policy, Model: m.Model,
		Trains: m.Trains, Forward: m.Forward, Request: m.Request, Pages: m.Pages, Boundary: m.Boundary,
	}
	if !m.Boundary {
		row.Outcome = schemas.OutcomeName(m.Outcome)
	}
	if schemas.Outcomes[m.Outcome].Page {
		row.Target, row.TargetTempered = &m.TargetRaw, &m.TargetTempered
	}
	row.Features = slices.Grow(row.Features, len(m.Features))
	for _, f := range m.Features {
		row.Features = append(row.Features, feature{f.Term, f.Offset, f.Count})
	}
	for _, x := range m.Shadows {
		at := shadowPlace{Policy: x.Policy, Model: x.Model}
		if !x.Dropped {
			at.Tier, at.Score = &x.Tier, &x.Score
		}
		row.Shadows = append(row.Shadows, at)
	}
	return row
}
