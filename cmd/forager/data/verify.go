package data

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/cmd/forager/deploy"
	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/audit"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/stream/state"
	"forager/schemas"
)

// VerifyCommand is the command "forager verify".
type VerifyCommand struct {
	Crawl  string        `arg:"" help:"Name of the crawl."`
	Wait   time.Duration `help:"How long to wait until every stage has read all there is." default:"60s"`
	Sample float64       `help:"Compare only this share of the stored pages, rows and leaps, drawn at random (0.05); 0 = all." default:"0"`
}

func (c *VerifyCommand) Help() string {
	return `Reads the topics, the object store and ClickHouse itself and compares them with one another and with
what the crawl was allowed. Prints each figure; fails on any difference and names it. Of a crawl that runs it
prints the offsets up to which it was compared; its totals (crawl.status) are not compared, as they move. Where a topic holds the
crawl's records no longer, count and XOR of their ids, which prioritize and ClickHouse keep, are compared
instead, and ClickHouse's rows take the place of the records; it prints for every topic which way it was
checked, and which tables were compared with nothing but themselves. It needs space in the data folder, about
as much as the topics, and little memory, however large the crawl is.

  forager verify chemistry
  forager verify chemistry --sample 0.05     # prints with which probability damage is found`
}

func (c *VerifyCommand) Run(s *cli.Session) error {
	if !(c.Sample >= 0 && c.Sample < 1) {
		return cli.Usagef("--sample %g: want a share of 0 to 1", c.Sample)
	}
	cfg, b, err := s.OpenTopics()
	if err != nil {
		return err
	}
	statuses, running, err := ShardStatuses(b, c.Crawl)
	if err != nil {
		return err
	}
	if !running {
		if err := crawls.Settle(s, b, c.Wait); err != nil {
			return err
		}
	}
	a := &Audit{Cfg: cfg, Books: b, Crawl: c.Crawl, Statuses: statuses, running: running, wait: c.Wait}
	if c.Sample > 0 {
		a.sample = &audit.Sample{Share: c.Sample, From: rand.Uint32()}
	}
	result, err := a.run(s)
	if err != nil {
		return err
	}
	if err := s.Print(result, func(w io.Writer) { PrintAudit(w, result) }); err != nil {
		return err
	}
	if !result.OK {
		return fmt.Errorf("%s: %d differences%s", c.Crawl, len(result.Problems)+result.More, setAside(s, cfg))
	}
	return nil
}

// setAside names tables of which ClickHouse detached rows that are nowhere else.
func setAside(ctx context.Context, cfg *pipeline.Config) string {
	var tables []string
	err := deploy.WithTables(cfg, func(db *analytics.DB) error {
		parts, err := db.SetAside(ctx)
		for _, p := range parts {
			if !p.Replaced && !slices.Contains(tables, p.Table) {
				tables = append(tables, p.Table)
			}
		}
		return err
	})
	if err != nil || len(tables) == 0 {
		return ""
	}
	return fmt.Sprintf("; ClickHouse has set aside broken parts of %s, forager doctor has a remedy", strings.Join(tables, ", "))
}

// AuditCrawl audits a crawl that has ended.
func AuditCrawl(ctx context.Context, cfg *pipeline.Config, b *cli.Topics, crawl string) (*audit.Result, error) {
	statuses, running, err := ShardStatuses(b, crawl)
	if err != nil {
		return nil, err
	}
	if running {
		return nil, fmt.Errorf("crawl %q has not finished", crawl)
	}
	return (&Audit{Cfg: cfg, Books: b, Crawl: crawl, Statuses: statuses}).run(ctx)
}

// Audit is one audit of a crawl.
type Audit struct {
	Cfg      *pipeline.Config
	Books    *cli.Topics
	Crawl    string
	Statuses []*schemas.CrawlStatus
	running  bool
	sample   *audit.Sample
	wait     time.Duration
}

// run audits the crawl. What it reads is kept in a folder below the data folder, which is removed at the end.
func (a *Audit) run(ctx context.Context) (*audit.Result, error) {
	live, closeLive, err := a.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer closeLive()
	if err := os.MkdirAll(a.Cfg.Data, 0o700); err != nil {
		return nil, err
	}
	dir, remove, err := cli.TempDir(ctx, a.Cfg.Data, "verify-*")
	if err != nil {
		return nil, err
	}
	defer remove()
	cache := state.NewCache(verifyCache)
	defer cache.Close()
	store, err := state.Open(state.Options{Dir: dir, Identity: "verify " + a.Crawl, Cache: cache, MemTable: verifyBuffer})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	return audit.Audit(ctx, live.Case, live, scratch{store})
}

// Memory of an audit's store, bytes: cached blocks, and a write buffer.
const (
	verifyCache  = 16 << 20
	verifyBuffer = 4 << 20
)

// scratch is a store without marks.
type scratch struct{ *state.Store }

func (s scratch) Commit() error { return s.Store.Commit(state.Marks{}) }

