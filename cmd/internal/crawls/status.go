package crawls

import (
	"fmt"
	"io"
	"strings"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/platform/pipeline"
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
	// JudgedBy describes the critic that harvest and loss come from; empty of a crawl that only fetches.
	JudgedBy string `json:"judged_by,omitempty"`
	// OnTopic is the estimate of pages on topic, independent of the critic, for a report or the end of a crawl.
	OnTopic  *OnTopic          `json:"on_topic,omitempty"`
	Outcomes map[string]uint64 `json:"outcomes"`
	Refused  map[string]uint64 `json:"refused"`
	Leaps    uint64            `json:"leaps"`
	Trained  uint64            `json:"trained"`
	Model    string            `json:"model,omitempty"`
	Latency  uint32            `json:"latency_ms"`
	Activity string            `json:"activity,omitempty"`
}

// Summarize returns the state of a crawl as commands print it; st is nil before prioritize has written a status.
func Summarize(crawl string, st *schemas.CrawlStatus) Summary {
	if st == nil {
		return Summary{Crawl: crawl, State: "waiting", Reason: "prioritize has not taken it up yet (forager up starts the stages)"}
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
	return x
}

// Watch follows a crawl and prints its end.
func Watch(s *cli.Session, cfg *pipeline.Config, b *cli.Topics, crawl string) error {
	x, err := follow(s, b, crawl)
	if err != nil {
		return err
	}
	x.Judge(s, cfg, b)
	return s.Print(x, func(w io.Writer) {
		fmt.Fprintf(w, "%s has finished: %s; %d pages, harvest %.3f, loss %.3f\n", crawl, x.Why(), x.Pages, x.Harvest, x.Loss)
		PrintHarvest(w, crawl, x.JudgedBy, x.OnTopic)
		fmt.Fprintf(w, "see it:  forager report %s\n", crawl)
	})
}

// follow prints a line of progress every second, in place on a terminal, until the crawl has finished.
func follow(s *cli.Session, b *cli.Topics, crawl string) (Summary, error) {
	return FollowWith(s, b, crawl, func(Summary) error { return nil })
}

// FollowWith is follow, and calls tell with the crawl's state every second until it has finished; tell may take longer than that.
func FollowWith(s *cli.Session, b *cli.Topics, crawl string, tell func(Summary) error) (Summary, error) {
	terminal := cli.Interactive(s.Stderr)
	var last Summary
	var lastAt time.Time
	begun := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		st := b.Status(crawl)
		x := Summarize(crawl, st)
		now := time.Now()
		rate := 0.0
		if !lastAt.IsZero() && now.After(lastAt) {
			rate = float64(x.Pages-last.Pages) / now.Sub(lastAt).Seconds()
		}
		finished := cli.Ended(st)
		if !s.JSON && (terminal || x.Pages != last.Pages || x.Waiting != last.Waiting || finished || lastAt.IsZero()) {
			harvest := "" // a crawl that only fetches has none
			if ctl, err := b.Control(crawl); err == nil && ctl.GetCritic() != "" {
				harvest = fmt.Sprintf("harvest %.3f  loss %.3f  ", x.Harvest, x.Loss)
			}
			line := fmt.Sprintf("%s  %6.0fs  %s  pages %d  %.0f/s  %squeued %d  in flight %d  loop %d ms %s",
				crawl, now.Sub(begun).Seconds(), x.State, x.Pages, rate, harvest, x.Queued, x.InFlight, x.Latency, strings.TrimSpace(x.Activity+" "+x.Waiting))
			if st == nil {
				line = fmt.Sprintf("%s  %6.0fs  %s: %s", crawl, now.Sub(begun).Seconds(), x.State, x.Reason)
			}
			s.Status("%s", line)
		}
		if finished {
			if terminal && !s.JSON {
				fmt.Fprintln(s.Stderr)
			}
			return x, nil
		}
		if err := tell(x); err != nil {
			return x, err
		}
		last, lastAt = x, now
		select {
		case <-s.Done():
			return x, cli.Leaving(s.Err(), "crawl %q goes on (forager crawl watch %s follows it, forager crawl pause %s lets it rest)", crawl, crawl, crawl)
		case <-tick.C:
		}
	}
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
