package analytics

import (
	"math"
	"time"

	"forager/schemas"
)

// Row is a row of one of the tables. The tags are the columns.
type Row interface {
	Request | Marker | Fetch | Judgement | Verdict | Link | Leap | Model | Hub | Control | Status | Letter
}

// Place is the position of a row's record. Of rows with one id the one with the highest precedence
// is kept: the first record.
type Place struct {
	Partition  uint32    `ch:"partition"`
	Precedence uint64    `ch:"precedence"`
	RecordedAt time.Time `ch:"recorded_at"`
}

// PlaceOf returns the place of a record.
func PlaceOf(partition int, offset int64, at time.Time) Place {
	return Place{Partition: uint32(partition), Precedence: math.MaxUint64 - uint64(offset), RecordedAt: at}
}

// Millis returns the time of Unix milliseconds; 0 is 1970.
func Millis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// IDString returns an id as a value of a FixedString(16); "" for none.
func IDString(b []byte) string {
	if len(b) != len(schemas.ID{}) {
		return string(make([]byte, len(schemas.ID{})))
	}
	return string(b)
}

// Request is a record of fetch.requested.
type Request struct {
	Crawl        string    `ch:"crawl"`
	Epoch        uint64    `ch:"epoch"`
	ID           string    `ch:"id"`
	Shard        uint32    `ch:"shard"`
	Owner        uint32    `ch:"owner"`
	URL          string    `ch:"url"`
	Host         string    `ch:"host"`
	Attempt      uint32    `ch:"attempt"`
	NotBefore    time.Time `ch:"not_before"`
	Score        float64   `ch:"score"`
	Tier         uint32    `ch:"tier"`
	Policy       string    `ch:"policy"`
	Model        string    `ch:"model"`
	Depth        uint32    `ch:"depth"`
	Via          string    `ch:"via"`
	Hops         uint32    `ch:"hops"`
	DispatchedAt time.Time `ch:"dispatched_at"`
	Ordinal      uint64    `ch:"ordinal"`
	Clock        uint64    `ch:"clock"`
	Place
}

// Marker is an epoch marker of fetch.requested.
type Marker struct {
	Owner uint32 `ch:"owner"`
	Epoch uint64 `ch:"epoch"`
	Place
}

// Fetch is a record of page.fetched.
type Fetch struct {
	Crawl        string    `ch:"crawl"`
	ID           string    `ch:"id"`
	URL          string    `ch:"url"`
	Host         string    `ch:"host"`
	Outcome      string    `ch:"outcome"`
	Detail       string    `ch:"detail"`
	Status       uint32    `ch:"status"`
	Redirect     string    `ch:"redirect"`
	NotBefore    time.Time `ch:"not_before"`
	ContentType  string    `ch:"content_type"`
	Digest       string    `ch:"digest"`
	Object       string    `ch:"object"`
	ObjectOffset uint64    `ch:"object_offset"`
	ObjectLength uint64    `ch:"object_length"`
	Size         uint64    `ch:"size"`
	Truncated    bool      `ch:"truncated"`
	FetchedAt    time.Time `ch:"fetched_at"`
	DurationMS   uint32    `ch:"duration_ms"`
	Place
}

// Judgement is a record of page.judged with the page inside it.
type Judgement struct {
	Crawl       string    `ch:"crawl"`
	ID          string    `ch:"id"`
	Outcome     string    `ch:"outcome"`
	Relevance   float64   `ch:"relevance"`
	Tempered    float64   `ch:"tempered"`
	Calibrated  float64   `ch:"calibrated"`
	Topics      []string  `ch:"topics"`
	Posteriors  []float64 `ch:"posteriors"`
	BestIsFocus bool      `ch:"best_is_focus"`
	Critic      string    `ch:"critic"`
	KnownTokens uint64    `ch:"known_tokens"`
	Marking     uint64    `ch:"marking"`
	Degraded    string    `ch:"degraded"`
	Shadows
	// Silent are guides and sources of backlinks that failed, with the reason.
	Silent        map[string]string `ch:"silent"`
	URL           string            `ch:"url"`
	Title         string            `ch:"title"`
	Description   string            `ch:"description"`
	Language      string            `ch:"language"`
	Charset       string            `ch:"charset"`
	Canonical     string            `ch:"canonical"`
	Fingerprint   uint64            `ch:"fingerprint"`
	Leaves        uint32            `ch:"leaves"`
	Tokens        uint32            `ch:"tokens"`
	Links         uint32            `ch:"links"`
	Size          uint64            `ch:"size"`
	NoFollow      bool              `ch:"nofollow"`
	NoIndex       bool              `ch:"noindex"`
	Cut           bool              `ch:"cut"`
	TokenizerOnly bool              `ch:"tokenizer_only"`
	Place
}

