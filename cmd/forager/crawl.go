package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"forager/internal/crawl/crawlfile"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/rank/apprentice"
	"forager/schemas"
)

type crawlCommand struct {
	List   crawlList   `cmd:"" help:"Which crawls there are."`
	Start  crawlStart  `cmd:"" help:"Start the crawl that a crawl file describes."`
	Status crawlStatus `cmd:"" help:"How crawls stand."`
	Watch  crawlWatch  `cmd:"" help:"Follow a crawl until it has finished."`
	Seeds  crawlSeeds  `cmd:"" help:"Give a crawl more seeds."`
	Pause  crawlPause  `cmd:"" help:"Let a crawl rest; requests in flight end."`
	Resume crawlResume `cmd:"" help:"Let a crawl go on that is paused, or has finished."`
	Ranker crawlRanker `cmd:"" help:"Let another ranker order the frontier of a crawl."`
	Focus  crawlFocus  `cmd:"" help:"Mark topics of a running crawl good or bad, or weigh them anew."`
	Critic crawlCritic `cmd:"" help:"Let another critic judge a running crawl, or one beside it."`
	Stop   crawlStop   `cmd:"" help:"Stop a crawl for good; requests in flight end."`
	Delete crawlDelete `cmd:"" help:"Delete a finished crawl: its pages, rows, models and state."`
}

type crawlStart struct {
	File string   `arg:"" optional:"" help:"The crawl file; with --like it may be left out."`
	URLs []string `arg:"" optional:"" name:"url" help:"With --like: further pages that are on topic."`

	Watch bool `help:"Follow the crawl until it has finished; with --like its critic goes on learning meanwhile."`
	Check bool `help:"Check the file and the critic, start nothing."`

	likeFlags `embed:""`
}

func (c *crawlStart) Help() string {
	return `A crawl file:

  name: chemistry
  critic: schools                      # made by: forager critic train
  focus: [Science/Chemistry]           # several, with weights: {TOPIC: 0.5} and without bad: [TOPIC below]
  seeds: ["https://example.org/chemistry/"]
  budget: {pages: 3000}
  ranker: mixture                      # the default; or apprentice, soft-focus, hard-defer, …
  scope: {max_depth: 10, host_cap: 500}
  politeness: {delay: 1s, contact: you@example.org}

  forager crawl start chemistry.yaml --watch

With --like, pages that are on topic take the place of critic, focus and seeds. They are fetched, and
some of what they link to; a critic learns to tell the ones from the others (package positive), and the crawl
begins from the likes. All pages fetched count for --pages. A crawl file may say the rest.

  forager crawl start --name chemistry --contact you@example.org --watch \
      --like https://example.org/acids https://example.org/bases https://example.net/salts …`
}

func (c *crawlStart) Run(s *session) error {
	if len(c.Like) > 0 || c.LikeFile != "" {
		if c.Check {
			return usagef("--check goes with a crawl file, not with --like")
		}
		l, err := newLiking(s, &c.likeFlags, append([]string{c.File}, c.URLs...))
		if err != nil {
			return err
		}
		return l.run(c.Watch)
	}
	if c.File == "" || len(c.URLs) > 0 {
		return usagef("expected \"<file>\", one crawl file, or --like with pages that are on topic")
	}
	if _, err := os.Stat(c.File); err != nil {
		return errUsage{err}
	}
	crawl, err := crawlfile.Load(c.File)
	if err != nil {
		return err
	}
	cfg, b, err := s.openBooks()
	if err != nil {
		return err
	}
	defer b.close()
	if err := startCrawl(s, cfg, b, crawl, c.Check); err != nil {
		return err
	}
	name := crawl.Control.GetCrawl()
	if c.Check {
		return s.print(map[string]any{"crawl": name, "ok": true}, func(w io.Writer) {
			fmt.Fprintf(w, "%s: the crawl file is fine; %d seeds\n", name, len(crawl.Seeds))
		})
	}
	if c.Watch {
		return watch(s, cfg, b, name)
	}
	return s.print(map[string]any{"crawl": name, "seeds": len(crawl.Seeds)}, func(w io.Writer) {
		fmt.Fprintf(w, "started %s with %d seeds\nfollow it:  forager crawl watch %s\n", name, len(crawl.Seeds), name)
	})
}

