package data

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"forager/cmd/internal/cli"
	"forager/internal/classify/critic"
	"forager/internal/classify/taxonomy"
	"forager/internal/judging"
	"forager/internal/operate"
	"forager/internal/page/dom"
	"forager/internal/platform/analytics"
	"forager/internal/platform/objects"
	"forager/internal/platform/progress"
	"forager/internal/platform/segment"
	"forager/internal/stream"
	"forager/schemas"
)

// RejudgeCommand is the command "forager rejudge".
type RejudgeCommand struct {
	Crawl  string        `arg:"" help:"Name of the crawl."`
	Critic string        `required:"" help:"Name or version of the critic." placeholder:"NAME"`
	Focus  []string      `help:"Topic of the critic that counts; may be given more than once. By default those of the crawl, with their weights." placeholder:"TOPIC" sep:"none"`
	Rate   float64       `help:"Pages a second, at most." default:"100"`
	Wait   time.Duration `help:"How long to wait for load-clickhouse, before and after." default:"60s"`
}

func (c *RejudgeCommand) Help() string {
	return `Judges the stored pages of a crawl with another critic, without a request, and compares the harvest by its judgements with
that by the crawl's own; so do forager report and the monitor. The crawl does not follow them. They are a series for
each version of a critic and each focus: a call that was interrupted, or one when a running crawl has more pages, goes on
with the pages that the series lacks. These are judged in a random order, so that the figures of a part are estimates.

  forager rejudge chemistry --critic schools
  forager rejudge chemistry --critic rules --focus Science/Chemistry --rate 200`
}

// Rejudgement is the result of the command.
type Rejudgement struct {
	Crawl string `json:"crawl"`
	// Judged pages of this call, and those that it left out as they cannot be read.
	Judged  int `json:"judged"`
	LeftOut int `json:"left_out"`
	// Stored pages of the crawl.
	Stored uint64 `json:"stored"`
	analytics.Rejudged
}

func (c *RejudgeCommand) Run(s *cli.Session) error {
	if !(c.Rate >= 0.001 && c.Rate <= 1e6) {
		return cli.Usagef("--rate %g: it must lie between 0.001 and 1e6 pages a second", c.Rate)
	}
	p, ctl, err := s.OpenCrawl(c.Crawl)
	if err != nil {
		return err
	}
	b, db, store := p.Topics, p.DB, p.Store
	if len(c.Focus) > 0 {
		ctl.Focus, ctl.Weights, ctl.Bad = c.Focus, nil, nil
	}
	r := &rejudging{b: b, db: db, store: store, leaves: ctl.GetLeaves(), rate: c.Rate, console: s.Stderr}
	if r.critic.Classifier, r.critic.Version, err = operate.OpenCritic(s, b, store, c.Critic); err != nil {
		return err
	}
	if r.critic.Weights, err = critic.Weigh(r.critic, taxonomy.MarkingOf(ctl)); err != nil {
		return fmt.Errorf("critic %s: focus: %w (--focus names topics of this critic)", r.critic.Version, err)
	}
	r.series = analytics.Series{Crawl: c.Crawl, Critic: r.critic.Version, Focus: operate.FocusLine(ctl.GetFocus(), ctl.GetWeights(), ctl.GetBad())}
	if err := operate.Loaded(s, b, c.Wait); err != nil {
		return err
	}
	judged, stored, err := db.Judged(s, r.series)
	if err == nil && stored == 0 {
		err = fmt.Errorf("crawl %s has no stored pages", c.Crawl)
	}
	if err != nil {
		return err
	}
	ctx, end := progress.Start(s, "judging", int64(stored-judged))
	err = r.all(ctx)
	end()
	if err != nil {
		err = fmt.Errorf("%w; %d pages were judged, and the same command goes on", err, r.judged)
		return cli.Leaving(err, "%d pages were judged; the same command goes on", r.judged)
	}
	if err := operate.Loaded(s, b, c.Wait); err != nil {
		return err
	}
	return c.print(s, r)
}

func (c *RejudgeCommand) print(s *cli.Session, r *rejudging) error {
	_, stored, err := r.db.Judged(s, r.series)
	if err != nil {
		return err
	}
	all, err := r.db.Report(c.Crawl).Rejudged(s)
	if err != nil {
		return err
	}
	out := Rejudgement{Crawl: c.Crawl, Judged: r.judged, LeftOut: r.leftOut, Stored: stored, Rejudged: analytics.Rejudged{Critic: r.series.Critic, Focus: r.series.Focus}}
	if i := slices.IndexFunc(all, func(x analytics.Rejudged) bool { return x.Critic == r.series.Critic && x.Focus == r.series.Focus }); i >= 0 {
		out.Rejudged = all[i]
	}
	return s.Print(out, func(w io.Writer) {
		fmt.Fprintf(w, "%d pages of %s judged by %s for %s", out.Judged, c.Crawl, out.Critic, out.Focus)
		if out.LeftOut > 0 {
			fmt.Fprintf(w, ", %d left out", out.LeftOut)
		}
		fmt.Fprintf(w, "\nthe series has %d of %d stored pages: harvest %.3f, %.3f by the crawl's own judgements; they agree on %.3f\n",
			out.Pages, out.Stored, out.Harvest, out.Own, out.Agreement)
	})
}

