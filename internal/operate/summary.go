package operate

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"forager/schemas"
)

// Summary is the state of a crawl, for display.
type Summary struct {
	Crawl  string `json:"crawl"`
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	// Waiting names what is unreachable, if the crawl waits for it or has given it up.
	Waiting  string  `json:"waiting,omitempty"`
	Pages    uint64  `json:"pages"`
	Requests uint64  `json:"requests"`
	Queued   uint64  `json:"queued"`
	InFlight uint64  `json:"in_flight"`
	Harvest  float64 `json:"harvest"`
	Loss     float64 `json:"loss"`
	// HarvestFrom is what the critic learned from that harvest and loss are by (Topics.HarvestFrom).
	HarvestFrom string            `json:"harvest_from,omitempty" doc:"What the critic learned from that harvest and loss are by."`
	Outcomes    map[string]uint64 `json:"outcomes"`
	Refused     map[string]uint64 `json:"refused"`
	Leaps       uint64            `json:"leaps"`
	Trained     uint64            `json:"trained"`
	Model       string            `json:"model,omitempty"`
	Latency     uint32            `json:"latency_ms"`
	Activity    string            `json:"activity,omitempty"`
	// Rejected is what the pages that were rejected last were about, and Marks are topics near the focus that may be marked good as such pages
	// were about them or what is below them, most pages first. Only of a crawl that lacks links to follow.
	Rejected []Rejection `json:"rejected,omitempty" doc:"What the pages that were rejected last were about, if the crawl lacks links to follow."`
	Marks    []Rejection `json:"marks,omitempty" doc:"Topics that may be marked good then: they, or topics below them, are what such pages were about."`
	// Sentence describes the state for people.
	Sentence string `json:"sentence"`
	// Causes are what the URLs wait for that are known and not fetched; Main is the one that hinders the crawl.
	Causes []Cause `json:"causes,omitempty" doc:"What the URLs wait for that are known and not fetched."`
	Main   *Cause  `json:"main_cause,omitempty" doc:"The cause that hinders the crawl; absent while none does."`
}

// Summarize returns the state of a crawl as commands print it; st is nil before prioritize has written a status, and p if the state of
// the stages is not known.
func Summarize(crawl string, st *schemas.CrawlStatus, p *Pipeline) Summary {
	if st == nil {
		x := Summary{Crawl: crawl, State: "waiting", Reason: "prioritize has not taken it up yet (forager up starts the stages)"}
		x.SetSentence("")
		return x
	}
	x := Summary{
		Crawl: crawl, State: strings.ToLower(strings.TrimPrefix(st.GetState().String(), "SHARD_STATE_")), Reason: st.GetEndReason(),
		Pages: st.GetPages(), Requests: st.GetRequests(), Queued: st.GetQueued(), InFlight: st.GetInFlight(),
		Outcomes: st.GetOutcomes(), Refused: st.GetRefused(), Leaps: st.GetLeaps(), Trained: st.GetTrained(),
		Model: st.GetModel(), Latency: st.GetLatencyP50Ms(), Activity: st.GetActivity(),
	}
	x.Waiting = WaitingFor(st)
	if st.GetDiskNeeded() > 0 {
		x.Reason = st.GetActivity()
	}
	if st.GetPages() > 0 {
		x.Harvest = st.GetRelevanceRaw() / float64(st.GetPages())
		x.Loss = 1 - x.Harvest
	}
	x.Causes, x.Main = causes(crawl, st, p, time.Now())
	x.SetSentence("")
	return x
}

// Summarize returns the state of a crawl for display, with what is known of it by its control record and its critic.
func (b *Topics) Summarize(crawl string, st *schemas.CrawlStatus, p *Pipeline) Summary {
	x := Summarize(crawl, st, p)
	x.HarvestFrom = b.HarvestFrom(crawl)
	ctl, _ := b.Newest(crawl)
	x.stagnation(ctl, st)
	return x
}

// HarvestFrom describes in a few words what the critic of a crawl learned from, as its own judgements are the harvest of the crawl; empty
// of a crawl that only fetches and of a critic without measures.
func (b *Topics) HarvestFrom(crawl string) string {
	ctl, err := b.Control(crawl)
	if err != nil || ctl.GetCritic() == "" {
		return ""
	}
	m, err := b.Critic(ctl.GetCritic())
	if err != nil {
		return ""
	}
	measures := m.GetMeasures()
	accuracy, known := measures["accuracy"]
	switch {
	case measures["drawn"] > 0:
		return fmt.Sprintf("by likes and %.0f drawn pages", measures["drawn"])
	case measures["liked"] > 0:
		return "by likes alone, not measured"
	case known:
		return fmt.Sprintf("by examples, accuracy %.3f", accuracy)
	}
	return ""
}

// SetSentence makes the sentence, with the rate of a crawl that runs.
func (x *Summary) SetSentence(rate string) {
	x.Sentence = x.State
	if rate != "" && x.State == "running" {
		x.Sentence += ", " + rate
	}
	if why := x.Why(); why != "" {
		x.Sentence += ": " + why
	}
}

// Why is the end reason of a crawl, or the cause that hinders it, or what it does apart from requests; empty if there is none.
func (x *Summary) Why() string {
	switch {
	case x.Main != nil:
		return x.Main.String() + x.offer()
	case len(x.Rejected) > 0:
		return x.Reason + x.offer()
	case x.Reason != "" && x.Waiting != "":
		return x.Reason + "; " + x.Waiting
	case x.State == "running" && x.InFlight == 0 && x.Queued == 0:
		return "nothing is queued or in flight"
	}
	return cmp.Or(x.Reason+x.Waiting, x.Activity)
}

// FocusLine is a focus in one line.
func FocusLine(focus []string, weights map[string]float64, bad []string) string {
	var parts []string
	for _, topic := range focus {
		if w, ok := weights[topic]; ok && w != 1 {
			topic = fmt.Sprintf("%s × %g", topic, w)
		}
		parts = append(parts, topic)
	}
	line := strings.Join(parts, ", ")
	if len(bad) > 0 {
		line += "; without " + strings.Join(bad, ", ")
	}
	return line
}