// startCrawl adds the values that depend on the pipeline to the control record, stores the URL list and sends
// control record and seeds.
func startCrawl(ctx context.Context, cfg *pipeline.Config, b *books, crawl *crawlfile.Crawl, checkOnly bool) error {
	if err := placeCrawl(ctx, cfg, b, crawl, checkOnly); err != nil || checkOnly {
		return err
	}
	_, err := sendSeeds(ctx, b, crawl.Control.GetCrawl(), crawl.Seeds)
	return err
}

// placeCrawl is startCrawl without seeds.
func placeCrawl(ctx context.Context, cfg *pipeline.Config, b *books, crawl *crawlfile.Crawl, checkOnly bool) error {
	ctl := crawl.Control
	name := ctl.GetCrawl()
	old, seen := b.newest(name)
	if old != nil {
		return fmt.Errorf("crawl %q exists already (started %s); a name is never used again, choose another",
			name, time.UnixMilli(old.GetCreatedAt()).Format(time.RFC3339))
	}
	store, err := objects.Open(cfg.S3)
	if err != nil {
		return err
	}
	if ctl.GetCritic() != "" { // a crawl that only fetches has none
		if err := b.settleJudges(ctx, store, ctl); err != nil {
			return err
		}
	}
	if err := b.settleGuides(ctx, store, ctl); err != nil {
		return err
	}
	if err := b.readNoURLs(ctx, store, ctl); err != nil {
		return err
	}
	if v := ctl.GetLearning().GetPrior(); v != "" {
		settings, err := apprentice.SettingsOf(ctl.GetLearning())
		if err != nil {
			return err
		}
		if _, err := b.prior(ctx, store, ctl, v, settings); err != nil {
			return fmt.Errorf("learning.prior: %w", err)
		}
	}
	if checkOnly {
		return nil
	}
	ctl.Revision = 1
	ctl.CreatedAt = time.Now().UnixMilli()
	if crawl.URLList != nil {
		list := []byte(strings.Join(crawl.URLList, "\n") + "\n")
		sum := sha256.Sum256(list)
		ctl.Scope.UrlList = "scopes/" + name + "/" + hex.EncodeToString(sum[:6]) + ".txt"
		if err := putContent(ctx, store, ctl.Scope.UrlList, list); err != nil {
			return fmt.Errorf("store the URL list: %w", err)
		}
	}
	// The control record is sent first: prioritize waits for the seeds of a known crawl, and never holds up a
	// partition for an unknown one.
	winner, err := b.place(ctx, ctl, seen)
	if err != nil {
		return err
	}
	if winner != nil {
		return fmt.Errorf("crawl %q was started by somebody else at the same moment; choose another name", name)
	}
	return nil
}

type crawlStatus struct {
	Crawl string `arg:"" optional:"" help:"Name of a crawl; all without it."`
}

func (c *crawlStatus) Run(s *session) error {
	_, b, err := s.openBooks()
	if err != nil {
		return err
	}
	defer b.close()
	names := b.known()
	if c.Crawl != "" {
		if _, err := b.control(c.Crawl); err != nil {
			return err
		}
		names = []string{c.Crawl}
	}
	list := make([]standing, 0, len(names))
	for _, n := range names {
		x := stand(n, b.status(n))
		x.JudgedBy = b.judgedBy(n)
		list = append(list, x)
	}
	return s.print(list, func(w io.Writer) {
		if len(list) == 0 {
			fmt.Fprintln(w, "no crawls; forager crawl start FILE makes one")
			return
		}
		fmt.Fprintf(w, "%-24s %-9s %8s %8s %8s %8s %7s %7s  %s\n", "CRAWL", "STATE", "PAGES", "REQUESTS", "QUEUED", "FLIGHT", "HARVEST", "LOSS", "")
		for _, x := range list {
			fmt.Fprintf(w, "%-24s %-9s %8d %8d %8d %8d %7.3f %7.3f  %s\n",
				x.Crawl, x.State, x.Pages, x.Requests, x.Queued, x.InFlight, x.Harvest, x.Loss, x.why())
		}
		for _, x := range list {
			if x.JudgedBy != "" {
				fmt.Fprintf(w, "harvest and loss of %s are by %s\n", x.Crawl, x.JudgedBy)
			}
		}
	})
}

// standing is the state of a crawl, for display.
type standing struct {
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
	OnTopic  *onTopic          `json:"on_topic,omitempty"`
	Outcomes map[string]uint64 `json:"outcomes"`
	Refused  map[string]uint64 `json:"refused"`
	Leaps    uint64            `json:"leaps"`
	Trained  uint64            `json:"trained"`
	Model    string            `json:"model,omitempty"`
	Latency  uint32            `json:"latency_ms"`
	Activity string            `json:"activity,omitempty"`
}