// rejudging judges the pages that a series lacks.
type rejudging struct {
	b       *cli.Topics
	db      *analytics.DB
	store   *objects.Store
	critic  judging.Critic
	leaves  schemas.LeafMode
	series  analytics.Series
	rate    float64 // pages a second
	console io.Writer

	judged, leftOut int
}

const (
	// listedPages are read from ClickHouse at once.
	listedPages = 10_000
	// maxBatch is the number of pages whose judgements are sent at once.
	maxBatch = 100
	// judgedAtOnce pages are read and judged concurrently: services are slow, and gather requests.
	judgedAtOnce = 8
	// lastSend bounds how long what was judged before an error is sent.
	lastSend = time.Second
)

// all judges the pages that were stored when it began, and perhaps some that were stored since.
func (r *rejudging) all(ctx context.Context) error {
	turns := time.NewTicker(time.Duration(float64(time.Second) / r.rate))
	defer turns.Stop()
	size := min(max(1, int(r.rate)), maxBatch) // so that the judgements of about a second are sent together
	for after := ""; ; {
		list, err := r.db.Unjudged(ctx, r.series, after, listedPages)
		if err != nil || len(list) == 0 {
			return err
		}
		for batch := range slices.Chunk(list, size) {
			if _, err := r.b.Control(r.series.Crawl); err != nil {
				return err // the crawl was deleted meanwhile
			}
			if err := r.batch(ctx, batch, turns.C); err != nil {
				return err
			}
		}
		after = list[len(list)-1].ID
	}
}

// batch judges pages, one a turn, and sends the judgements; after an error those that were made before it.
func (r *rejudging) batch(ctx context.Context, pages []analytics.FetchedPage, turns <-chan time.Time) error {
	outs, damaged := make([]stream.Out, len(pages)), make([]error, len(pages))
	g, judgingCtx := errgroup.WithContext(ctx)
	g.SetLimit(judgedAtOnce)
	for i := range pages {
		g.Go(func() (err error) {
			select {
			case <-turns:
				outs[i], damaged[i], err = r.page(judgingCtx, &pages[i])
				return err
			case <-judgingCtx.Done():
				return judgingCtx.Err()
			}
		})
	}
	err := g.Wait()
	outs = slices.DeleteFunc(outs, func(o stream.Out) bool { return o.Key == nil })
	for _, damage := range damaged {
		if damage != nil {
			r.leftOut++
			fmt.Fprintf(r.console, "left out: %v\n", damage)
		}
	}
	if err != nil {
		var cancel func()
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastSend)
		defer cancel()
	}
	_, sendErr := r.b.Client.Produce(ctx, outs)
	if sendErr == nil {
		r.judged += len(outs)
		sendErr = progress.Add(ctx, int64(len(outs)))
	}
	return cmp.Or(err, sendErr)
}

// page returns the record with the judgement of a page. damaged is that the page cannot be read; other errors concern all pages.
func (r *rejudging) page(ctx context.Context, p *analytics.FetchedPage) (out stream.Out, damaged, err error) {
	page, err := r.read(ctx, p)
	if err != nil {
		err = fmt.Errorf("page %s: %w", p.URL, err)
		if ctx.Err() != nil || errors.Is(err, objects.ErrUnavailable) || errors.Is(err, objects.ErrDenied) {
			return out, nil, err
		}
		return out, err, nil
	}
	judgement, err := r.critic.Judge(ctx, page, judging.Fields{})
	if err != nil {
		return out, nil, fmt.Errorf("page %s: critic %s: %w", p.URL, r.critic.Version, err)
	}
	id, err := hex.DecodeString(p.ID)
	if err != nil {
		return out, nil, err
	}
	value, err := proto.Marshal(&schemas.PageRejudged{Request: id, Crawl: r.series.Crawl, Focus: r.series.Focus, Judgement: judgement})
	return stream.Out{
		Topic: schemas.TopicPageRejudged, Partition: -1, Key: id, Value: value,
		Headers: map[string]string{schemas.HeaderVersion: fmt.Sprint(schemas.Version), schemas.HeaderCrawl: r.series.Crawl},
	}, nil, err
}

// read returns a stored page as parse-dom read it, without what only rankers use.
func (r *rejudging) read(ctx context.Context, p *analytics.FetchedPage) (*schemas.Page, error) {
	stored, err := segment.ReadWhole(ctx, r.store, p.Object, p.Offset, p.Length, p.Digest)
	if err != nil {
		return nil, err
	}
	return dom.Parse(stored.Body, p.ContentType, p.URL, dom.Settings{Leaves: r.leaves})
}
