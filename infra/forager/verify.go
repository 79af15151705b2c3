package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/infra/forager/audit"
	"forager/internal/analytics"
	"forager/internal/objects"
	"forager/internal/pipeline"
	"forager/schemas"
)

type verifyCommand struct {
	Crawl string        `arg:"" help:"Name of the crawl."`
	Wait  time.Duration `help:"How long to wait until every stage has read all there is." default:"60s"`
}

func (c *verifyCommand) Help() string {
	return `Reads the topics, the object store and ClickHouse itself and compares them with one another and with
what the crawl was allowed. Prints each figure; fails on any difference and names it. Wants a crawl that
has finished. Where a topic holds the crawl's records no longer, count and XOR of their ids, which
prioritize and ClickHouse keep, are compared instead, and ClickHouse's rows stand in for the records;
it says for every topic which way it was checked.`
}

func (c *verifyCommand) Run(s *session) error {
	cfg, b, err := s.openBooks()
	if err != nil {
		return err
	}
	defer b.close()
	if _, err := b.finished(c.Crawl); err != nil {
		return err
	}
	if err := b.settle(s, c.Wait); err != nil {
		return err
	}
	result, err := auditCrawl(s, cfg, b, c.Crawl)
	if err != nil {
		return err
	}
	if err := s.print(result, func(w io.Writer) { printAudit(w, result) }); err != nil {
		return err
	}
	if !result.OK {
		return fmt.Errorf("%s: %d differences%s", c.Crawl, len(result.Problems)+result.More, setAside(s, cfg))
	}
	return nil
}

// setAside names tables of which ClickHouse set aside rows that nothing else has.
func setAside(ctx context.Context, cfg *pipeline.Config) string {
	var tables []string
	err := withTables(cfg, func(db *analytics.DB) error {
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
	return fmt.Sprintf("; ClickHouse has set aside broken parts of %s, forager doctor says what to do", strings.Join(tables, ", "))
}

// auditCrawl gathers and judges the evidence about a crawl.
func auditCrawl(ctx context.Context, cfg *pipeline.Config, b *books, crawl string) (*audit.Result, error) {
	e, err := gatherEvidence(ctx, cfg, b, crawl)
	if err != nil {
		return nil, err
	}
	return e.Judge(), nil
}

func gatherEvidence(ctx context.Context, cfg *pipeline.Config, b *books, crawl string) (*audit.Evidence, error) {
	ctl, err := b.control(crawl)
	if err != nil {
		return nil, err
	}
	statuses, err := b.finished(crawl)
	if err != nil {
		return nil, err
	}
	store, err := objects.Open(cfg.S3)
	if err != nil {
		return nil, err
	}
	db, err := analytics.Open(cfg.ClickHouse)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows := func(ctx context.Context, crawl string) (audit.Tables, error) { return readTables(ctx, db, crawl) }
	return audit.Gather(ctx, b.client, store, rows, ctl, statuses)
}

// readTables reads the views that are compared.
func readTables(ctx context.Context, db *analytics.DB, crawl string) (audit.Tables, error) {
	t := make(audit.Tables)
	for _, table := range append([]audit.Table{audit.Books, audit.Named}, audit.Compared...) {
		sql := "SELECT " + strings.Join(table.Columns, ", ") + " FROM " + table.Name
		if !table.EveryCrawl {
			sql += " WHERE crawl = {crawl:String}"
		}
		sql += " ORDER BY " + table.Order
		err := db.Each(ctx, sql, analytics.Params{"crawl": crawl}, func(row []any) error {
			texts := make([]string, len(row))
			for i, v := range row {
				s, ok := v.(string)
				if !ok {
					return fmt.Errorf("column %s is %T, not a text", table.Columns[i], v)
				}
				texts[i] = s
			}
			t[table.Name] = append(t[table.Name], texts)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("view %s: %w", table.Name, err)
		}
	}
	return t, nil
}

func printAudit(w io.Writer, r *audit.Result) {
	for _, t := range r.Ways {
		switch t.Way {
		case audit.ByRecords:
			fmt.Fprintf(w, "%-16s checked by its records\n", t.Topic)
		case audit.ByCounts:
			fmt.Fprintf(w, "%-16s checked by count and XOR of the ids: %s\n", t.Topic, t.Gone)
		}
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

// finished returns the statuses of the shards of a crawl that has ended.
func (b *books) finished(crawl string) ([]*schemas.CrawlStatus, error) {
	ctl, err := b.control(crawl)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*schemas.CrawlStatus
	for shard := range max(1, ctl.GetShards()) {
		st := b.statuses[crawl][shard]
		if !ended(st) {
			return nil, fmt.Errorf("crawl %q has not finished; its books are still being written (forager crawl watch %s)", crawl, crawl)
		}
		all = append(all, proto.CloneOf(st))
	}
	return all, nil
}

// settleRounds: behind the end of a crawl its last leaps become a model, and its last links hubs, of which rows are made.
const settleRounds = 3

// settle waits until every stage has read all that was waiting for it, and what came of that. Other crawls may go on
// meanwhile; so fetch, where their requests wait for hosts, is not waited for: a crawl that has finished has none.
func (b *books) settle(ctx context.Context, within time.Duration) error {
	began := time.Now()
	for range settleRounds {
		ends := make(map[string]map[string][]int64)
		for _, stage := range stageNames {
			if stage == "fetch" {
				continue
			}
			var err error
			if ends[stage], err = b.client.Ends(ctx, stageInputs[stage]...); err != nil {
				return err
			}
		}
		waited, err := b.settleTo(ctx, ends, within-time.Since(began))
		if err != nil {
			return fmt.Errorf("%w after %s; do these stages run? (forager up starts them)", err, within)
		}
		if !waited {
			break
		}
	}
	return nil
}

// settleTo waits until every stage has read its topics up to ends, and says whether one had not.
func (b *books) settleTo(ctx context.Context, ends map[string]map[string][]int64, within time.Duration) (waited bool, err error) {
	var waiting []string
	ok, err := poll(ctx, within, func() (bool, error) {
		waiting = waiting[:0]
		for _, stage := range slices.Sorted(maps.Keys(ends)) {
			n, err := b.client.LagTo(ctx, stage, ends[stage])
			if err != nil {
				return false, err
			}
			if n > 0 {
				waiting = append(waiting, fmt.Sprintf("%s (%d)", stage, n))
				waited = true
			}
		}
		return len(waiting) == 0, nil
	})
	if err == nil && !ok {
		err = fmt.Errorf("records still wait before %s", strings.Join(waiting, ", "))
	}
	return waited, err
}