func stand(crawl string, st *schemas.CrawlStatus) standing {
	if st == nil {
		return standing{Crawl: crawl, State: "waiting", Reason: "prioritize has not taken it up yet (forager up starts the stages)"}
	}
	x := standing{
		Crawl: crawl, State: strings.ToLower(strings.TrimPrefix(st.GetState().String(), "SHARD_STATE_")), Reason: st.GetEndReason(),
		Pages: st.GetPages(), Requests: st.GetRequests(), Queued: st.GetQueued(), InFlight: st.GetInFlight(),
		Outcomes: st.GetOutcomes(), Refused: st.GetRefused(), Leaps: st.GetLeaps(), Trained: st.GetTrained(),
		Model: st.GetModel(), Latency: st.GetLatencyP50Ms(), Activity: st.GetActivity(),
	}
	x.Waiting = waitingFor(st)
	if st.GetDiskNeeded() > 0 {
		x.Reason = st.GetActivity()
	}
	if st.GetPages() > 0 {
		x.Harvest = st.GetRelevanceRaw() / float64(st.GetPages())
		x.Loss = 1 - x.Harvest
	}
	return x
}

type crawlWatch struct {
	Crawl string `arg:"" help:"Name of the crawl."`
}

func (c *crawlWatch) Run(s *session) error {
	cfg, b, _, err := s.openCrawl(c.Crawl)
	if err != nil {
		return err
	}
	defer b.close()
	return watch(s, cfg, b, c.Crawl)
}

// watch follows a crawl and prints its end.
func watch(s *session, cfg *pipeline.Config, b *books, crawl string) error {
	x, err := follow(s, b, crawl)
	if err != nil {
		return err
	}
	x.judge(s, cfg, b)
	return s.print(x, func(w io.Writer) {
		fmt.Fprintf(w, "%s has finished: %s; %d pages, harvest %.3f, loss %.3f\n", crawl, x.why(), x.Pages, x.Harvest, x.Loss)
		tellHarvest(w, crawl, x.JudgedBy, x.OnTopic)
		fmt.Fprintf(w, "see it:  forager report %s\n", crawl)
	})
}

// follow prints a line of progress every second, in place on a terminal, until the crawl has finished.
func follow(s *session, b *books, crawl string) (standing, error) {
	return followWith(s, b, crawl, func(standing) error { return nil })
}

// followWith is follow, and calls tell with the crawl's state every second until it has finished; tell may take longer than that.
func followWith(s *session, b *books, crawl string, tell func(standing) error) (standing, error) {
	terminal := interactive(s.err)
	var last standing
	var lastAt time.Time
	begun := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		st := b.status(crawl)
		x := stand(crawl, st)
		now := time.Now()
		rate := 0.0
		if !lastAt.IsZero() && now.After(lastAt) {
			rate = float64(x.Pages-last.Pages) / now.Sub(lastAt).Seconds()
		}
		finished := ended(st)
		if !s.json && (terminal || x.Pages != last.Pages || x.Waiting != last.Waiting || finished || lastAt.IsZero()) {
			harvest := "" // a crawl that only fetches has none
			if ctl, err := b.control(crawl); err == nil && ctl.GetCritic() != "" {
				harvest = fmt.Sprintf("harvest %.3f  loss %.3f  ", x.Harvest, x.Loss)
			}
			line := fmt.Sprintf("%s  %6.0fs  %s  pages %d  %.0f/s  %squeued %d  in flight %d  loop %d ms %s",
				crawl, now.Sub(begun).Seconds(), x.State, x.Pages, rate, harvest, x.Queued, x.InFlight, x.Latency, strings.TrimSpace(x.Activity+" "+x.Waiting))
			if st == nil {
				line = fmt.Sprintf("%s  %6.0fs  %s: %s", crawl, now.Sub(begun).Seconds(), x.State, x.Reason)
			}
			s.status("%s", line)
		}
		if finished {
			if terminal && !s.json {
				fmt.Fprintln(s.err)
			}
			return x, nil
		}
		if err := tell(x); err != nil {
			return x, err
		}
		last, lastAt = x, now
		select {
		case <-s.Done():
			return x, leaving(s.Err(), "crawl %q goes on (forager crawl watch %s follows it, forager crawl pause %s lets it rest)", crawl, crawl, crawl)
		case <-tick.C:
		}
	}
}