// Shadows are the judgements of critics that are not used; the slices have the same length.
type Shadows struct {
	Critics    []string  `ch:"shadow_critics"`
	Relevances []float64 `ch:"shadow_relevances"`
	Tempered   []float64 `ch:"shadow_tempered"`
	Calibrated []float64 `ch:"shadow_calibrated"`
	Focus      []bool    `ch:"shadow_focus"`
	Failures   []string  `ch:"shadow_failures"`
}

// Verdict is a record of link.found, its links counted.
type Verdict struct {
	Crawl       string    `ch:"crawl"`
	Shard       uint32    `ch:"shard"`
	ID          string    `ch:"id"`
	URL         string    `ch:"url"`
	Outcome     string    `ch:"outcome"`
	Detail      string    `ch:"detail"`
	Status      uint32    `ch:"status"`
	Redirect    string    `ch:"redirect"`
	NotBefore   time.Time `ch:"not_before"`
	FetchedAt   time.Time `ch:"fetched_at"`
	Relevance   float64   `ch:"relevance"`
	Tempered    float64   `ch:"tempered"`
	Calibrated  float64   `ch:"calibrated"`
	BestIsFocus bool      `ch:"best_is_focus"`
	Links       uint32    `ch:"links"`
	// Queries of backlinks.
	Queries     uint32 `ch:"backlink_queries"`
	Fingerprint uint64 `ch:"fingerprint"`
	Cut         bool   `ch:"cut"`
	Place
}

// Link is one link of a record of link.found.
type Link struct {
	Crawl     string  `ch:"crawl"`
	U         string  `ch:"u"`
	ID        string  `ch:"id"`
	Shard     uint32  `ch:"shard"`
	V         string  `ch:"v"`
	UHost     string  `ch:"u_host"`
	VHost     string  `ch:"v_host"`
	Request   string  `ch:"request"`
	Position  uint32  `ch:"position"`
	FirstLeaf uint32  `ch:"first_leaf"`
	LastLeaf  uint32  `ch:"last_leaf"`
	NoFollow  bool    `ch:"nofollow"`
	Relevance float64 `ch:"relevance"`
	Tempered  float64 `ch:"tempered"`
	// Anchor is nil if the critic did not judge the link's text. Guidance has the scores by guides.
	Anchor   *float64           `ch:"anchor"`
	Guidance map[string]float64 `ch:"guidance"`
	FoundAt  time.Time          `ch:"found_at"`
	Place
}

// Leap is a record of leap.settled, boundaries included.
type Leap struct {
	Crawl          string   `ch:"crawl"`
	ID             string   `ch:"id"`
	Shard          uint32   `ch:"shard"`
	U              string   `ch:"u"`
	V              string   `ch:"v"`
	Outcome        string   `ch:"outcome"`
	Target         float64  `ch:"target"`
	TargetTempered float64  `ch:"target_tempered"`
	Source         float64  `ch:"source"`
	SourceTempered float64  `ch:"source_tempered"`
	Terms          []string `ch:"terms"`
	Offsets        []int16  `ch:"offsets"`
	Counts         []uint32 `ch:"counts"`
	Score          float64  `ch:"score"`
	Policy         string   `ch:"policy"`
	Model          string   `ch:"model"`
	Trains         bool     `ch:"trains"`
	Request        string   `ch:"request"`
	Pages          uint64   `ch:"pages"`
	Boundary       bool     `ch:"boundary"`
	Forward        bool     `ch:"forward"`
	RankerShadows
	Place
}

// RankerShadows are the places of v at its dispatch in the orders of rankers that are not used; the slices
// have the same length.
type RankerShadows struct {
	Policies []string  `ch:"shadow_policies"`
	Dropped  []bool    `ch:"shadow_dropped"`
	Tiers    []uint32  `ch:"shadow_tiers"`
	Scores   []float64 `ch:"shadow_scores"`
	Models   []string  `ch:"shadow_models"`
}

