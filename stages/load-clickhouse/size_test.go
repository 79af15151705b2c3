package main

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"forager/infra/local/clickhouse"
	"forager/internal/platform/analytics"
	"forager/internal/platform/pipeline"
	tables "forager/schemas/clickhouse"
)

var (
	leapRows = flag.Int("leaps", 100_000, "leaps of BenchmarkSize, which takes a minute or more a million")
	sizeDir  = flag.String("dir", "", "folder for the tables; with those of an earlier BenchmarkSize, which is gone on with")
)

// synthetic makes the rows of requests n, by table; a request settles seven leaps.
var synthetic = map[string]string{
	"requests_rows (crawl, epoch, id, url, host, attempt, ordinal, depth, score, policy, model, dispatched_at": "'c', 1, sipHash128(n), url, host, 1, n, n % 17, n % 1000 / 1000, policy, model, at",
	"fetches_rows (crawl, id, url, host, outcome, status, fetched_at, duration_ms, size, object":               "'c', sipHash128(n), url, host, outcome, 200, at, 100 + n % 900, 10000 + n % 50000, 's'",
	"judgements_rows (crawl, id, url, outcome, relevance, topics, posteriors, critic, title, language": `'c', sipHash128(n), url, outcome, r,
		[concat('Topic/', toString(n % 300)), 'Other'], [0.7, 0.1], 'critic/1', concat('Page ', toString(n)), 'en'`,
	"verdicts_rows (crawl, id, url, outcome, relevance, links": "'c', sipHash128(n), url, outcome, r, 20",
	"leaps_rows (crawl, id, u, v, outcome, target, source, terms, offsets, counts, score, policy, model, trains, request, pages": `'c', sipHash128(n, arrayJoin(range(7))), concat(url, '/from'), url, outcome, r, r / 2,
		arrayMap(i -> concat('term', toString((n + i * i) % 50000)), range(8)), range(8), arrayResize([1], 8, 1), n % 1000 / 1000, policy, model, 1, sipHash128(n), n`,
}

// numbered are the requests of which the rows are made: one in 51 comes twice.
const numbered = ` FROM
	(
		SELECT intDiv(number * 50, 51) AS n, concat('h', toString(cityHash64(n) %% %[3]d), '.example') AS host, concat('http://', host, '/page/', toString(n)) AS url,
			['link-value', 'soft-focus', 'breadth-first'][1 + n %% 3] AS policy, if(policy = 'soft-focus', '', concat('c/', toString(intDiv(n, 100000)))) AS model,
			if(n %% 7 = 0, 'client-error', 'delivered') AS outcome, n %% 1024 / 1024 AS r,
			toDateTime64('2026-01-01', 3, 'UTC') + n / 300 AS at, 18446744073709551615 - number AS precedence
		FROM numbers(%[1]d, %[2]d)
	)`

// loadedLeaps returns how many leaps an earlier run has left.
func loadedLeaps(b *testing.B, db *analytics.DB) int {
	r, err := db.Query(b.Context(), "SELECT toUInt64(count()) FROM leaps_rows", nil)
	if err != nil {
		b.Fatal(err)
	}
	return int(r.Rows[0][0].(uint64))
}

// BenchmarkSize measures the documented queries of breakdowns of a crawl of -leaps leaps, the sums, and what exports, reports and the monitor read, in an
// embedded ClickHouse with the memory of a deployment.
func BenchmarkSize(b *testing.B) {
	dir := *sizeDir
	if dir == "" {
		dir = b.TempDir()
	}
	s, err := clickhouse.Start(b.Context(), dir, "127.0.0.1:0", clickhouse.Settings{MemoryBytes: 384 << 20})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	db, err := analytics.Open(pipeline.ClickHouse{URL: s.URL(), Database: "forager", User: "default"})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	for at, total := loadedLeaps(b, db)/7, *leapRows/7; at < total; at += 20_000 {
		for into, columns := range synthetic {
			insert := "INSERT INTO " + into + ", precedence, recorded_at) SELECT " + columns + ", precedence, at" + fmt.Sprintf(numbered, at, min(20_000, total-at), max(total/20, 1))
			for tries := 0; ; tries++ { // while the engine merges large parts it may lack memory, for which the stage waits, too
				if err := db.Exec(b.Context(), insert, nil); err == nil {
					break
				} else if tries == 60 {
					b.Fatal(err)
				}
				time.Sleep(time.Second)
			}
		}
	}
	of, err := db.Summed(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("Sum", func(b *testing.B) {
		for b.Loop() {
			if err := analytics.Sum(b.Context(), db, of[0]); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(of[0].Rows), "ns/row")
	})
	r := db.Report("c")
	for name, read := range map[string]func(ctx context.Context) (int, error){
		"export": func(ctx context.Context) (n int, err error) {
			return n, db.Pages(ctx, analytics.Selection{Crawl: "c", Outcome: "delivered"}, func(*analytics.StoredPage) error { n++; return nil })
		},
		"complete": func(ctx context.Context) (int, error) {
			n, err := db.Complete(ctx, "c", "delivered")
			return int(n), err
		},
		"draw": func(ctx context.Context) (int, error) {
			off, _, _, err := db.Draw(ctx, "c", nil, 20)
			return len(off), err
		},
		"seen-pages": func(ctx context.Context) (int, error) {
			pages, err := db.SeenPages(ctx, "c", "", 0, 0, 50)
			return len(pages), err
		},
		"page-hosts": func(ctx context.Context) (int, error) {
			hosts, err := db.Hosts(ctx, "c", "yield", 0, 50)
			return len(hosts), err
		},
		"page-topics": func(ctx context.Context) (int, error) {
			topics, err := db.TopicPages(ctx, "c", 1000)
			return len(topics), err
		},
		"tenths":    func(ctx context.Context) (int, error) { all, err := r.Tenths(ctx); return len(all), err },
		"treated":   func(ctx context.Context) (int, error) { hosts, err := r.Treated(ctx, 50); return len(hosts), err },
		"curve":     func(ctx context.Context) (int, error) { points, err := r.Curve(ctx, 400); return len(points), err },
		"quartiles": func(ctx context.Context) (int, error) { all, err := r.Quartiles(ctx); return len(all), err },
		"critics":   func(ctx context.Context) (int, error) { all, err := db.Verdicts(ctx, "c"); return len(all), err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if n, err := read(b.Context()); err != nil || n == 0 {
					b.Fatal(n, err)
				}
			}
		})
	}
	for _, q := range tables.Queries() {
		if !strings.Contains(" overview breakdowns summed-minutes summed-hosts minutes depths topics hosts arms versions promised ", " "+q.Name+" ") {
			continue
		}
		b.Run(q.Name, func(b *testing.B) {
			slowest := time.Duration(0)
			for b.Loop() {
				begin := time.Now()
				if r, err := db.Query(b.Context(), q.SQL, analytics.Params{"crawl": "c"}); err != nil || len(r.Rows) == 0 {
					b.Fatal(r, err)
				}
				slowest = max(slowest, time.Since(begin))
			}
			b.ReportMetric(float64(slowest.Milliseconds()), "ms-slowest")
		})
	}
}