// Open opens everything that is read.
func (a *Audit) Open(ctx context.Context) (live *audit.Live, closeLive func(), err error) {
	ctl, err := a.Books.Control(a.Crawl)
	if err != nil {
		return nil, nil, err
	}
	store, err := objects.Open(a.Cfg.S3)
	if err != nil {
		return nil, nil, err
	}
	sc, err := audit.ReadScope(ctx, store, ctl.GetScope())
	if err != nil {
		return nil, nil, err
	}
	live = &audit.Live{Case: audit.Case{Control: ctl, Scope: sc, Statuses: a.Statuses, Sample: a.sample}, Broker: a.Books.Client, Store: store}
	if a.running {
		if err := a.stopAt(ctx, live); err != nil {
			return nil, nil, err
		}
	}
	db, err := analytics.Open(a.Cfg.ClickHouse)
	if err != nil {
		return nil, nil, err
	}
	live.Query = func(ctx context.Context, sql string, params map[string]any, f func(row []string) error) error {
		return db.Each(analytics.ReadOnly(ctx), sql, params, func(row []any) error {
			texts := make([]string, len(row))
			for i, v := range row {
				s, ok := v.(string)
				if !ok {
					return fmt.Errorf("column %d is %T, not a text", i+1, v)
				}
				texts[i] = s
			}
			return f(texts)
		})
	}
	return live, func() { _ = db.Close() }, nil
}

// stopAt sets the offsets up to which a running crawl is audited, and waits until ClickHouse has the records
// before them. The ends of the topics are read against the direction of the stream: the causes of a record are
// before the ends that are read after its own.
func (a *Audit) stopAt(ctx context.Context, live *audit.Live) error {
	client := a.Books.Client
	taken, err := client.Committed(ctx, "prioritize", schemas.TopicLinkFound)
	if err != nil {
		return err
	}
	live.Taken = func(place uint64) bool {
		partition := int(place >> 48)
		return partition < len(taken) && place < audit.PlaceOf(partition, max(0, taken[partition]))
	}
	live.Ends = make(map[string][]int64)
	for _, topics := range [][]string{
		{schemas.TopicLeapSettled, schemas.TopicHubRanked, schemas.TopicPageRejudged}, {schemas.TopicLinkFound}, {schemas.TopicPageJudged}, {schemas.TopicPageParsed},
		{schemas.TopicPageFetched}, {schemas.TopicFetchRequested},
	} {
		ends, err := client.Ends(ctx, topics...)
		if err != nil {
			return err
		}
		maps.Copy(live.Ends, ends)
	}
	loaded := maps.Clone(live.Ends)
	delete(loaded, schemas.TopicPageParsed) // ClickHouse has it in page.judged
	if err := crawls.SettleTo(ctx, a.Books, map[string]map[string][]int64{"load-clickhouse": loaded}, a.wait); err != nil {
		return fmt.Errorf("%w after %s; does load-clickhouse run? (forager up starts it)", err, a.wait)
	}
	return nil
}

// PrintAudit prints the result of verifying a crawl.
func PrintAudit(w io.Writer, r *audit.Result) {
	for _, t := range r.Ways {
		switch t.Way {
		case audit.ByRecords:
			fmt.Fprintf(w, "%-16s checked by its records", t.Topic)
		case audit.ByCounts:
			fmt.Fprintf(w, "%-16s checked by count and XOR of the ids: %s", t.Topic, t.Gone)
		}
		if r.Running {
			fmt.Fprintf(w, ", as of the offsets")
			for p, end := range t.Ends {
				if end > 0 {
					fmt.Fprintf(w, " %d:%d", p, end)
				}
			}
		}
		fmt.Fprintln(w)
	}
	if len(r.Themselves) > 0 {
		fmt.Fprintf(w, "The contents of %s were compared with themselves only: the records are no longer retained, and nothing else has them.\n", strings.Join(r.Themselves, ", "))
	} else {
		fmt.Fprintln(w, "The contents of all tables were compared with the records of the topics.")
	}
	if r.Running {
		fmt.Fprintln(w, "The crawl runs: what crawl.status counts was not compared.")
	}
	if s := r.Sampled; s != nil {
		fmt.Fprintf(w, "Of stored pages, rows and leaps %.3g %% were compared, drawn at random: damage to 1 of them is found with probability %.3f, to 10 with %.3f, to 100 with %.3f.\n",
			100*s.Share, r.Detects(1), r.Detects(10), r.Detects(100))
	}
	for _, f := range r.Figures {
		fmt.Fprintf(w, "%9d  %s\n", f.Value, f.Name)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(w, "DIFFERENCE  %s\n", p)
	}
	if r.More > 0 {
		fmt.Fprintf(w, "… and %d more\n", r.More)
	}
	if r.OK {
		fmt.Fprintf(w, "%s: everything agrees\n", r.Crawl)
	}
}

// ShardStatuses returns the newest statuses of the shards of a crawl, and whether it still runs.
func ShardStatuses(b *cli.Topics, crawl string) (all []*schemas.CrawlStatus, running bool, err error) {
	ctl, err := b.Control(crawl)
	if err != nil {
		return nil, false, err
	}
	b.Mu.Lock()
	defer b.Mu.Unlock()
	for shard := range schemas.ShardsOf(ctl) {
		st := b.Statuses[crawl][shard]
		if st == nil {
			return nil, false, fmt.Errorf("crawl %q has not begun; nothing is known of its shard %d (forager crawl watch %s)", crawl, shard, crawl)
		}
		running = running || !operate.Ended(st)
		all = append(all, proto.CloneOf(st))
	}
	return all, running, nil
}