// Model is a record of model.published.
type Model struct {
	Crawl          string             `ch:"crawl"`
	Kind           string             `ch:"kind"`
	Model          string             `ch:"model"`
	Object         string             `ch:"object"`
	Digest         string             `ch:"digest"`
	Size           uint64             `ch:"size"`
	TrainedThrough int64              `ch:"trained_through"`
	Pages          uint64             `ch:"pages"`
	Leaps          uint64             `ch:"leaps"`
	Measures       map[string]float64 `ch:"measures"`
	CreatedAt      time.Time          `ch:"created_at"`
	Place
}

// Control is a record of crawl.control.
type Control struct {
	Crawl     string             `ch:"crawl"`
	Revision  uint64             `ch:"revision"`
	State     string             `ch:"state"`
	Focus     []string           `ch:"focus"`
	Bad       []string           `ch:"bad"`
	Weights   map[string]float64 `ch:"weights"`
	Critic    string             `ch:"critic"`
	Shadows   []string           `ch:"shadows"`
	Pages     uint64             `ch:"pages"`
	Requests  uint64             `ch:"requests"`
	Policies  []string           `ch:"policies"`
	Rankers   []string           `ch:"rankers"`
	Prior     string             `ch:"prior"`
	CreatedAt time.Time          `ch:"created_at"`
	Control   string             `ch:"control"`
	Place
}

// Hub is a page in a record of hub.ranked.
type Hub struct {
	Crawl     string  `ch:"crawl"`
	ID        string  `ch:"id"`
	Kind      string  `ch:"kind"`
	Rank      uint16  `ch:"place"`
	Shard     uint32  `ch:"shard"`
	Pages     uint64  `ch:"pages"`
	URL       string  `ch:"url"`
	Host      string  `ch:"host"`
	Score     float64 `ch:"score"`
	Relevance float64 `ch:"relevance"`
	Marked    bool    `ch:"marked"`
	Nodes     uint64  `ch:"nodes"`
	Edges     uint64  `ch:"edges"`
	Raised    uint32  `ch:"raised"`
	Place
}

// Status is a record of crawl.status.
type Status struct {
	Crawl        string            `ch:"crawl"`
	Shard        uint32            `ch:"shard"`
	Epoch        uint64            `ch:"epoch"`
	At           time.Time         `ch:"at"`
	State        string            `ch:"state"`
	EndReason    string            `ch:"end_reason"`
	Activity     string            `ch:"activity"`
	Dispatched   uint64            `ch:"dispatched"`
	InFlight     uint64            `ch:"in_flight"`
	Queued       uint64            `ch:"queued"`
	Pages        uint64            `ch:"pages"`
	Relevance    float64           `ch:"relevance"`
	Tempered     float64           `ch:"tempered"`
	Requests     uint64            `ch:"requests"`
	PagesLeft    uint64            `ch:"pages_left"`
	RequestsLeft uint64            `ch:"requests_left"`
	Links        uint64            `ch:"links"`
	Leaps        uint64            `ch:"leaps"`
	Trained      uint64            `ch:"trained"`
	Model        string            `ch:"model"`
	Duplicates   uint64            `ch:"duplicates"`
	LatencyP50MS uint32            `ch:"latency_p50_ms"`
	LatencyP95MS uint32            `ch:"latency_p95_ms"`
	Window       uint32            `ch:"window"`
	Outcomes     map[string]uint64 `ch:"outcomes"`
	Refused      map[string]uint64 `ch:"refused"`
	Place
}

// Letter is a record of dead.letter.
type Letter struct {
	Stage       string    `ch:"stage"`
	Topic       string    `ch:"topic"`
	OfPartition uint32    `ch:"of_partition"`
	OfOffset    uint64    `ch:"of_offset"`
	Crawl       string    `ch:"crawl"`
	URL         string    `ch:"url"`
	Error       string    `ch:"error"`
	Tries       uint32    `ch:"tries"`
	At          time.Time `ch:"at"`
	Place
}

// tableOf returns the table of a row.
func tableOf(row any) string {
	switch row.(type) {
	case Request:
		return "requests_rows"
	case Marker:
		return "markers_rows"
	case Fetch:
		return "fetches_rows"
	case Judgement:
		return "judgements_rows"
	case Verdict:
		return "verdicts_rows"
	case Link:
		return "links_rows"
	case Leap:
		return "leaps_rows"
	case Model:
		return "models_rows"
	case Hub:
		return "hubs_rows"
	case Control:
		return "controls_rows"
	case Status:
		return "statuses_rows"
	case Letter:
		return "letters_rows"
	}
	return ""
}
